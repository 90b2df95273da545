"""Scopes that are larger than the memory for them."""

from dataclasses import replace

import pytest

from memorist.memories.values import Draft
from memorist.platform.values import Principal, Role
from tests.recall.conftest import OpenCore, ask, found, make_tenant, remember
from tests.support.models import WordEmbedder


def test_what_does_not_fit_is_found_by_its_words_and_that_is_told(
    open_with: OpenCore, caplog: pytest.LogCaptureFixture
) -> None:
    core = open_with(WordEmbedder(), min_score=0.02, index_memory_bytes=1)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    teapot = remember(core, ada, "the teapot is blue")
    core.memories.remember(ada, [Draft(f"number{number} of many") for number in range(20)])
    for _ in range(2):
        recalled = ask(core, ada, "teapot")
        assert [hit.memory.id for hit in recalled.hits] == [teapot.id]
        assert recalled.degraded
        assert core.recall.lacks_memory(ada)
        assert not core.recall.lacks_memory(replace(ada, user="mel"))
        assert core.recall.lacks_memory(replace(ada, role=Role.ADMIN, user=None))
    told = [record.getMessage() for record in caplog.records if "index_memory_mb" in record.getMessage()]
    assert len(told) == 1


def test_a_scope_that_fits_is_not_degraded(open_with: OpenCore) -> None:
    core = open_with(WordEmbedder(), min_score=0.02)
    ada = Principal(make_tenant(core), Role.USER, "ada")
    teapot = remember(core, ada, "the teapot is blue")
    assert found(core, ada, "teapot") == [teapot.id]
    assert not ask(core, ada, "teapot").degraded
    assert not core.recall.lacks_memory(ada)
