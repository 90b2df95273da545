"""Export, import and reset: what goes out comes in again, whole; what is reset is gone."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, InvalidJson
from memorist.memories import writing
from memorist.memories.hashes import message_key, with_hashes
from memorist.memories.records import memory_from_record, memory_to_record
from memorist.memories.values import Draft, Kind, Memory, Status
from memorist.platform.values import Owner, Principal, Role
from memorist.testing import full_memory, make_event, make_memory, new_tenant
from memorist.transfer.service import ImportReport
from tests.core.test_remember import nested
from tests.support.stores import checked

Remember = Callable[..., Memory]


def import_all(core: Core, principal: Principal, lines: list[str]) -> ImportReport:
    *_, report = core.transfer.import_(principal, lines)
    return report


def export(core: Core, principal: Principal) -> list[str]:
    return list(core.transfer.export(principal))


@pytest.fixture
def elsewhere(core: Core, admin: Principal) -> Principal:
    """An admin of another, empty tenant."""
    return replace(admin, tenant=core.identity.create_tenant(new_tenant())[0].id)


def honest_memory(tenant: str) -> Memory:
    """A memory with a value in every field, and with the hashes that belong to its text."""
    return with_hashes(full_memory(tenant))


def test_export_into_an_empty_tenant_and_out_again_is_the_same(
    core: Core, ada: Principal, bob: Principal, admin: Principal, elsewhere: Principal, remember: Remember
) -> None:
    full = honest_memory(ada.tenant)
    core.store.write(ada.tenant, lambda tx: (writing.insert(tx, full), tx.events.append([make_event(full)])))
    remember(ada, "text with \u2028 and \x85 and 🧠", meta={"a": [None]}, name="named")
    edited = remember(bob, "before")
    core.memories.edit(bob, edited.id, {"content": "after"})
    core.memories.forget(bob, edited.id)
    remember(admin, "shared")
    lines = export(core, admin)
    assert json.loads(lines[0]) == {"format": "memorist-export", "version": 1, "counted": True}
    assert json.loads(lines[-1]) == {"lines": 6} == {"lines": len(lines)}
    assert import_all(core, elsewhere, lines) == ImportReport(imported=4)
    assert export(core, elsewhere) == lines
    assert checked(core.store, elsewhere.tenant) == "ok"


def test_entries_and_findings_survive_the_journey(
    core: Core, ada: Principal, admin: Principal, elsewhere: Principal
) -> None:
    """What is said again stands for itself, and a finding is known by its name, whatever their texts."""
    for text in ("marathon", "swim", "marathon"):
        core.companion.add(ada, text, Category.GOAL)
    tested = partial(Finding, verdict=FindingVerdict.VALIDATED, effect=0.5, text="It works.")
    findings = [tested(f"f{number}", "feature", "target") for number in range(3)]
    for finding in findings:
        core.companion.record(ada, finding)
    lines = export(core, admin)
    assert import_all(core, elsewhere, lines) == ImportReport(imported=9)
    assert export(core, elsewhere) == lines
    there = replace(ada, tenant=elsewhere.tenant)
    assert [core.companion.record(there, finding).was_new for finding in findings] == [False] * 3


def test_messages_of_a_source_survive_the_journey(core: Core, admin: Principal, elsewhere: Principal) -> None:
    message = with_hashes(make_memory(admin.tenant, kind=Kind.CHAT_MESSAGE, session="s", meta={"key": "7"}))
    message = replace(message, dedup_key=message_key("s", "7"))
    core.store.write(admin.tenant, lambda tx: (writing.insert(tx, message), tx.events.append([make_event(message)])))
    lines = export(core, admin)
    assert import_all(core, elsewhere, lines) == ImportReport(imported=1)
    assert export(core, elsewhere) == lines


def test_largest_edited_memory_survives_the_journey(
    core: Core, ada: Principal, admin: Principal, elsewhere: Principal, remember: Remember
) -> None:
    """Its event quotes the whole memory as it was before."""
    memory = remember(ada, "🧠" * 100_000, excerpt="🧠" * 100_000, meta=nested(32))
    core.memories.edit(ada, memory.id, {"content": "short", "excerpt": None, "meta": None})
    lines = export(core, admin)
    assert import_all(core, elsewhere, lines) == ImportReport(imported=1)
    assert export(core, elsewhere) == lines


def test_many_batches_are_exported_in_id_order_and_imported(
    core: Core, ada: Principal, admin: Principal, elsewhere: Principal
) -> None:
    core.memories.remember(ada, [Draft(f"text {number}") for number in range(450)])
    core.memories.remember(replace(ada, user="bob"), [Draft(f"text {number}") for number in range(50)])
    lines = export(core, admin)
    ids = [json.loads(line)["memory"]["id"] for line in lines[1:-1]]
    assert ids == sorted(set(ids))
    assert len(ids) == 500
    reports = [replace(report) for report in core.transfer.import_(elsewhere, lines)]
    assert reports[-1] == ImportReport(imported=500)
    assert len(reports) == 3


def test_repeated_import_changes_nothing(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    lines = export(core, ada)
    core.memories.edit(ada, memory.id, {"content": "newer"})
    assert import_all(core, ada, lines) == ImportReport(already_there=1)
    assert core.memories.get(ada, memory.id).content == "newer"
    assert import_all(core, ada, [*lines, *lines[1:]]) == ImportReport(already_there=2)


def test_memory_whose_name_or_text_is_taken_is_counted_as_conflicting(
    core: Core, ada: Principal, elsewhere: Principal, remember: Remember
) -> None:
    remember(ada, "one", name="deploy")
    remember(ada, "the same")
    remember(ada, "free")
    lines = export(core, ada)
    there = Principal(elsewhere.tenant, Role.USER, "ada")
    remember(there, "mine", name="deploy")
    remember(there, "the same")
    assert import_all(core, there, lines) == ImportReport(imported=1, conflicting=2)
    assert {memory.content for memory in core.memories.list(there).items} == {"mine", "the same", "free"}


def test_document_comes_in_its_latest_version_as_a_whole(core: Core, ada: Principal, elsewhere: Principal) -> None:
    there = replace(ada, tenant=elsewhere.tenant)
    upload = partial(core.ingestion.add_document, ada, title="cv", document_id="cv", shared=False)
    upload(content="born and went to school")
    older = export(core, ada)
    upload(content="found work")
    newer = export(core, ada)
    import_all(core, there, older)
    assert import_all(core, there, newer).imported == 1
    assert core.ingestion.get_document(there, "cv").content == "found work"
    assert [one.content for one in core.memories.list(there).items] == ["found work"]
    (event,) = [one for one in core.memories.events(there, retired(core, there)) if one.event_type == "replaced"]
    assert event.payload["to"] == Status.SOFT_DELETED
    # Nothing of the older one comes back: also where its chunks are gone.
    core.erasure.reset(there)
    import_all(core, there, [one for one in newer if "born" not in one])
    *_, told = core.transfer.preview(there, older)
    assert (told.conflicting, told.imported) == (1, 0)
    assert import_all(core, there, older) == ImportReport(conflicting=1)
    assert core.ingestion.get_document(there, "cv").content == "found work"
    assert [one.content for one in core.memories.list(there).items] == ["found work"]


def test_export_taken_during_an_upload_leaves_no_document_without_chunks(
    core: Core, ada: Principal, elsewhere: Principal
) -> None:
    upload = partial(core.ingestion.add_document, ada, title="cv", document_id="cv", shared=False)
    upload(content="born and went to school")
    older = export(core, ada)
    upload(content="found work")
    # The documents are read after the last of the memories.
    torn = [*older[:-2], *export(core, ada)[-2:]]
    empty = replace(ada, tenant=core.identity.create_tenant(new_tenant())[0].id)
    import_all(core, empty, torn)
    assert export(core, empty)[:-1] == torn[:-2]
    # Where the older version is whole, it stays so until the other one comes with its chunks.
    there = replace(ada, tenant=elsewhere.tenant)
    import_all(core, there, older)
    import_all(core, there, torn)
    assert export(core, there) == older
    import_all(core, there, export(core, ada))
    assert [one.content for one in core.memories.list(there).items] == ["found work"]


def test_restored_chunk_of_an_older_version_comes_as_it_is(core: Core, ada: Principal, elsewhere: Principal) -> None:
    there = replace(ada, tenant=elsewhere.tenant)
    upload = partial(core.ingestion.add_document, ada, title="cv", document_id="cv", shared=False)
    upload(content="born")
    older = export(core, ada)
    upload(content="went to school")
    first = retired(core, ada)
    core.retention.restore(ada, first)
    lines = export(core, ada)
    import_all(core, there, lines)
    assert export(core, there) == lines
    core.erasure.reset(there)
    import_all(core, there, older)
    upload(content="found work")
    gone = [one.id for one in core.memories.list(ada, status=Status.SOFT_DELETED).items if one.id != first]
    core.retention.restore(ada, gone[0])
    import_all(core, there, export(core, ada))
    assert {one.content for one in core.memories.list(there).items} == {"went to school", "found work"}


def retired(core: Core, principal: Principal) -> str:
    (memory,) = core.memories.list(principal, status=Status.SOFT_DELETED).items
    return memory.id


def test_policy_of_an_export_is_not_set_where_memories_are_already(
    core: Core, admin: Principal, elsewhere: Principal, remember: Remember
) -> None:
    """The next sweep would delete them by it."""
    core.policies.change(admin, {"active_days": 1})
    remember(admin, "comes along")
    lines = export(core, admin)
    kept = remember(elsewhere, "was here before")
    core.memories.forget(elsewhere, kept.id)
    *_, told = core.transfer.preview(elsewhere, lines)
    assert told == import_all(core, elsewhere, lines) == ImportReport(imported=1, policy_left=1)
    assert core.policies.get(elsewhere).revision == 0


def test_export_holds_what_the_caller_sees_and_nothing_else(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    mine, shared = remember(ada, "mine"), remember(admin, "shared")
    remember(bob, "not mine")
    contents = [json.loads(line)["memory"]["content"] for line in export(core, ada)[1:-1]]
    assert sorted(contents) == [mine.content, shared.content]


def test_export_does_not_name_the_tenant(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada)
    assert ada.tenant not in "".join(export(core, ada))


def test_export_of_nothing_is_a_header_that_can_be_imported(core: Core, ada: Principal) -> None:
    lines = export(core, ada)
    assert len(lines) == 2
    assert import_all(core, ada, [*lines, "", "  \n"]) == ImportReport()


def test_import_of_anothers_memories_is_forbidden(
    core: Core, ada: Principal, bob: Principal, remember: Remember
) -> None:
    remember(bob, "bob's")
    bobs = export(core, bob)
    with pytest.raises(Forbidden, match="Line 2"):
        import_all(core, ada, bobs)


def test_user_imports_its_own_export_without_what_the_tenant_shares(
    core: Core, ada: Principal, admin: Principal, elsewhere: Principal, remember: Remember
) -> None:
    remember(ada, "mine")
    remember(admin, "shared")
    there = replace(ada, tenant=elsewhere.tenant)
    assert import_all(core, there, export(core, ada)) == ImportReport(imported=1, shared=1)


def test_import_decides_by_itself_which_texts_are_the_same(
    core: Core, ada: Principal, elsewhere: Principal, remember: Remember
) -> None:
    mine = remember(ada, "mine")
    header, line, _ = export(core, ada)
    forged = json.loads(line)
    forged["memory"] |= {"content": "theirs", "content_hash": "x", "dedup_key": mine.dedup_key}
    there = replace(ada, tenant=elsewhere.tenant)
    import_all(core, there, [header, json.dumps(forged)])
    assert core.memories.remember(there, [Draft("mine")])[0].was_new


def line_with(core: Core, principal: Principal, **changes: Any) -> list[str]:
    header, line, end = export(core, principal)
    record = json.loads(line)
    for name, value in changes.items():
        if name == "events":
            record["events"] = value
        elif value is ...:
            del record["memory"][name]
        else:
            record["memory"][name] = value
    return [header, json.dumps(record), end]


BAD_FIELDS = [
    {"id": "nonsense"},
    {"id": None},
    {"id": 5},
    {"content": ""},
    {"content": ...},
    {"content": "\x00"},
    {"created_at": "yesterday"},
    {"created_at": 5},
    {"created_at": "9999-12-31T23:59:59-01:00"},
    {"updated_at": ...},
    {"kind": "rumour"},
    {"kind": None},
    {"trust": None},
    {"retention": None},
    {"status": None},
    {"status": "undead"},
    {"importance": None},
    {"importance": 2**40},
    {"access_count": "many"},
    {"meta": []},
    {"meta": {"a": "\ud800"}},
    {"user": ""},
    {"user": 5},
    {"superseded_by": 5},
    {"updated_at": "9999-12-31T23:59:59.999999Z"},
    {"superseded_by": "nobody"},
    {"tenant": "another"},
    {"unknown": 1},
    {"expires_at": [1]},
    {"events": [5]},
    {"events": [{}]},
    {"events": [{"event_type": "created", "source": "x", "payload": {}, "created_at": "never"}]},
    {"events": [{"event_type": "created", "source": "x", "payload": [], "created_at": "2026-01-01T00:00:00Z"}]},
    {"events": [{"event_type": "created", "source": "x", "payload": {}, "created_at": "0001-01-01T00:00:00+01:00"}]},
    {"events": [{"event_type": "created", "source": "x", "payload": {}, "created_at": "9999-12-31T23:59:59Z"}]},
    {"events": [{"event_type": "BAD", "source": "x", "payload": {}, "created_at": "2026-01-01T00:00:00Z"}]},
    {"events": [{"event_type": "x", "source": 1, "payload": {}, "created_at": "2026-01-01T00:00:00Z"}]},
]


@pytest.mark.parametrize("changes", BAD_FIELDS, ids=lambda changes: json.dumps(changes, default=str)[:60])
def test_bad_line_is_refused_with_its_number(
    core: Core, ada: Principal, remember: Remember, changes: dict[str, Any]
) -> None:
    memory = remember(ada)
    lines = line_with(core, ada, **changes)
    core.erasure.reset(ada)
    with pytest.raises(InvalidField, match="Line 2: "):
        import_all(core, ada, lines)
    assert core.store.read(ada.tenant, lambda tx: tx.memories.get(memory.id)) is None


@pytest.mark.parametrize(
    "line",
    [
        *("nonsense", "[]", "{}", '{"memory": {}, "events": {}}', "[" * 100_000, "1", '"x'),
        # Nothing that stands beside a policy is left out in silence.
        '{"policy": {"active_days": 3}, "memory": {}, "events": []}',
        '{"policy": {"active_days": 3}, "document": {}}',
    ],
)
def test_line_that_is_no_memory_is_refused(core: Core, ada: Principal, line: str) -> None:
    with pytest.raises(InvalidField, match="Line 2: "):
        import_all(core, ada, [export(core, ada)[0], line])


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("nonsense", InvalidJson),
        ("{}", InvalidField),
        ('{"format": "memorist-export", "version": 2}', InvalidField),
        ('{"format": "other", "version": 1}', InvalidField),
    ],
)
def test_other_files_are_refused(core: Core, ada: Principal, header: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        import_all(core, ada, [header])


def test_export_that_lost_lines_is_told_from_a_whole_one(
    core: Core, ada: Principal, elsewhere: Principal, remember: Remember
) -> None:
    for number in range(3):
        remember(ada, f"text {number}")
    lines = export(core, ada)
    there = replace(ada, tenant=elsewhere.tenant)
    for length in range(1, len(lines)):
        *_, told = core.transfer.preview(there, lines[:length])
        assert told == ImportReport(imported=length - 1, incomplete=1)
    assert import_all(core, there, [*lines[:2], *lines[3:]]) == ImportReport(imported=2, incomplete=1)
    assert import_all(core, there, lines) == ImportReport(imported=1, already_there=2)
    *_, last = core.transfer.import_(there, [lines[0], *lines[3:]], after=2)
    assert last == ImportReport(already_there=1)
    for count in ('"five"', "true", "null", '5, "memory": {}'):
        with pytest.raises(InvalidField, match="Line 5: "):
            import_all(core, there, [*lines[:-1], f'{{"lines": {count}}}'])


def test_export_of_an_earlier_build_is_imported(core: Core, ada: Principal, remember: Remember) -> None:
    remember(ada)
    _, line, _ = export(core, ada)
    core.erasure.reset(ada)
    header = '{"format": "memorist-export", "version": 1}'
    assert import_all(core, ada, [header, line]) == ImportReport(imported=1, uncounted=1)


def test_batches_before_a_bad_line_are_stored(core: Core, ada: Principal, elsewhere: Principal) -> None:
    core.memories.remember(ada, [Draft(f"text {number}") for number in range(250)])
    lines = export(core, ada)
    with pytest.raises(InvalidField, match="Line 253: "):
        import_all(core, replace(ada, tenant=elsewhere.tenant), [*lines, "nonsense"])
    assert len(export(core, elsewhere)) == 2 + 200


def test_import_without_a_created_event_makes_one(core: Core, ada: Principal, remember: Remember) -> None:
    memory = remember(ada)
    lines = line_with(core, ada, events=[])
    core.erasure.reset(ada)
    import_all(core, ada, lines)
    (event,) = core.memories.events(ada, memory.id)
    assert (event.event_type, event.source, event.created_at) == ("created", "import", memory.created_at)


def test_record_and_memory_are_two_forms_of_one_thing() -> None:
    memory = honest_memory("t")
    record = json.loads(json.dumps(memory_to_record(memory)))
    assert memory_from_record(record, "t") == memory
    assert "tenant" not in record


# Reset


def test_reset_erases_everything_of_the_caller_and_nothing_of_others(
    core: Core, ada: Principal, bob: Principal, admin: Principal, remember: Remember
) -> None:
    mine = [remember(ada, "one"), remember(replace(ada, agent="coder"), "two"), remember(ada, "three")]
    core.memories.forget(ada, mine[2].id)
    kept = [remember(bob, "bob's"), remember(admin, "shared"), remember(admin, "agent's", owner=Owner(None, "coder"))]
    assert core.erasure.reset(ada).memories == 3
    left = core.store.read(ada.tenant, lambda tx: tx.memories.get_many([memory.id for memory in [*mine, *kept]]))
    assert {memory.id for memory in left} == {memory.id for memory in kept}
    assert core.store.read(ada.tenant, lambda tx: tx.events.of([memory.id for memory in mine])) == []
    assert core.memories.list(ada, status=Status.SOFT_DELETED).items == ()
    assert core.erasure.reset(ada).memories == 0


def test_reset_of_a_profile_erases_only_that_profile(core: Core, ada: Principal, remember: Remember) -> None:
    coder = replace(ada, agent="coder")
    remember(coder, "coder's")
    kept = remember(ada, "mine")
    assert core.erasure.reset(coder).memories == 1
    assert [memory.id for memory in core.memories.list(ada).items] == [kept.id]


def test_reset_by_an_admin_that_acts_for_nobody_erases_the_tenant(
    core: Core, ada: Principal, bob: Principal, admin: Principal, elsewhere: Principal, remember: Remember
) -> None:
    for principal in (ada, bob, admin, elsewhere):
        remember(principal)
    assert core.erasure.reset(admin).memories == 3
    assert core.memories.list(admin).items == ()
    assert len(core.memories.list(elsewhere).items) == 1


def test_reset_by_an_admin_that_acts_as_an_agent_erases_that_agents_alone(
    core: Core, ada: Principal, admin: Principal, remember: Remember
) -> None:
    remember(replace(ada, agent="coder"), "coder's")
    kept = {remember(ada, "ada's").id, remember(admin, "shared").id}
    assert core.erasure.reset(replace(admin, agent="coder")).memories == 1
    assert {memory.id for memory in core.memories.list(admin).items} == kept


def test_reset_takes_more_than_a_batch(core: Core, ada: Principal) -> None:
    core.memories.remember(ada, [Draft(f"text {number}") for number in range(1000)])
    core.memories.remember(ada, [Draft(f"more {number}") for number in range(200)])
    assert core.erasure.reset(ada).memories == 1200
    assert core.memories.list(ada).items == ()


@pytest.mark.parametrize("role", [Role.SERVICE, Role.READER])
def test_reset_for_nobody_is_for_admins(core: Core, tenant: str, role: Role) -> None:
    with pytest.raises(Forbidden):
        core.erasure.reset(Principal(tenant, role))


def test_reset_text_can_be_remembered_anew(core: Core, ada: Principal, remember: Remember) -> None:
    first = remember(ada, "the same", name="deploy")
    core.erasure.reset(ada)
    assert remember(ada, "the same", name="deploy").id != first.id


def test_import_shares_nothing_for_those_who_may_not(core: Core, ada: Principal, remember: Remember) -> None:
    admin = replace(ada, role=Role.ADMIN)
    remember(admin, "for all profiles", name="rule")
    remember(admin, "also for all", name="own")
    remember(ada, "for one of them", name="own")
    lines = list(core.transfer.export(ada))
    core.erasure.reset(ada)
    *_, told = core.transfer.preview(ada, lines)
    assert told == import_all(core, ada, lines) == ImportReport(imported=2, conflicting=1)
    found = {(memory.name, memory.content) for memory in core.memories.list(ada).items}
    assert found == {("rule", "for all profiles"), ("own", "for one of them")}
    assert {memory.owner for memory in core.memories.list(ada).items} == {Owner("ada", "default")}
    assert import_all(core, ada, lines) == ImportReport(already_there=2, conflicting=1)


def test_agent_imports_what_all_profiles_share_for_its_own(core: Core, ada: Principal, remember: Remember) -> None:
    remember(replace(ada, role=Role.ADMIN), "for all profiles", name="rule")
    coder = replace(ada, agent="coder")
    lines = list(core.transfer.export(coder))
    core.erasure.reset(ada)
    assert import_all(core, coder, lines) == ImportReport(imported=1)
    assert core.memories.get_named(coder, "rule").owner == Owner("ada", "coder")
