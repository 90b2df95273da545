"""Who waits for a model comes in turn by whose they are, however many others came before."""

import threading

from memorist.models.fair_share import FairShare, Whose
from tests.support.waiting import eventually


def test_one_user_does_not_stand_behind_all_that_another_has_asked() -> None:
    share = FairShare(1)
    done: list[Whose] = []

    def compute(whose: Whose) -> None:
        with share.place(whose):
            done.append(whose)

    eve, ada = ("t", "eve"), ("t", "ada")
    with share.place(eve):
        threads = []
        for whose in (eve, eve, eve, ada, None, ada):
            threads.append(threading.Thread(target=compute, args=(whose,)))
            threads[-1].start()
            waits = len(threads)
            eventually(lambda waits=waits: sum(map(len, share._waiting.values())) == waits)
    for thread in threads:
        thread.join(10)
    assert done == [eve, ada, None, eve, ada, eve]
    assert share._free == 1


def test_as_many_as_there_are_places_compute_at_once() -> None:
    share = FairShare(2)
    with share.place(None), share.place(("t", "ada")):
        assert share._free == 0
    assert share._free == 2
