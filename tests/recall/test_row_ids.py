"""The ids of a shelf's rows: by place, several at once, and back."""

import pytest

from memorist.recall.index.row_ids import RowIds


@pytest.mark.parametrize("settled", [0, 3, 5], ids=["in the list", "in both", "in the array"])
def test_ids_are_found_by_their_places_one_by_one_and_together(settled: int) -> None:
    names = [f"mem_{number}" for number in range(5)]
    ids = RowIds()
    ids.extend(names[:settled])
    ids.settle()
    ids.extend(names[settled:])
    for places in ([], [0], [4, 1, 1], [0, 1, 2, 3, 4]):
        assert ids.at(places) == [ids[place] for place in places] == [names[place] for place in places]
    assert ids.places_of([*reversed(names), "mem_unknown"]).tolist() == [4, 3, 2, 1, 0, -1]
