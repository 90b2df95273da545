"""`memorist recall`: what it finds, how it shows it, and what it says when it finds nothing."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memorist import Memorist, tools
from memorist.ids import to_uuid
from memorist.ingestion.service import Message
from memorist.platform.values import Principal, Role
from tests.cli.conftest import Cli, execute

ITEM = {"id", "source_kind", "source_ref", "content", "event_time", "score"}


@pytest.fixture
def talk(data: Path) -> dict[str, str]:
    """A conversation over two days and a fact, by their texts."""
    with Memorist.open(data) as memorist:
        me = memorist.user("local")
        first = me.add_messages(
            "monday",
            [
                Message("user", "The boiler needs a new valve.", "Ruth", datetime(2026, 3, 2, 9, tzinfo=UTC)),
                Message("user", "I ordered it from Malmö.", "Abel", datetime(2026, 3, 2, 9, 1, tzinfo=UTC)),
            ],
            extract=False,
        )
        second = me.add_messages(
            "friday",
            [Message("user", "The boiler works again.", "Ruth", datetime(2026, 3, 6, 9, tzinfo=UTC))],
            extract=False,
        )
        fact = me.remember_fact("Ruth prefers the boiler at 60 degrees.")
        return {one.memory.content: one.memory.id for one in [*first, *second, fact]}


@pytest.mark.usefixtures("talk")
def test_a_question_is_answered_in_a_table_with_scores(cli: Cli) -> None:
    shown = cli.ok("recall", "Which valve does the boiler need?")
    first = shown.out.splitlines()[2]
    assert "The boiler needs a new valve." in first
    assert 0 < float(first.split()[0]) <= 1
    assert "Ruth · 2026-03-02 · mem_" in shown.out
    assert "By keyword alone" in shown.err
    assert "words #" not in shown.out


@pytest.mark.usefixtures("talk")
def test_explain_shows_each_arm_and_the_weight(cli: Cli) -> None:
    shown = cli.ok("recall", "boiler valve", "--explain").out
    assert "words #1 " in shown
    assert "meaning –" in shown
    assert "together #1 " in shown
    assert "×1" in shown


def test_json_is_what_the_agent_tool_answers_with_ids_as_everywhere(cli: Cli, data: Path, talk: dict[str, str]) -> None:
    other = talk["I ordered it from Malmö."]
    options = ["--top-k", "2", "--kind", "chat_message", "--explain", "--why-not", other]
    printed = cli.json("recall", "boiler", *options)
    assert set(printed["items"][0]) == ITEM | {"explanation"}
    assert printed["items"][0]["id"] in talk.values()
    with Memorist.open(data) as memorist:
        arguments = {
            "query": "boiler", "top_k": 2, "source_kinds": ["chat_message"], "explain": True, "why_not": other,
        }  # fmt: skip
        run = tools.run(memorist._core, Principal("local", Role.USER, "local"), "recall", arguments)
    ids = {str(to_uuid(one)): one for one in talk.values()}
    told = json.dumps(run.result)
    for uuid, memory_id in ids.items():
        told = told.replace(uuid, memory_id)
    assert printed == json.loads(told)
    assert printed["degraded"] is True
    assert printed["rerank_used"] is False
    assert set(cli.json("recall", "boiler")["items"][0]) == ITEM


def test_nothing_relevant_is_said_and_is_no_error(cli: Cli) -> None:
    cli.ok("remember", "The boiler needs a new valve.")
    result = cli.ok("recall", "zeppelins")
    assert result.out == ""
    assert "Nothing relevant is remembered." in result.err
    assert cli.json("recall", "zeppelins") == {"items": [], "total": 0, "degraded": True, "rerank_used": False}


def test_recall_before_anything_is_stored(cli: Cli) -> None:
    assert cli.json("recall", "anything")["items"] == []


@pytest.mark.usefixtures("talk")
def test_filters(cli: Cli) -> None:
    def found(*options: str) -> set[str]:
        return {item["content"] for item in cli.json("recall", "boiler", "--min-score", "0", *options)["items"]}

    fact, needs, works = (
        "Ruth prefers the boiler at 60 degrees.",
        "The boiler needs a new valve.",
        "The boiler works again.",
    )
    assert {fact, needs, works} <= found()
    assert found("--kind", "fact") == {fact}
    assert fact not in found("--kind", "chat_message", "--kind", "tool_output")
    assert found("--scope", "user") == {fact}
    assert found("--scope", "session", "--session", "friday") == {works}
    assert needs not in found("--after", "2026-03-06")
    assert found("--before", "2026-03-03T00:00:00Z") == {needs, "I ordered it from Malmö."}
    assert len(found("--top-k", "1")) == 1
    assert len(found("--budget", "1")) == 1
    assert found("--known-at", "2020-01-01") == set()
    assert works not in found("--as-of", "2026-03-03")
    assert found("--category", "nothing") == set()
    assert found("--project", "nothing") == set()


def test_why_not_tells_the_reason(cli: Cli, talk: dict[str, str]) -> None:
    memory_id = talk["The boiler works again."]
    shown = cli.ok("recall", "boiler", "--kind", "fact", "--why-not", memory_id).out
    assert f"{memory_id}: It is of another kind." in shown
    ranked = cli.ok("recall", "boiler valve", "--top-k", "1", "--min-score", "0", "--why-not", memory_id).out
    assert "Others fit better" in ranked
    assert "words #" in ranked
    asked = cli.json("recall", "boiler", "--kind", "fact", "--why-not", str(to_uuid(memory_id)))
    assert asked["why_not"]["reason"] == "It is of another kind."
    assert cli("recall", "boiler", "--why-not", "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3").code == 3


@pytest.mark.parametrize(
    "options",
    [
        ["--top-k", "0"], ["--top-k", "21"], ["--as-of", "yesterday"], ["--before", "2026-13-01"], ["--min-score", "2"],
        ["--budget", "0"], ["--kind", "thought"], ["--scope", "agent"], ["--session", "a b"], ["--after", ""],
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(cli: Cli, options: list[str]) -> None:
    result = cli("recall", "boiler", *options, "--json")
    assert result.code == 2
    assert result.error["message"]


def test_an_empty_question_is_refused(cli: Cli) -> None:
    assert cli("recall", "").code == 2


def test_markup_in_a_memory_is_text(cli: Cli) -> None:
    cli.ok("remember", "[bold]boiler[/bold] :smile: [/]")
    assert "[bold]boiler[/bold] :smile: [/]" in cli.ok("recall", "boiler").out


def test_a_long_text_is_cut_on_the_terminal_only(cli: Cli) -> None:
    text = "boiler " + "x" * 700
    cli.ok("remember", text)
    assert "…" in cli.ok("recall", "boiler").out
    assert cli.json("recall", "boiler")["items"][0]["content"] == text


def test_another_user_finds_nothing(cli: Cli) -> None:
    cli.ok("remember", "The boiler needs a new valve.")
    assert cli.json("recall", "boiler", "--user", "somebody")["items"] == []
    key = cli.key("user", "--user", "local")
    assert cli.json("recall", "boiler", "--key", key)["total"] == 1


@pytest.mark.usefixtures("models")
def test_meaning_finds_what_shares_no_word_and_the_reranker_reads_it(cli: Cli) -> None:
    cli.ok("remember", "The bank lends us nine thousand euros over four years.")
    cli.ok("remember", "The electrician comes on Tuesday.")
    shown = cli.ok("recall", "How large is our loan?", "--explain")
    assert "nine thousand" in shown.out.splitlines()[2]
    assert "meaning #1 " in shown.out
    assert "reranker #1 of 2 " in shown.out
    assert shown.err == ""
    answer = cli.json("recall", "How large is our loan?", "--no-rerank")
    assert (answer["degraded"], answer["rerank_used"]) == (False, False)


@pytest.mark.usefixtures("models")
def test_what_waits_for_vectors_is_told_with_what_to_do(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_EMBEDDER_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MEMORIST_EMBEDDER_MODEL", "away")
    cli.ok("remember", "The boiler needs a new valve.")
    shown = cli.ok("recall", "boiler")
    assert "needs a new valve" in shown.out
    assert "1 of 1 memories wait for their vectors" in shown.err
    assert "memorist index rebuild --resume" in shown.err


def test_the_executable_recalls(cli: Cli) -> None:
    cli.ok("remember", "The boiler needs a new valve.")
    assert "new valve" in execute("recall", "boiler").out
