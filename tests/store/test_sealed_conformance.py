"""The shipped suite where every tenant is encrypted: nobody notices a difference, but those who look into the files."""

from collections.abc import Iterator

import pytest

from memorist.bootstrap import open_store
from memorist.store.sql_store import SqlStore
from memorist.testing import StoreConformance
from memorist.testing.clocks import START
from tests.support.stores import MASTER_KEY, bare


class TestSealedStore(StoreConformance):
    @pytest.fixture
    def store(self, own_sqlite_url: str) -> Iterator[SqlStore]:
        store = open_store(bare(own_sqlite_url, encryption_key=MASTER_KEY))
        store.migrator.migrate(START)
        yield store
        store.close()

    # The database cannot tell what texts hold: every row is a candidate, and compared by us.
    test_every_text_that_may_fit_is_a_candidate = None
    test_chunks_are_found_by_pattern_newest_first = None
    test_lines_of_a_conversation_are_found_by_pattern = None
    # Neither rows nor files hold a text that could be found.
    test_text_is_found_where_it_is = None
    test_recalls_go_with_their_memory_and_with_who_asked = None
    test_scrubbing_says_what_is_out_of_reach_and_files_are_searched = None
