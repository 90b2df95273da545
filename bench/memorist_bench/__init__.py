"""What Memorist is measured with.

`memorist bench` (`commands`) is for anybody: how well recall finds (`quality`), how fast it is (`speed`), and how well
the judge, the extractor and the rules for secrets do. `python -m memorist_bench` (`ratios`) is for developers.
"""
