"""What is done beside something else is over when that is, and says what went wrong where it is asked for."""

import threading

import pytest

from memorist.memories.accesses import _NOTED, unnoted
from memorist.platform.beside import beside


def test_it_is_done_on_another_thread_for_the_same_visit() -> None:
    with unnoted(), beside(lambda: (threading.current_thread(), _NOTED.get())) as done:
        thread, is_noted = done()
    assert thread is not threading.current_thread()
    assert not is_noted


def test_what_it_raises_is_raised_where_its_result_is_asked_for() -> None:
    def fail() -> None:
        raise KeyError

    with beside(fail) as done, pytest.raises(KeyError):
        done()


def test_block_that_fails_waits_for_it() -> None:
    goes_on, is_over = threading.Event(), threading.Event()

    def work() -> None:
        assert goes_on.wait(60)
        is_over.set()

    def leave() -> None:
        with beside(work):
            goes_on.set()
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert is_over.is_set()
