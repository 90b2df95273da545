"""Entries of the audit log as JSON has them."""

from typing import Any

from memorist.audit.values import AuditEntry
from memorist.times import to_iso


def entry_record(entry: AuditEntry) -> dict[str, Any]:
    """In one layer. `key_id`, `role`, `user` and `agent` are None where there was none."""
    record = {"number": entry.number, **entry.act._asdict(), "hash": entry.hash}
    record["at"] = to_iso(entry.act.at)
    record["ids"] = entry.act.ids.split()
    return record | {name: record[name] or None for name in ("key_id", "role", "user", "agent")}
