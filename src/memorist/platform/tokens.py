"""How many tokens a text will cost a language model: an estimate on the safe side, without any model's tokenizer."""

import math

_ASCII_PER_TOKEN = 3.5
_OTHERS_PER_TOKEN = 1.2


def count_tokens(text: str) -> int:
    plain = sum(character.isascii() for character in text) if not text.isascii() else len(text)
    return math.ceil(plain / _ASCII_PER_TOKEN + (len(text) - plain) / _OTHERS_PER_TOKEN)
