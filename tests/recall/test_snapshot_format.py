"""A file of columns comes back as it was written, or is refused."""

from pathlib import Path

import numpy as np
import pytest

from memorist.recall.index import snapshot


def test_pages_that_changed_places_or_were_lost_are_noticed(tmp_path: Path) -> None:
    file = tmp_path / "shelf"
    pieces = [np.arange(100, dtype=np.int32), np.arange(5000, dtype=np.int32)]
    with file.open("wb") as out:
        snapshot.write(out, snapshot.Snapshot({}, {"numbers": pieces, "none": [pieces[0][:0]]}), ["x"])
    found = snapshot.read(file, ["x"], writable="-").arrays
    assert (found["numbers"][0] == np.concatenate(pieces)).all()
    assert found["none"][0].size == 0
    whole = file.read_bytes()
    first, second, others = whole[:4096], whole[4096:8192], whole[8192:]
    for damaged in (second + first + others, first + bytes(4096) + others):
        file.write_bytes(damaged)
        with pytest.raises(snapshot.WrongSnapshot, match="damaged"):
            snapshot.read(file, ["x"], writable="-")
