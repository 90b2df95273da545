"""A profile that a language model wrote down: on request, once for the same facts, and marked as what it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.about.text import format_about
from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import LlmError, LlmMalformed, LlmNotConfigured
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from tests.support.scripted_http import ScriptedServer
from tests.support.talking import says
from tests.turns.conftest import model, talking, turn_settings  # noqa: F401

ADA_LIVES = "Ada lives in Kiel."


@pytest.fixture
def core(database_url: str, tmp_path: Path, tenant: str, model: ScriptedServer) -> Iterator[Core]:  # noqa: F811
    core = open_core(turn_settings(tmp_path, model.url, database=database_url, judge_model=""))
    core.identity.create_tenant(tenant)
    yield core
    core.close()


@pytest.fixture
def ada(core: Core, tenant: str) -> Principal:
    who = Principal(tenant, Role.USER, "ada")
    core.facts.remember(who, ADA_LIVES)
    return who


def test_it_is_written_on_request_and_anew_when_facts_change(
    core: Core,
    ada: Principal,
    model: ScriptedServer,  # noqa: F811
) -> None:
    assert core.profiles.about(ada).written is None
    assert model.requests == []
    model.scripts[:] = [says("Ada, of Kiel."), says("Ada, of Kiel, sails.")]
    written = core.profiles.about(ada, written=True).written
    assert written is not None
    assert (written.text, written.model) == ("Ada, of Kiel.", core.llm.model_id if core.llm else "")
    assert ADA_LIVES in str(model.requests[0].body)
    assert core.profiles.about(ada, written=True).written == written, "the same facts are not written down twice"
    core.facts.remember(ada, "Ada sails.")
    about = core.profiles.about(ada, written=True)
    assert about.written is not None
    assert len(model.requests) == 2
    told = f"Ada, of Kiel, sails.\n(written by {about.written.model} on {about.written.at:%Y-%m-%d} from what follows)"
    assert format_about(about).startswith(told)


def test_nothing_of_it_outlives_an_erasure(core: Core, ada: Principal, model: ScriptedServer) -> None:  # noqa: F811
    model.scripts[:] = [says("Ada, of Kiel.")]
    core.profiles.about(ada, written=True)
    core.erasure.purge_user(ada)
    assert core.profiles._writing._written == {}
    assert core.profiles.about(ada, written=True).written is None, "nothing is known, and nobody is asked"
    assert len(model.requests) == 1


def test_secret_in_it_is_taken_out_and_an_empty_answer_is_none(
    core: Core,
    ada: Principal,
    model: ScriptedServer,  # noqa: F811
) -> None:
    model.scripts[:] = [says(" "), says("Her token is ghp_0123456789abcdefghijklmnopqrstuvwxyzAB.")]
    with pytest.raises(LlmMalformed):
        core.profiles.about(ada, written=True)
    written = core.profiles.about(ada, written=True).written
    assert written is not None
    assert "ghp_0123" not in written.text


def test_without_a_language_model_it_is_refused(tmp_path: Path) -> None:
    core = open_core(Settings(data=tmp_path))
    core.identity.create_tenant("local")
    try:
        with pytest.raises(LlmNotConfigured):
            core.profiles.about(Principal("local", Role.USER, "ada"), written=True)
        assert not issubclass(LlmNotConfigured, LlmError)
    finally:
        core.close()
