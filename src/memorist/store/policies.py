"""Retention policies as rows."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

from memorist.memories.policy import Derived, Mode, Policy, PolicyRevision, Windows
from memorist.memories.values import Kind
from memorist.store.tenant_statements import TenantStatements
from memorist.times import from_micros, optional_micros


class PolicyStatements(TenantStatements):
    """One tenant's retention rules, inside a transaction."""

    __slots__ = ()

    def get(self) -> PolicyRevision | None:
        rows = self._rows("get_policy")
        return _revision(rows[0]) if rows else None

    def history(self, limit: int) -> list[PolicyRevision]:
        return [_revision(row) for row in self._rows("list_policies", limit=limit)]

    def observed_from(self) -> datetime | None:
        rows = self._rows("get_observed_from")
        return from_micros(rows[0][0]) if rows else None

    def insert(self, revision: PolicyRevision) -> bool:
        inserted = self._run(
            "insert_policy",
            revision=revision.revision,
            rules=json.dumps(asdict(revision.policy)),
            source=revision.source,
            actor=revision.actor,
            created_at=optional_micros(revision.created_at),
        )
        return inserted == 1


def _revision(row: tuple[Any, ...]) -> PolicyRevision:
    revision, rules, source, actor, created_at = row
    return PolicyRevision(revision, _policy(rules), source, from_micros(created_at), actor)


# Asked for with every write of a memory that a policy ages.
@lru_cache(maxsize=1024)
def _policy(rules: str) -> Policy:
    said: Mapping[str, Any] = json.loads(rules)
    return Policy(
        mode=Mode(said["mode"]),
        windows=Windows(**said["windows"]),
        kinds={Kind(kind): windows for kind, windows in said["kinds"].items()},
        anonymize_after_days=said["anonymize_after_days"],
        derived_facts=Derived(said["derived_facts"]),
        users_share_documents=said.get("users_share_documents", True),
    )
