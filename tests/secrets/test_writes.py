"""Every way to write, on both databases: no secret is stored, hashed, embedded, answered or told by an event."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.errors import IdempotencyMismatch, InvalidField
from memorist.ingestion.service import Message
from memorist.ingestion.values import Document
from memorist.memories.hashes import content_hash
from memorist.memories.values import Draft, Memory, Remembered
from memorist.options import Options
from memorist.platform.values import Event, Owner, Principal, Role
from memorist.recall.values import Question
from memorist.settings import Settings
from memorist.testing import StepClock, new_tenant
from tests.secrets.conftest import Stored, new_token
from tests.support.models import WordEmbedder, WordReranker

MARKER = "[REDACTED:github-token]"


def redactions(core: Core, principal: Principal, memory: Memory) -> list[Event]:
    return [event for event in core.memories.events(principal, memory.id) if event.event_type == "redacted"]


def test_memory_is_stored_without_its_secrets(core: Core, ada: Principal, token: str, stored: Stored) -> None:
    draft = Draft(
        f"deploy with {token}",
        description=f"about {token}",
        excerpt=f"quoted {token} twice {token}",
        source_ref=f"call {token}",
        project=f"project {token}",
        meta={"note": f"see {token}", token: {"deep": [token, 1]}, "password": "hunter" + "22", "pin": 12},
    )
    [result] = core.memories.remember(ada, [draft])
    memory = core.memories.get(ada, result.memory.id)
    assert memory.content == result.memory.content == f"deploy with {MARKER}"
    assert memory.description == f"about {MARKER}"
    assert memory.excerpt == f"quoted {MARKER} twice {MARKER}"
    assert memory.source_ref == f"call {MARKER}"
    assert memory.project == f"project {MARKER}"
    assert memory.meta == {
        "note": f"see {MARKER}",
        MARKER: {"deep": [MARKER, 1]},
        "password": "[REDACTED:secret-assignment]",
        "pin": 12,
    }
    assert memory.content_hash == content_hash(memory.content)
    [event] = redactions(core, ada, memory)
    assert event.payload == {"rules": {"github-token": 9, "secret-assignment": 1}}
    assert token.encode() not in stored()


def test_token_with_unseen_or_wide_characters_is_stored_in_no_form(
    core: Core, ada: Principal, token: str, stored: Stored
) -> None:
    unseen = f"{token[:20]}\u200b{token[20:]}"
    wide = "".join(chr(ord(character) + 0xFEE0) for character in token)
    [result] = core.memories.remember(ada, [Draft(f"use {unseen} or {wide}, ok?")])
    assert core.memories.get(ada, result.memory.id).content == f"use {MARKER} or {MARKER}, ok?"
    left = stored()
    assert not any(form.encode() in left for form in (token, token[:20], token[20:], wide))


def test_what_holds_no_secret_is_left_alone_and_tells_nothing(core: Core, ada: Principal) -> None:
    meta = {"commit": "3f786850e387550fdab836ed7e6dc881de23001b", "numbers": [1, 2.5, None, True], "token": ""}
    [result] = core.memories.remember(ada, [Draft("the password is secret", meta=meta)])
    assert result.memory.content == "the password is secret"
    assert result.memory.meta == meta
    assert result.memory.redacted is None
    assert [event.event_type for event in core.memories.events(ada, result.memory.id)] == ["created"]


def test_numbers_can_be_secrets(core: Core, ada: Principal) -> None:
    card = int("4242" * 4)
    [result] = core.memories.remember(
        ada, [Draft("paid", meta={"card": card, "password": 83412277, "count": 83412277})]
    )
    assert result.memory.meta == {
        "card": "[REDACTED:card-number]",
        "password": "[REDACTED:secret-assignment]",
        "count": 83412277,
    }


PASSWORD = "hunter" + "2Xy9"
GONE = "[REDACTED:secret-assignment]"


@pytest.mark.parametrize(
    ("meta", "kept"),
    [
        ({"password": {"value": PASSWORD}}, {"password": {"value": GONE}}),
        ({"secret": ["a", {"x": PASSWORD}]}, {"secret": ["a", {"x": GONE}]}),
        ({"credentials": {"db": {"prod": PASSWORD}}}, {"credentials": {"db": {"prod": GONE}}}),
        ({"password": 1234.5678}, {"password": GONE}),
        ({"card": float("4242" * 4)}, {"card": "[REDACTED:card-number]"}),
    ],
)
def test_value_is_judged_by_the_nearest_name_of_a_secret(
    core: Core, ada: Principal, meta: dict[str, object], kept: dict[str, object], stored: Stored
) -> None:
    [result] = core.memories.remember(ada, [Draft("how to sign in", meta=meta)])
    assert result.memory.meta == kept
    output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=[meta])
    assert json.loads(output.preview) == [kept]
    for memory in (result.memory, output.memory):
        [event] = redactions(core, ada, memory)
        assert sum(event.payload["rules"].values()) == 1
    assert PASSWORD.encode() not in stored()


def test_json_that_a_tool_returns_as_text_is_looked_through_like_json(
    core: Core, ada: Principal, token: str, stored: Stored
) -> None:
    told = {"key": token, "credentials": {"db": {"prod": PASSWORD}}, "port": 5432}
    kept = {"key": MARKER, "credentials": {"db": {"prod": GONE}}, "port": 5432}
    for indent in (None, 2):
        text = json.dumps(told, indent=indent)
        output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=text)
        assert output.preview == json.dumps(kept, indent=indent)
        [event] = redactions(core, ada, output.memory)
        assert sum(event.payload["rules"].values()) == 2
    assert PASSWORD.encode() not in stored()
    assert token.encode() not in stored()


@pytest.mark.parametrize(
    "text",
    [
        '{"credentials": {"db": {"name": "ada"}},\n   "ids": [1,2 ]}',
        '[2026-03-01] {"credentials": {"db"',
        '{"password": ' + "[" * 100_000,
        "[" + "9" * 5_000 + "]",
        '{"a": 1, "a": 2}',
    ],
)
def test_text_that_hides_nothing_or_is_no_json_stays_as_it_is(core: Core, ada: Principal, text: str) -> None:
    output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=text)
    assert core.ingestion.read_tool_output(ada, output.key)[1] == text


def test_what_stands_beside_a_secret_is_left_alone(core: Core, ada: Principal) -> None:
    meta = {
        "password": {"algorithm": "argon2id", "createdAt": 1735689600, "user_name": "ada_l0velace"},
        "client_secret": {"pattern": "^[A-Z]{9}$"},
        "token": {"type": "bearer", "expires_in": 3600000},
        "secret": 0.98765432,
        "scores": [4111.111111111111, 1234567.25, 0.4111111111111111],
    }  # fmt: skip
    [result] = core.memories.remember(ada, [Draft("how to sign in", meta=meta)])
    assert result.memory.meta == meta
    output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=[meta])
    assert json.loads(output.preview) == [meta]


def test_same_fact_with_another_secret_is_the_same_fact(core: Core, ada: Principal, token: str) -> None:
    first, second = (core.memories.remember(ada, [Draft(f"use {one}")])[0] for one in (token, new_token()))
    assert not second.was_new
    assert second.memory.id == first.memory.id
    assert [event.event_type for event in core.memories.events(ada, first.memory.id)] == [
        "created",
        "redacted",
        "deduplicated",
        "redacted",
    ]


def test_edit_is_stored_without_its_secrets(core: Core, ada: Principal, token: str, stored: Stored) -> None:
    [result] = core.memories.remember(ada, [Draft("nothing yet")])
    edited = core.memories.edit(ada, result.memory.id, {"content": f"now {token}", "meta": {"api_key": token}})
    assert edited.content == f"now {MARKER}"
    assert edited.meta == {"api_key": MARKER}
    core.memories.edit(ada, edited.id, {"content": "harmless again"})
    [event] = redactions(core, ada, edited)
    assert event.payload == {"rules": {"github-token": 2}}
    assert token.encode() not in stored()


def test_idempotent_request_is_remembered_without_its_secrets(
    core: Core, ada: Principal, token: str, stored: Stored
) -> None:
    def write(text: str) -> Remembered:
        return core.memories.remember(ada, [Draft(text)], idempotency_key="once")[0]

    first, again = write(f"use {token}"), write(f"use {token}")
    assert again.replayed
    assert again.memory == first.memory
    with pytest.raises(IdempotencyMismatch):
        write("something else")
    core.memories.edit(ada, first.memory.id, {"excerpt": token}, idempotency_key="twice")
    assert token.encode() not in stored()


def test_messages_are_stored_without_their_secrets(core: Core, ada: Principal, token: str, stored: Stored) -> None:
    messages = [Message("user", f"here: {token}", meta={"raw": token}), Message("assistant", "thanks", name=token)]
    results = core.ingestion.add_messages(ada, "session-1", messages)
    assert results[0].memory.content == f"here: {MARKER}"
    assert results[1].memory.meta == {"role": "assistant", "speaker": MARKER}
    assert [len(redactions(core, ada, result.memory)) for result in results] == [1, 1]
    assert token.encode() not in stored()


def test_preview_cuts_no_secret_in_two(settings: Settings, tenant: str) -> None:
    core = open_core(Settings(**{**_values(settings), "tool_output_preview": 200}))
    ada = Principal(tenant, Role.USER, "ada")
    try:
        for index in range(60, 300, 12):
            token = new_token()
            content = "x " * (index // 2) + token + " y" * 200
            output = core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=content)
            _, whole = core.ingestion.read_tool_output(ada, output.key)
            assert whole == content.replace(token, MARKER)
            assert output.truncated
            assert not any(token[at : at + 6] in output.preview for at in range(4, len(token) - 6))
            assert output.memory.meta is not None
            assert output.memory.meta["sha256"] == content_hash(whole)
            assert len(redactions(core, ada, output.memory)) == 1
    finally:
        core.close()


def _values(settings: Settings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in Settings.__dataclass_fields__}


def test_tool_output_is_stored_without_its_secrets(core: Core, ada: Principal, token: str, stored: Stored) -> None:
    long = f"start {token}\n" + "line\n" * 3000 + f"middle {token}\n" + "line\n" * 3000 + token
    output = core.ingestion.add_tool_output(
        ada, "s", tool_call_id=f"call-{token}", tool_name=token, content=long, idempotency_key="k"
    )
    assert output.preview.count(MARKER) == 2
    assert core.ingestion.read_tool_output(ada, output.key)[1] == long.replace(token, MARKER)
    assert token.encode() not in stored()


def test_document_is_stored_without_its_secrets(core: Core, admin: Principal, token: str, stored: Stored) -> None:
    text = f"# Keys {token}\n\n" + "Some words. " * 150 + f"\n\n{token}\n\n# Next\n\n" + "More words. " * 100 + token
    result = core.ingestion.add_document(admin, title=f"Notes {token}", content=text, media_type="text/markdown")
    assert result.document.title == f"Notes {MARKER}"
    assert token not in result.document.content
    assert result.document.content.count(MARKER) == 3
    chunks = core.memories.list(admin, limit=100).items
    assert len(chunks) == result.document.chunks > 2
    for chunk in chunks:
        assert chunk.meta is not None
        assert chunk.content == result.document.content[chunk.meta["start"] : chunk.meta["end"]]
    told = [event.payload["rules"] for chunk in chunks for event in redactions(core, admin, chunk)]
    assert len(told) >= 3
    again = core.ingestion.add_document(admin, title=f"Notes {token}", content=text, media_type="text/markdown")
    assert not again.changed
    assert token.encode() not in stored()


def test_key_block_over_several_blocks_of_a_document(core: Core, admin: Principal) -> None:
    edges = [f"-----{edge} OPENSSH PRIVATE KEY-----" for edge in ("BEGIN", "END")]
    block = f"{edges[0]}\n" + "\n\n".join("b3BlbnNzaC1rZXkt" * 4 for _ in range(6)) + f"\n{edges[1]}"
    text = f"Before it.\n\n{block}\n\nAfter it."
    document = core.ingestion.add_document(admin, title="t", content=text).document
    assert document.content == "Before it.\n\n[REDACTED:private-key]\n\nAfter it."
    [chunk] = core.memories.list(admin).items
    assert chunk.content == document.content


def test_import_takes_secrets_out_of_an_older_export(
    settings: Settings, core: Core, admin: Principal, token: str
) -> None:
    unredacted = _export_without_redaction(settings, token)
    assert token in unredacted
    report = list(core.transfer.import_(admin, unredacted.splitlines()))[-1]
    assert report.imported >= 3
    exported = "\n".join(core.transfer.export(admin))
    assert token not in exported
    memories = core.memories.list(admin, limit=100).items
    assert any(redactions(core, admin, memory) for memory in memories)
    before = [
        event.payload["before"]["content"]
        for memory in memories
        for event in core.memories.events(admin, memory.id)
        if event.event_type == "updated"
    ]
    assert before == [f"first {MARKER}"]
    assert "\n".join(core.transfer.export(admin)) == exported


def _export_without_redaction(settings: Settings, token: str) -> str:
    """What another tenant holds that was written with redaction off."""
    core = open_core(Settings(**{**_values(settings), "redact": "off"}), clock=StepClock())
    try:
        tenant = core.identity.create_tenant(new_tenant())[0].id
        ada, admin = Principal(tenant, Role.USER, "ada"), Principal(tenant, Role.ADMIN)
        [one] = core.memories.remember(ada, [Draft(f"first {token}", meta={"k": token})])
        core.memories.edit(ada, one.memory.id, {"content": f"second {token}"})
        core.ingestion.add_tool_output(ada, "s", tool_call_id="c", tool_name="t", content=f"{token} " * 600)
        core.ingestion.add_document(ada, title=f"About {token}", content=f"It says {token}.")
        return "\n".join(core.transfer.export(admin))
    finally:
        core.close()


@pytest.mark.parametrize("field", ["name", "category"])
def test_slug_that_is_a_secret_is_refused(core: Core, ada: Principal, field: str, stored: Stored) -> None:
    slug = "dop_v1_" + "0123456789abcdef" * 4
    with pytest.raises(InvalidField, match="digitalocean-token") as refused:
        core.memories.remember(ada, [Draft("a text", **{field: slug})])
    assert refused.value.field == field
    assert slug not in refused.value.message
    assert slug.encode() not in stored()


@pytest.mark.parametrize(
    "write",
    [
        lambda core, ada, token: core.memories.remember(ada, [Draft("a text", session=token)]),
        lambda core, ada, token: core.memories.remember(ada, [Draft("a text", owner=Owner("ada", token))]),
        lambda core, ada, token: core.memories.remember(ada, [Draft("a text")], idempotency_key=f"key-{token}"),
        lambda core, ada, token: core.memories.remember(Principal(ada.tenant, Role.USER, token), [Draft("a text")]),
        lambda core, ada, token: core.ingestion.add_messages(ada, token, [Message("user", "hello")]),
        lambda core, ada, token: core.ingestion.add_document(ada, title="t", content="c", document_id=token),
        lambda core, ada, token: core.ingestion.add_document(ada, title="t", content="c", media_type=token),
        lambda core, ada, token: core.identity.create_key(Principal(ada.tenant, Role.ADMIN), Role.USER, user=token),
    ],
)
def test_identifier_that_is_a_secret_is_refused(
    core: Core, ada: Principal, token: str, stored: Stored, write: Callable[[Core, Principal, str], object]
) -> None:
    with pytest.raises(InvalidField) as refused:
        write(core, ada, token)
    assert token not in refused.value.message
    assert token.encode() not in stored()


def test_label_of_a_key_loses_its_secret(core: Core, admin: Principal, token: str) -> None:
    key, _ = core.identity.create_key(admin, Role.READER, label=f"for {token}")
    assert key.label == f"for {MARKER}"


def test_long_line_is_cut_where_its_marker_makes_it_longer(core: Core, ada: Principal) -> None:
    description = "x" * 480 + " password=" + "hunter" + "22"
    [result] = core.memories.remember(ada, [Draft("a text", description=description)])
    assert result.memory.description is not None
    assert len(result.memory.description) <= 500
    assert "hunter" + "22" not in result.memory.description


@dataclass
class Models:
    core: Core
    embedder: WordEmbedder
    reranker: "Listening"


class Listening(WordReranker):
    """A reranker far away, which keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[str] = []

    def score(self, query: str, passages: list[str]) -> list[float]:  # type: ignore[override]
        self.questions.append(query)
        return super().score(query, passages)


@pytest.fixture
def models(core: Core) -> Iterator[Models]:
    """The same store, with models far away."""
    embedder, reranker = WordEmbedder(is_local=False), Listening()
    other = Core(core.store, core.clock, Options(embedder=lambda: embedder, reranker=lambda: reranker))
    yield Models(other, embedder, reranker)
    other.indexer.close()


def test_models_are_told_no_secrets(models: Models, ada: Principal, token: str) -> None:
    core = models.core
    core.memories.remember(ada, [Draft(f"the deploy key is {token}")])
    list(core.indexer.finish(ada.tenant))
    found = core.recall.recall(ada, Question(f"which deploy key is {token}?"))
    assert [hit.memory.content for hit in found.hits] == [f"the deploy key is {MARKER}"]
    assert any(MARKER in text for text in models.embedder.embedded)
    assert models.reranker.questions == [f"which deploy key is {MARKER}?"]
    told = json.dumps([models.embedder.embedded, models.reranker.questions, models.reranker.read])
    assert token not in told


def test_redaction_can_be_off(settings: Settings, tenant: str, token: str) -> None:
    core = open_core(Settings(**{**_values(settings), "redact": "off"}))
    try:
        ada = Principal(tenant, Role.USER, "ada")
        [result] = core.memories.remember(ada, [Draft(f"use {token}", meta={"password": token})])
        assert result.memory.content == f"use {token}"
        assert result.memory.meta == {"password": token}
        document: Document = core.ingestion.add_document(ada, title=token, content=token).document
        assert (document.title, document.content) == (token, token)
    finally:
        core.close()
