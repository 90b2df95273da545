"""Sample data on request: the story of the demo, under sessions and a document of its own, so that it can be erased."""

from datetime import timedelta
from functools import partial

from memorist.erasure.service import Erasure
from memorist.erasure.values import Receipt
from memorist.errors import InvalidField, NotFound
from memorist.facts.service import Facts
from memorist.ingestion.service import Ingestion, Message
from memorist.memories.values import Draft
from memorist.platform import access, validation
from memorist.platform.values import Owner, Principal
from memorist.ports import Reader, Store
from memorist.views import story

# No session or document of somebody's own is called so.
_PREFIX = "sample:"
_LEARNED = f"{_PREFIX}learned"
_DOCUMENT = f"{_PREFIX}house-rules"
_SESSIONS = (*(_PREFIX + scene.session for scene in story.SCENES), _LEARNED)
_BETWEEN_TURNS = timedelta(minutes=1)


class SampleData:
    def __init__(self, store: Store, ingestion: Ingestion, facts: Facts, erasure: Erasure) -> None:
        self._store = store
        self._ingestion = ingestion
        self._facts = facts
        self._erasure = erasure

    def count(self, principal: Principal) -> int:
        """How many memories of the sample data the caller has, in whatever state."""
        return len(self._ids(principal)) if principal.user is not None else 0

    def add(self, principal: Principal) -> int:
        """Store the sample data as the caller's own, where it is not there yet. Returns how many memories it has.

        Raises InvalidField where the caller is no user, Forbidden or StoreError.
        """
        _owner(principal)
        access.require(principal, access.Action.WRITE)
        if not self.count(principal):
            said = [self._add_scene(principal, scene) for scene in story.SCENES]
            self._ingestion.add_document(
                principal,
                title=story.DOCUMENT_TITLE,
                content=story.DOCUMENT,
                media_type="text/markdown",
                document_id=_DOCUMENT,
                shared=False,
            )
            drafts = [
                Draft(
                    text,
                    session=_LEARNED,
                    event_time=story.SCENES[scene].time,
                    category="sample",
                    source_ref=None if turn is None else said[scene][turn],
                )
                for scene, turn, text in ((0, None, story.FACT), *story.LEARNED)
            ]
            self._facts.remember_all(principal, drafts)
        return self.count(principal)

    def remove(self, principal: Principal) -> Receipt:
        """Erase the sample data of the caller for good. Raises NotFound, Forbidden, InvalidField or StoreError."""
        ids = self._ids(principal)
        if not ids:
            raise NotFound("There is no sample data of yours.")
        receipt = self._erasure.erase(principal, ids)
        if self._store.read(principal.tenant, lambda tx: tx.documents.get(_owner(principal), _DOCUMENT)) is not None:
            # Its chunks were deleted before, so that nothing took it along.
            self._ingestion.forget_document(principal, _DOCUMENT)
        return receipt

    def _add_scene(self, principal: Principal, scene: story.Scene) -> list[str]:
        """The ids of its messages."""
        session = _PREFIX + scene.session
        messages = [
            Message("user", text, speaker, scene.time + index * _BETWEEN_TURNS)
            for index, (speaker, text) in enumerate(scene.turns)
        ]
        stored = self._ingestion.add_messages(principal, session, messages, extract=False)
        if scene.session == story.TOOL_SESSION:
            self._ingestion.add_tool_output(
                principal,
                session,
                tool_call_id="sample",
                tool_name=story.TOOL_NAME,
                content=story.TOOL_OUTPUT,
                event_time=scene.time,
            )
        return [one.memory.id for one in stored]

    def _ids(self, principal: Principal) -> list[str]:
        return self._store.read(principal.tenant, partial(_find, _owner(principal)))


def _owner(principal: Principal) -> Owner:
    if principal.user is None:
        raise InvalidField("Sample data belongs to a user: choose whose memories you look at.", field="user")
    return access.default_owner(principal)


def _find(owner: Owner, tx: Reader) -> list[str]:
    most = validation.MAX_BATCH
    found = [one for session in _SESSIONS for one in tx.surroundings.list_session_ids(owner, session, most)]
    return (found + tx.surroundings.list_chunk_ids(owner, _DOCUMENT, most))[:most]
