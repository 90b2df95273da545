"""Importing into both databases: once, again, and what is in the way."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorist.core import Core
from memorist.importers import PARSERS, Source
from memorist.importers.items import SkippedItem, Taken
from memorist.importers.storing import Report, check, preview, store
from memorist.memories.values import Draft, Kind
from memorist.platform.values import Principal, Role
from tests.facts.conftest import OpenCore, open_with  # noqa: F401
from tests.facts.judges import local_judge
from tests.importers import exports

EXPORTS: dict[Source, tuple[Callable[[Path], Path], int, int]] = {
    # What makes it, how many are imported, and how many are doubles within it.
    Source.MEM0: (lambda folder: exports.mem0(folder / "export.json"), 4, 0),
    Source.MCP_MEMORY: (lambda folder: exports.graph(folder / "memory.jsonl"), 5, 0),
    Source.CLAUDE: (lambda folder: exports.claude_folder(folder / "memory"), 4, 0),
    Source.CHATGPT: (lambda folder: exports.chatgpt(folder / "export"), 8, 1),
    Source.JSONL: (lambda folder: exports.lines(folder / "notes.jsonl"), 3, 0),
}


def imported(core: Core, principal: Principal, found: Any) -> Report:
    report = Report()
    for report in store(core.memories, principal, found):  # noqa: B007
        pass
    return report


def previewed(core: Core, principal: Principal, found: Any) -> Report:
    return list(preview(core.memories, principal, found))[-1]


@pytest.mark.parametrize("source", list(Source))
def test_importing_twice_adds_nothing(core: Core, ada: Principal, tmp_path: Path, source: Source) -> None:
    make, new, doubles = EXPORTS[source]
    path = make(tmp_path)
    expected = previewed(core, ada, PARSERS[source](path))
    assert core.memories.list(ada).items == ()
    first = imported(core, ada, PARSERS[source](path))
    assert first == expected
    assert (first.imported, first.already_there) == (new, doubles)
    assert sum(first.categories.values()) == new
    assert len(core.memories.list(ada, limit=100).items) == new
    again = imported(core, ada, PARSERS[source](path))
    assert (again.imported, again.already_there) == (0, new + doubles)
    assert previewed(core, ada, PARSERS[source](path)) == again
    assert again.skipped == first.skipped
    assert len(core.memories.list(ada, limit=100).items) == new


def test_checking_stores_nothing(core: Core, ada: Principal, tmp_path: Path) -> None:
    for source, (make, _, _) in EXPORTS.items():
        report = list(check(PARSERS[source](make(tmp_path))))[-1]
        assert report.imported
    assert core.memories.list(ada).items == ()


def test_conversation_that_went_on_is_imported_from_there(core: Core, ada: Principal, tmp_path: Path) -> None:
    import json

    path = tmp_path / "conversations.json"
    talk = exports.conversation()
    path.write_text(json.dumps([talk]))
    assert imported(core, ada, PARSERS[Source.CHATGPT](path)).imported == 4
    talk["mapping"]["u4"] = exports._node("u4", "u3", "user", "Goodbye.")
    talk["current_node"] = "u4"
    path.write_text(json.dumps([talk]))
    assert imported(core, ada, PARSERS[Source.CHATGPT](path)).imported == 1


def test_messages_without_ids_are_imported_once(core: Core, ada: Principal, tmp_path: Path) -> None:
    import json

    path = tmp_path / "conversations.json"
    talk = exports.conversation()
    for node in talk["mapping"].values():
        if node["message"]:
            del node["message"]["id"]
    path.write_text(json.dumps([talk]))
    assert imported(core, ada, PARSERS[Source.CHATGPT](path)).imported == 4
    assert imported(core, ada, PARSERS[Source.CHATGPT](path)).imported == 0


def test_preview_knows_the_names_and_the_doubles_of_an_export(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, [Draft("Mine.", name="taken", category="user"), Draft("Old.", category="goal")])
    named = [Draft(f"Number {number}.", name="user_role", category="user") for number in (1, 2)]
    drafts = [*named, Draft("Another.", name="taken", category="user"), Draft("Old.", category="goal")]
    # Further apart than what is looked up at once.
    drafts += [Draft(f"New {number % 150}.", category="goal") for number in range(200)]
    found = [Taken(draft, f"row {number}") for number, draft in enumerate(drafts)]
    expected = previewed(core, ada, found)
    assert (expected.imported, expected.already_there, expected.names_taken) == (151, 51, 2)
    assert [one.access_count for one in core.memories.list(ada).items] == [0, 0]
    assert imported(core, ada, found) == expected


def test_name_that_another_text_has_is_told_and_left(core: Core, ada: Principal, tmp_path: Path) -> None:
    core.memories.remember(ada, [Draft("Mine.", name="no_mocks", category="feedback")])
    report = imported(core, ada, PARSERS[Source.CLAUDE](exports.claude_folder(tmp_path / "memory")))
    assert report.imported == 3
    assert [one.where for one in report.skipped if "no_mocks" in one.reason] == ["feedback_no_mocks.md"]
    assert core.memories.get_named(ada, "no_mocks").content == "Mine."


def test_name_that_all_profiles_share_is_no_obstacle(core: Core, ada: Principal) -> None:
    shared = [Draft("For all.", name="style", category="user"), Draft("The same.", name="tone", category="user")]
    core.memories.remember(replace(ada, role=Role.ADMIN), shared)
    drafts = [Draft("Mine.", name="style", category="user"), Draft("The same.", name="tone", category="user")]
    found = [Taken(draft, f"row {number}") for number, draft in enumerate(drafts)]
    expected = previewed(core, ada, found)
    assert (expected.imported, expected.already_there, expected.skipped) == (1, 1, [])
    assert imported(core, ada, found) == expected
    assert core.memories.get_named(ada, "style").content == "Mine."
    assert imported(core, ada, found).already_there == 2


def test_what_an_earlier_version_named_otherwise_is_there_already(core: Core, ada: Principal, tmp_path: Path) -> None:
    core.memories.remember(ada, [Draft("Good cake.", name="caf_m_nster", category="reference")])
    core.memories.remember(ada, [Draft("Ada trusts tests.", category="berzeugung")])
    folder, lines = tmp_path / "memory", tmp_path / "notes.jsonl"
    folder.mkdir()
    (folder / "a.md").write_text("---\nname: Café Münster\n---\nGood cake.\n")
    (folder / "b.md").write_text("---\nname: Cafè Mönster\n---\nAnother house.\n")
    rows = [{"text": "Ada trusts tests.", "category": "Überzeugung"}, {"text": "New.", "category": "Überzeugung"}]
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for source, path in ((Source.CLAUDE, folder), (Source.JSONL, lines)):
        assert previewed(core, ada, PARSERS[source](path)) == imported(core, ada, PARSERS[source](path))
        assert imported(core, ada, PARSERS[source](path)).already_there == 2
    assert len(core.memories.list(ada).items) == 4
    assert core.memories.get_named(ada, "cafe_monster").content == "Another house."


def test_what_was_forgotten_under_a_former_name_stays_so(core: Core, ada: Principal, tmp_path: Path) -> None:
    there = core.memories.remember(ada, [Draft("Good cake.", name="caf_m_nster", category="reference")])
    core.memories.forget(ada, there[0].memory.id)
    (tmp_path / "Café Münster.md").write_text("Good cake.\n")
    report = imported(core, ada, PARSERS[Source.CLAUDE](tmp_path / "Café Münster.md"))
    assert (report.imported, [one.reason for one in report.skipped]) == (0, ["It was deleted here, and stays so."])


def test_secrets_are_taken_out_and_known_the_second_time(core: Core, ada: Principal, tmp_path: Path) -> None:
    file = tmp_path / "key.md"
    file.write_text("Use ghp_abcdefghijklmnopqrstuvwxyz0123456789 for the mirror.\n")
    assert imported(core, ada, PARSERS[Source.CLAUDE](file)).imported == 1
    assert "ghp_" not in core.memories.get_named(ada, "key").content
    assert imported(core, ada, PARSERS[Source.CLAUDE](file)).already_there == 1


def test_what_cannot_be_stored_is_skipped_with_the_reason(core: Core, ada: Principal) -> None:
    found = [
        Taken(Draft("x" * 1_000_001), "memory 1"),
        Taken(Draft("\x00"), "memory 2"),
        Taken(Draft("fine", meta={"large": "x" * 70_000}), "memory 3"),
        SkippedItem("memory 4", "It has no text."),
        Taken(Draft("fine"), "memory 5"),
    ]
    report = imported(core, ada, found)
    assert report.imported == 1
    assert [one.where for one in report.skipped] == ["memory 1", "memory 2", "memory 3", "memory 4"]


def test_batches_are_told_one_by_one(core: Core, ada: Principal) -> None:
    found = (Taken(Draft(f"Fact {number}.", kind=Kind.FACT), str(number)) for number in range(250))
    assert [report.imported for report in map(_copy, store(core.memories, ada, found))] == [100, 200, 250]


def _copy(report: Report) -> Report:
    return Report(report.imported)


@pytest.mark.parametrize("source", list(Source))
def test_what_was_forgotten_stays_so(core: Core, ada: Principal, tmp_path: Path, source: Source) -> None:
    make, new, doubles = EXPORTS[source]
    path = make(tmp_path)
    first = imported(core, ada, PARSERS[source](path))
    for memory in core.memories.list(ada, limit=100).items:
        core.memories.forget(ada, memory.id)
    expected = previewed(core, ada, PARSERS[source](path))
    again = imported(core, ada, PARSERS[source](path))
    assert again == expected
    assert (again.imported, again.already_there, again.names_taken) == (0, 0, 0)
    told = [one.reason for one in again.skipped]
    assert told.count("It was deleted here, and stays so.") == new + doubles == len(told) - len(first.skipped)
    assert core.memories.list(ada).items == ()


def test_what_was_replaced_or_archived_is_there_already(
    open_with: OpenCore,  # noqa: F811
    ada: Principal,
) -> None:
    core = open_with(judge=local_judge)
    found = [Taken(Draft(text, source_ref=text), "a") for text in ("Ada lives in Berlin.", "Ada has a cat.")]
    assert imported(core, ada, found).imported == 2
    core.facts.remember(ada, "Ada lives in Paris.")
    [cat] = [one for one in core.memories.list(ada).items if "cat" in one.content]
    core.retention.archive(ada, cat.id)
    assert [one.content for one in core.memories.list(ada).items] == ["Ada lives in Paris."]
    again = imported(core, ada, found)
    assert (again.imported, again.already_there, again.skipped) == (0, 2, [])
    assert [one.content for one in core.memories.list(ada).items] == ["Ada lives in Paris."]


def test_what_is_told_anew_after_it_was_forgotten_is_there_already(core: Core, ada: Principal) -> None:
    found = [Taken(Draft("Ada has a cat.", source_ref="mem0:1"), "memory 1")]
    imported(core, ada, found)
    core.memories.forget(ada, core.memories.list(ada).items[0].id)
    core.memories.remember(ada, [Draft("Ada has a cat.")])
    again = imported(core, ada, found)
    assert (again.imported, again.already_there, again.skipped) == (0, 1, [])


def test_what_another_user_forgot_is_imported(core: Core, ada: Principal, bob: Principal) -> None:
    found = [Taken(Draft("Tea is fine."), "memory 1")]
    imported(core, bob, found)
    core.memories.forget(bob, core.memories.list(bob).items[0].id)
    assert imported(core, ada, found).imported == 1
