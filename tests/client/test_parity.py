"""One table of verbs for the library and the two clients: same arguments, same answers, same rows, same errors."""

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from operator import attrgetter
from typing import Any, TypeAlias

import pytest

from memorist.client import AsyncClient, Client
from memorist.codec import to_record
from memorist.context.companion import Category, Finding, FindingVerdict
from memorist.errors import MemoristError
from memorist.ingestion.service import Message
from memorist.memories.values import Draft, Kind, Order, Retention, Status, Trust
from memorist.platform.values import Owner, Principal, Role, TokenRights
from memorist.recall.values import Scope
from memorist.surfaces.library import AsyncHandle, Handle, Memorist
from memorist.testing import new_tenant
from tests.http.conftest import Served

# What only makes sense over a connection.
ONLY_OF_THE_CLIENTS = {"close", "stream"}
STREAMS = {"changes", "export", "iterate", "iterate_documents", "turn", "turn_events"}

_IDS = re.compile(
    r"\b(?:mem|doc|job|dbt|rcpt|tout|key|turn)_[0-9A-Z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
)
_TIMES = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
# Drawn anew, made of the time, or the door's own; and a client's writes have a key each, which an erasure counts.
_DIFFERENT = {
    "salt", "subject", "version", "source", "next_cursor", "updated_at", "last_accessed_at", "position", "seq",
    "key_id", "idempotency_keys",
}  # fmt: skip

Do: TypeAlias = "Doing"


def verbs(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def arguments(function: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default, one.annotation) for one in found if one.name != "self"]


def test_verbs_are_the_same_everywhere() -> None:
    assert verbs(Client) - verbs(Handle) == ONLY_OF_THE_CLIENTS
    assert verbs(Handle) <= verbs(Client)
    assert verbs(AsyncClient) == verbs(Client)
    assert verbs(AsyncHandle) == verbs(Handle)


@pytest.mark.parametrize("name", sorted(verbs(Client) - {"principal"}))
def test_verb_takes_the_same_arguments_everywhere(name: str) -> None:
    expected = arguments(getattr(Client, name))
    answer = inspect.signature(getattr(Client, name)).return_annotation
    for kind in (AsyncClient, Handle, AsyncHandle):
        if name in verbs(kind):
            assert arguments(getattr(kind, name)) == expected
            if name not in STREAMS | {"stream"}:
                assert inspect.signature(getattr(kind, name)).return_annotation == answer


@pytest.mark.parametrize("name", sorted(verbs(Client) - {"principal"}))
def test_bound_verb_shows_all_of_its_arguments(name: str) -> None:
    for kind in (Client, AsyncClient, Handle, AsyncHandle):
        if name in verbs(kind):
            bound = getattr(object.__new__(kind), name)
            assert arguments(bound) == arguments(getattr(kind, name))
            assert "self" not in inspect.signature(bound).parameters


def test_every_verb_says_what_it_does() -> None:
    for kind in (Handle, AsyncHandle, Client, AsyncClient):
        assert [name for name in verbs(kind) if not getattr(kind, name).__doc__] == []


# What they do


def facts_in_doubt(do: Do) -> Any:
    do("remember_fact", "The user works at Siemens and plays the cello.")
    do("remember_fact", "The user no longer works at Siemens.")
    [pair] = do("in_doubt").items
    return pair.doubt.id


def retired_fact(do: Do) -> str:
    old = do("remember_fact", "The user works at Siemens.")
    do("remember_fact", "The user works at Bosch.")
    return str(old.memory.id)


def named(do: Do) -> Any:
    return do("remember", "On Fridays.", name="deploy_day", category="project", description="When", importance=3).memory


def every_field(do: Do) -> Any:
    return do(
        "remember",
        "We chose SQLite for it. 猫",
        kind=Kind.FACT,
        category="feedback",
        name="chosen",
        description="One line",
        excerpt="chose",
        importance=7,
        confidence=0.5,
        relevance=0.25,
        meta={"a": [1, None, {"b": "ü"}]},
        source_ref="elsewhere",
        trust=Trust.TOOL,
        project="/srv/notes/",
        session="s1",
        event_time=datetime(2024, 5, 6, 7, 8, 9),  # Without an offset it is UTC everywhere.
        owner=Owner("ada", "coder"),
        retention=Retention.POLICY,
        ttl=timedelta(days=1, milliseconds=3),
        idempotency_key="k",
    )


FINDING = Finding("f-1", "nuts", "sleep", FindingVerdict.VALIDATED, "ρ=0.4", "Nuts help.")


def entry(do: Do) -> Any:
    return do("add_entry", "Sleep more.", Category.GOAL)


def erased(do: Do) -> Any:
    return do("erase", do("remember", "Something private about Rex.").memory.id)


def exported(do: Do) -> list[str]:
    every_field(do)
    do("add_document", "Notes", "Cats\u2028purr.", document_id="d")
    lines = list(do("export"))
    do("reset")
    return lines


CASES: dict[str, Callable[[Do], Any]] = {
    "remember": every_field,
    "remember_all": lambda do: do(
        "remember_all", [Draft("One."), Draft("One."), Draft("Two.", Kind.CHAT_MESSAGE, session="s")]
    ),
    "recall": lambda do: [
        do("remember", "The office is in Lisbon.", category="place"),
        do("remember", "The office has a cat."),
        do(
            "recall",
            "Where is the office?",
            top_k=2,
            source_kinds=[Kind.FACT],
            scope=Scope.USER,
            enable_rerank=False,
            after=datetime(2020, 1, 1, tzinfo=UTC),
            before=datetime(2999, 1, 1, tzinfo=UTC),
            min_score=0.0,
        )
        .hits[0]
        .excerpt,
        len(do("recall", "office", category="place", explain=True, budget_tokens=100).hits),
        do("recall", "office", as_of=datetime(2020, 1, 1, tzinfo=UTC), known_at=datetime(2020, 1, 1, tzinfo=UTC)),
    ],
    "get": lambda do: do("get", named(do).id),
    "list": lambda do: [named(do), do("list", named=True, order=Order.IMPORTANCE, limit=1)],
    "edit": lambda do: do(
        "edit", every_field(do).memory.id, {"content": "Otherwise.", "meta": None, "project": "/b/", "importance": 1}
    ),
    "forget": lambda do: do("forget", named(do).id, idempotency_key="f"),
    "archive": lambda do: do("archive", do("remember", "Long ago.", retention=Retention.POLICY).memory.id),
    "restore": lambda do: do("restore", do("forget", named(do).id).id),
    "events": lambda do: do("events", do("edit", named(do).id, {"importance": 9}).id),
    "context": lambda do: [
        named(do),
        do("remember_fact", "Rex lives in Rome."),
        do("context", "Rome", project="/srv", budget_tokens=300),
        do("context"),
    ],
    "section": lambda do: [named(do), do("section"), do("section", "coder")],
    "remember_fact": lambda do: [
        do("remember_fact", "Rex lives in Rome."),
        do("remember_fact", "Rex lives in Rome.", idempotency_key="r"),
        do("remember_fact", "Rex lives in Rome.", idempotency_key="r"),
    ],
    "extract": lambda do: do("extract", "User: I decided to use PostgreSQL.\nAssistant: Noted.", project="/srv"),
    "about": lambda do: [
        do("remember_fact", "The user's sister Mia lives in Porto since 8 May 2024."),
        do("remember_fact", "The user lives in Lisbon."),
        retired_fact(do),
        do("about"),
        do("about", "mia", limit=1),
    ],
    "history": lambda do: do("history", retired_fact(do)),
    "restore_fact": lambda do: do("restore_fact", retired_fact(do)),
    "in_doubt": lambda do: [facts_in_doubt(do), do("in_doubt")],
    "confirm_doubt": lambda do: do("confirm_doubt", facts_in_doubt(do)),
    "refute_doubt": lambda do: do("refute_doubt", facts_in_doubt(do)),
    "dismiss_doubt": lambda do: do("dismiss_doubt", facts_in_doubt(do)),
    "jobs": lambda do: [do("remember_fact", "Rex is a dog."), do("jobs")],
    "get_job": lambda do: do("get_job", do.dead_job()),
    "retry_job": lambda do: do("retry_job", do.dead_job()),
    "drop_job": lambda do: do("drop_job", do.dead_job()),
    "add_messages": lambda do: do(
        "add_messages",
        "chat/1",
        [
            Message("user", "Hello.", name="Ada", meta={"a": 1}),
            Message("assistant", "Hi.", event_time=do.moment),
            {"role": "user", "content": "How are you?", "name": "Ada", "event_time": do.moment},
            {"role": "assistant", "content": "Fine.", "event_time": "2026-05-08T10:00:00+02:00"},
            {"role": "user", "content": [{"type": "text", "text": "I am"}, {"type": "text", "text": "glad."}]},
        ],
        idempotency_key="m",
    ),
    "add_tool_output": lambda do: do(
        "add_tool_output", "s", tool_call_id="c", tool_name="ls", content="line\n" * 5000, event_time=do.moment
    ),
    "read_tool_output": lambda do: do(
        "read_tool_output", do("add_tool_output", "s", tool_call_id="c", tool_name="ls", content="x" * 9000).key
    ),
    "add_document": lambda do: [
        do("add_document", "Notes", "Cats purr. 猫", document_id="a/b"),
        do("add_document", "Bytes", b"# From bytes.", media_type="text/markdown", shared=True),
    ],
    "get_document": lambda do: do("get_document", do("add_document", "Notes", "Cats purr.").document.id),
    "list_documents": lambda do: [do("add_document", "Notes", "Cats."), do("list_documents", limit=5)],
    "forget_document": lambda do: do("forget_document", do("add_document", "Notes", "Cats.").document.id),
    "iterate": lambda do: [named(do), list(do("iterate", named=True))],
    "iterate_documents": lambda do: [do("add_document", "Notes", "Cats."), list(do("iterate_documents"))],
    "tools": lambda do: do("tools", "anthropic"),
    "run_tool": lambda do: do("run_tool", "remember_fact", {"content": "Tea is at four."}, idempotency_key="t"),
    "turns": lambda do: do("turns"),
    "changes": lambda do: [named(do), [one.action for one in do("changes", after="0-0", wait=0.5)]],
    "create_token": lambda do: attrgetter("user", "agent", "rights")(
        do("create_token", "bob", agent="coder", rights=TokenRights.READ, lifetime=timedelta(hours=1))
    ),
    "revoke_tokens": lambda do: [
        do("create_token", "bob").user,
        do("revoke_tokens", "bob"),
        do("revoke_tokens", "bob"),
    ],
    "policy": lambda do: do("policy"),
    "set_policy": lambda do: [
        do("set_policy", {"active_days": 5}),
        do("set_policy", {"mode": "enforce"}, dry_run=True),
    ],
    "sweep": lambda do: [do("sweep", dry_run=True), do("sweep")],
    "erase": erased,
    "purge": lambda do: [named(do), do("purge"), do("purge", "bob", keys=True)],
    "delete_tenant": lambda do: do("delete_tenant", do.tenant),
    "receipt": lambda do: do("receipt", erased(do).id),
    "receipts": lambda do: [erased(do), do("receipts", limit=3)],
    "verify": lambda do: do("verify", erased(do).id),
    "reset": lambda do: [named(do), do("reset")],
    "wait_until_indexed": lambda do: do("wait_until_indexed"),
    "export": lambda do: [
        exported(do),
        every_field(do),
        do("add_document", "Notes", "Cats purr."),
        list(do("export", kinds=["fact", "document_chunk"], since=datetime(2020, 1, 1))),
        list(do("export", kinds=["chat_message"])),
        list(do("export", until=datetime(2020, 1, 1, tzinfo=UTC))),
    ],
    "import_": lambda do: do("import_", exported(do)),
    "entries": lambda do: [entry(do).was_new, do("entries", category="goal"), do("entries", include_tested=True)],
    "add_entry": lambda do: do("add_entry", "Sleep more.", Category.GOAL, confidence=0.5, idempotency_key="k"),
    "erase_entry": lambda do: [do("erase_entry", entry(do).memory.id), do("entries")],
    "record_finding": lambda do: [do("record_finding", FINDING), do("record_finding", FINDING), do("summary")],
    "summary": lambda do: [entry(do).memory.content, do("summary")],
}
NO_CASE = {"principal", "turn", "get_turn", "turn_events"}  # Without a language model there is no turn: see ERRORS.

FIRST = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
UNKNOWN = "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
ERRORS: dict[str, Callable[[Do], Any]] = {
    "empty text": lambda do: do("remember", " "),
    "text that is none": lambda do: do("remember", 5),
    "lone surrogate": lambda do: do("remember", "a\ud800b"),
    "no slug": lambda do: do("remember", "A text.", name="Two Words"),
    "name that is taken": lambda do: [named(do), named(do)],
    "wrong kind": lambda do: do("remember", "A text.", kind="dream"),
    "no time to live": lambda do: do("remember", "A text.", ttl=timedelta(0)),
    "meta that is no JSON": lambda do: do("remember", "A text.", meta={"a": {1}}),
    "meta that is infinite": lambda do: do("remember", "A text.", meta={"a": float("inf")}),
    "key that was used otherwise": lambda do: [
        do("remember", text, idempotency_key="same") for text in ("One.", "Two.")
    ],
    "somebody else's": lambda do: do("remember_all", [Draft("A text.", owner=Owner("bob"))]),
    "too many": lambda do: do("remember_all", [Draft("A text.")] * 1001),
    "no question": lambda do: do("recall", ""),
    "too many answers": lambda do: do("recall", "x", top_k=1000),
    "why not nothing": lambda do: do("recall", "x", why_not=UNKNOWN),
    "unknown": lambda do: do("get", UNKNOWN),
    "no id": lambda do: do("get", "nonsense"),
    "no page": lambda do: do("list", limit=0),
    "no cursor": lambda do: do("list", cursor="nonsense"),
    "order without names": lambda do: do("list", order=Order.IMPORTANCE),
    "field that cannot be changed": lambda do: do("edit", named(do).id, {"status": "archived"}),
    "field with a wrong value": lambda do: do("edit", named(do).id, {"importance": "high"}),
    "name taken away": lambda do: do("edit", named(do).id, {"name": None}),
    "stale edit": lambda do: do("edit", named(do).id, {"importance": 1}, expected_version="5f3c2a"),
    "stale forget": lambda do: do("forget", named(do).id, expected_version="5f3c2a"),
    "forget the unknown": lambda do: do("forget", UNKNOWN),
    "archive twice": lambda do: [
        do("archive", named(do).id),
        do("archive", do("list", status=Status.ARCHIVED).items[0].id),
    ],
    "restore the living": lambda do: do("restore", named(do).id),
    "events of the unknown": lambda do: do("events", UNKNOWN),
    "fact of no scope": lambda do: do("remember_fact", "A fact.", "planet"),
    "transcript of no session": lambda do: do("extract", "User: Hello.", session="two words"),
    "meta that is no text": lambda do: do("remember", "A text.", meta={"a": do.moment}),
    "context of too little": lambda do: do("context", budget_tokens=1),
    "about nobody": lambda do: do("about", "Zoe"),
    "about too much": lambda do: do("about", limit=101),
    "history of the unknown": lambda do: do("history", UNKNOWN),
    "fact that is not retired": lambda do: do("restore_fact", do("remember_fact", "A fact.").memory.id),
    "unknown doubt": lambda do: do("confirm_doubt", "dbt_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "unknown job": lambda do: do("retry_job", "job_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "no messages": lambda do: do("add_messages", "s", []),
    "message without a role": lambda do: do("add_messages", "s", [{"content": "Hello."}]),
    "message with more than is known": lambda do: do("add_messages", "s", [{"role": "user", "content": "H", "x": 1}]),
    "message of no time": lambda do: do("add_messages", "s", [{"role": "user", "content": "H", "event_time": "soon"}]),
    "message of no text": lambda do: do("add_messages", "s", [{"role": "user", "content": [{"type": "image"}]}]),
    "message that is none": lambda do: do("add_messages", "s", ["Hello."]),
    "turn of no messages": lambda do: list(do("turn", [{"content": "Hello."}])),
    "no session": lambda do: do("add_messages", "two words", [Message("user", "Hello.")]),
    "no tool output": lambda do: do("read_tool_output", "nonsense"),
    "unknown document": lambda do: do("get_document", "nowhere"),
    "document of no kind": lambda do: do("add_document", "Notes", "Text.", media_type="image/png"),
    "unknown tool": lambda do: do("run_tool", "nothing", {}),
    "wrong argument": lambda do: do("run_tool", "recall", {"quer": "x"}),
    "tools of no format": lambda do: do("tools", "latin"),
    "turn without a model": lambda do: list(do("turn", [Message("user", "Hello.")])),
    "unknown turn": lambda do: do("get_turn", "turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "events of an unknown turn": lambda do: list(do("turn_events", "turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3")),
    "changes after nothing": lambda do: list(do("changes", after="nonsense", wait=0.1)),
    "token by a user": lambda do: do("create_token", "ada"),
    "revoking by a user": lambda do: do("revoke_tokens", "ada"),
    "policy for users": lambda do: do("policy"),
    "changing it for users": lambda do: do("set_policy", {"active_days": 5}),
    "sweep for users": lambda do: do("sweep"),
    "erase an unknown entry": lambda do: do("erase_entry", UNKNOWN),
    "entry that is too long": lambda do: do("add_entry", "x" * 501, Category.GOAL),
    "entries of no category": lambda do: do("entries", category="tested_hypothesis"),
    "erase the unknown": lambda do: do("erase", UNKNOWN),
    "purge of another": lambda do: do("purge", "bob"),
    "tenant of another": lambda do: do("delete_tenant", "another"),
    "unknown receipt": lambda do: do("receipt", "rcpt_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "verify the unknown": lambda do: do("verify", "rcpt_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "no receipts": lambda do: do("receipts", limit=0),
    "export of no kind": lambda do: list(do("export", kinds=["dream"])),
    "import of nothing": lambda do: do("import_", []),
    "import of something else": lambda do: do("import_", ['{"format":"memorist-export","version":1}', "{}"]),
}

# What a path, a header or a number of JavaScript would tell otherwise.
PYTHON_ERRORS: dict[str, Callable[[Do], Any]] = {
    "edit of a version that no header can tell": lambda do: do(
        "edit", named(do).id, {"importance": 1}, expected_version="é"
    ),
    "edit of an empty version": lambda do: do("edit", named(do).id, {"importance": 1}, expected_version=""),
    "empty key": lambda do: do("remember", "A text.", idempotency_key=""),
    "key of two lines": lambda do: do("remember", "A text.", idempotency_key="a\nb"),
    "key with a control character": lambda do: do("remember", "A text.", idempotency_key="a\x01b"),
    "key that was used without the spaces": lambda do: [
        do("remember", text, idempotency_key=key) for text, key in (("One.", "lead"), ("Two.", " lead "))
    ],
    "key of any script that was used otherwise": lambda do: [
        do("remember", text, idempotency_key="хорошо") for text in ("One.", "Two.")
    ],
    **{
        f"{verb} {word!r}": lambda do, verb=verb, word=word: do(verb, word)
        for verb in ("get", "events", "archive", "history", "erase_entry", "get_job", "receipt", "get_turn")
        for word in ("", ".", "..", "export", "in-doubt")
    },
    "no session at all": lambda do: do("add_messages", "", [Message("user", "Hello.")]),
    "session with a lone surrogate": lambda do: do("add_messages", "a\ud800", [Message("user", "Hello.")]),
    "section of no agent": lambda do: do("section", "a b"),
    "turn in no session": lambda do: list(do("turn", [Message("user", "Hello.")], session="a b")),
    "turn after no event": lambda do: list(do("turn_events", "turn_01J9Z3K4M5N6P7Q8R9S0T1V2W3", after=-1)),
    "recall of no kind": lambda do: do("recall", "x", source_kinds=["fact", "nope"]),
    "confidence that is no number": lambda do: do("remember", "A text.", confidence=float("nan")),
    "time before all times": lambda do: do("remember", "A text.", event_time=FIRST),
    "message before all times": lambda do: do("add_messages", "s", [Message("user", "Hello.", event_time=FIRST)]),
    "recall of before all times": lambda do: do("recall", "x", as_of=FIRST),
}


def test_every_verb_is_in_the_table() -> None:
    assert CASES.keys() | NO_CASE == verbs(Handle)


@dataclass
class Doing:
    """Does verbs as one user, in a tenant of its own."""

    served: Served
    call: Callable[[str, tuple[Any, ...], dict[str, Any]], Any]
    tenant: str
    moment: datetime = datetime(2024, 5, 6, tzinfo=UTC)

    def __call__(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        return self.call(verb, args, kwargs)

    def dead_job(self) -> str:
        """The id of a job that nobody works on."""
        principal = Principal(self.tenant, Role.ADMIN, "ada")
        jobs = self.served.core.jobs
        job = self.served.core.store.write(
            self.tenant, lambda tx: jobs.add(tx, principal, "nothing", {"a": 1}, key="one", claimed=True)
        )
        return job.id

    def answer(self, case: Callable[["Doing"], Any]) -> Any:
        try:
            return _plain(case(self), self.tenant)
        except MemoristError as error:
            return type(error), error.code

    def refusal(self, case: Callable[["Doing"], Any]) -> Any:
        """Which error, and of which argument."""
        with pytest.raises(MemoristError) as caught:
            case(self)
        return type(caught.value), caught.value.code, caught.value.field

    def database(self) -> Any:
        self.served.core.accesses.flush()
        lines = self.served.core.transfer.export(Principal(self.tenant, Role.ADMIN))
        return _plain([json.loads(line) for line in lines], self.tenant)


def _plain(value: Any, tenant: str) -> Any:
    """As JSON, without what differs from one time to the next."""
    text = json.dumps(_without(to_record(value)), ensure_ascii=False, default=str).replace(tenant, "TENANT")
    known: dict[str, str] = {}
    text = _IDS.sub(lambda found: known.setdefault(found[0], f"ID{len(known)}"), text)
    return json.loads(_TIMES.sub("TIME", text))


def _without(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):  # A line of an export.
        return _without(json.loads(value))
    if isinstance(value, dict):
        # The preview of a tool output names its own key.
        different = _DIFFERENT | ({"content_hash"} if value.get("kind") == "tool_output" else set())
        return {name: _without(one) for name, one in value.items() if name not in different}
    return [_without(one) for one in value] if isinstance(value, list) else value


def doings(served: Served, role: Role) -> Iterator[Doing]:
    """The same user at each of the three."""
    for opened in (_by_library, _by_client, _by_awaited_client):
        tenant = new_tenant()
        key = served.key(tenant, role, "ada")
        yield from opened(served, tenant, key)


def _by_library(served: Served, tenant: str, key: str) -> Iterator[Doing]:
    handle = Memorist(served.core).with_key(key)
    yield Doing(served, lambda verb, args, kwargs: getattr(handle, verb)(*args, **kwargs), tenant)


def _by_client(served: Served, tenant: str, key: str) -> Iterator[Doing]:
    with Client(served.url, api_key=key) as client:
        yield Doing(served, lambda verb, args, kwargs: getattr(client, verb)(*args, **kwargs), tenant)


def _by_awaited_client(served: Served, tenant: str, key: str) -> Iterator[Doing]:
    with asyncio.Runner() as runner:
        client = AsyncClient(served.url, api_key=key)

        async def call(verb: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = getattr(client, verb)(*args, **kwargs)
            return [one async for one in found] if verb in STREAMS else await found

        yield Doing(served, lambda verb, args, kwargs: runner.run(call(verb, args, kwargs)), tenant)
        runner.run(client.close())


@pytest.mark.parametrize("verb", sorted(CASES))
def test_verb_answers_and_writes_the_same_everywhere(by_keyword: Served, verb: str) -> None:
    expected: Any = None
    for doing in doings(by_keyword, Role.ADMIN):
        answered = doing.answer(CASES[verb])
        found = answered, doing.database()
        expected = expected or found
        assert found == expected
    assert not isinstance(expected[0], tuple), "it is to succeed"


def test_transcript_is_read_the_same_everywhere(learning: Served) -> None:
    found = [(doing.answer(CASES["extract"]), doing.database()) for doing in doings(learning, Role.ADMIN)]
    assert found[0][0]["memories"]
    assert all(one == found[0] for one in found[1:])


@pytest.mark.parametrize("by_keyword", ["sqlite"], indirect=True)  # Which database it is decides about no error.
@pytest.mark.parametrize("name", sorted(ERRORS | PYTHON_ERRORS))
def test_error_is_the_same_everywhere(by_keyword: Served, name: str) -> None:
    found = [doing.refusal((ERRORS | PYTHON_ERRORS)[name]) for doing in doings(by_keyword, Role.USER)]
    assert found == [found[0]] * 3


@pytest.mark.parametrize("wait", [0, -1])
def test_changes_that_are_there_are_told_without_waiting(by_keyword: Served, wait: float) -> None:
    for doing in doings(by_keyword, Role.USER):
        named(doing)
        assert [one.action for one in doing("changes", after="0-0", wait=wait)] == ["created"]


def test_everybody_acts_as_the_key_says(by_keyword: Served) -> None:
    tenant = new_tenant()
    key = by_keyword.key(tenant, Role.SERVICE)
    with Client(by_keyword.url, api_key=key, user="bob", agent="coder", session="s1") as client:
        found = client.principal
    assert (found.tenant, found.role, found.user, found.agent, found.session) == (
        tenant, Role.SERVICE, "bob", "coder", "s1",
    )  # fmt: skip
