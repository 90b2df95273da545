"""Plants markers, words that are nowhere else, in every place where a text of a person can be."""

import json
import random
import string
from dataclasses import replace
from datetime import timedelta

from memorist.core import Core
from memorist.facts.values import Doubt
from memorist.ids import new_id
from memorist.ingestion.service import Message
from memorist.memories import writing
from memorist.memories.values import Draft, Kind, Memory, PastRecall, Status
from memorist.platform.values import Event, IdempotencyRecord, Job, JobStatus, Owner, Principal, Role
from memorist.testing import make_memory
from memorist.testing.clocks import START
from memorist.testing.makers import make_embedded
from memorist.turns.values import Turn, TurnEvent, TurnStatus


class Planter:
    """Gives out markers, and remembers them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.markers: list[str] = []

    def word(self) -> str:
        # Written as a word, so that nothing takes it for a secret.
        self.markers.append("".join(self._rng.choices(string.ascii_lowercase, k=18)))
        return self.markers[-1]

    def words(self, count: int) -> str:
        return " ".join(self.word() for _ in range(count))

    def everywhere(self, core: Core, user: Principal, count: int) -> list[Memory]:
        """Plant until so many markers are out. Returns the rows that were written directly."""
        rows: list[Memory] = []
        while len(self.markers) < count:
            self._through_the_doors(core, user)
            rows += self._as_rows(core, user)
        return rows

    def _through_the_doors(self, core: Core, user: Principal) -> None:
        session = f"s-{self.word()}"
        coder = replace(user, agent=f"agent-{self.word()}")
        draft = Draft(
            self.words(5),
            category="project",
            name=f"n-{self.word()}",
            description=self.word(),
            excerpt=self.word(),
            meta={self.word(): [self.word(), {"deep": self.word()}]},
            source_ref=self.word(),
            project=self.word(),
            session=session,
        )
        memory = core.memories.remember(coder, [draft], idempotency_key=self.word())[0].memory
        core.memories.edit(coder, memory.id, {"content": self.words(2)}, idempotency_key=self.word())
        forgotten = core.memories.remember(user, [Draft(self.words(2), category=f"c-{self.word()}")])[0].memory
        core.memories.forget(user, forgotten.id, idempotency_key=self.word())
        core.ingestion.add_messages(
            user, session, [Message("user", self.words(3), name=self.word()), Message("assistant", self.words(2))],
            idempotency_key=self.word(), extract=False,
        )  # fmt: skip
        core.ingestion.add_tool_output(
            user, session, tool_call_id=self.word(), tool_name=self.word(), content=self.words(30) + " x" * 3000
        )
        core.ingestion.add_document(
            user, title=self.word(), content=self.words(20), document_id=self.word(), shared=False
        )

    def _as_rows(self, core: Core, user: Principal) -> list[Memory]:
        """What only background work, retention or other doors write."""
        owner = Owner(user.user, self.word())
        statuses = (Status.ARCHIVED, Status.SOFT_DELETED, Status.HARD_DELETE_PENDING)
        rows = [
            make_memory(user.tenant, owner=owner, content=self.words(3), kind=kind, status=status)
            for kind in Kind
            for status in statuses
        ]
        job = Job(
            new_id("job"), "extract", replace(user, session=self.word()), {self.word(): self.word()}, START, START,
            START, key=self.word(), status=JobStatus.DONE, error=self.word(), result={"said": self.word()},
        )  # fmt: skip
        doubt = Doubt(new_id("doubt"), owner, rows[0].id, rows[1].id, self.word(), "judge", START, START)
        answer = IdempotencyRecord(
            "p", f"POST /{self.word()}", self.word(), user.user, "h", json.dumps({"said": self.word()}), START,
            START + timedelta(days=9000),
        )  # fmt: skip

        turn = Turn(
            new_id("turn"),
            owner,
            self.word(),
            TurnStatus.RUNNING,
            START,
            request=json.dumps({"said": self.word()}),
            lease_until=START,
            attended_until=START,
        )

        def work(tx) -> None:
            tx.turns.insert(turn)
            tx.turns.append_event(turn.id, TurnEvent(1, "delta", {"text": self.word()}, START))
            for row in rows:
                assert writing.insert(tx, row)
                tx.events.append(
                    [
                        Event(row.id, "created", "test", START, user.user),
                        Event(row.id, "updated", "test", START, user.user, {"before": {"content": self.word()}}),
                    ]
                )
            tx.tool_outputs.insert(rows[0].id, self.words(3))
            tx.recalls.insert(
                PastRecall(row.id, START, new_id("rec"), user.user, self.word(), self.word(), self.words(3), 1, 0.5)
                for row in rows[:3]
            )
            tx.jobs.insert(job)
            assert tx.facts.insert_doubt(doubt)
            assert tx.idempotency.insert(answer)

        before = len(self.markers)
        core.store.write(user.tenant, work)
        # Packed, but of the words: markers stand for the bytes of both.
        made = [make_embedded(row, vectors=self.word().encode(), tokens=self.word().encode()) for row in rows[:4]]
        assert core.store.write(user.tenant, lambda tx: tx.index.save_vectors(made)) == len(made)
        assert len(self.markers) > before
        return rows


def plant_key(core: Core, planter: Planter, tenant: str, user: str) -> None:
    core.identity.create_key(Principal(tenant, Role.ADMIN), Role.USER, user=user, label=planter.word())
