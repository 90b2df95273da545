"""Makes these files: run with the code of release 0.1.0, `python make.py memorist.db` or `python make.py postgresql://…`.

Writes beside itself what that release exports of the database, and the secret of a key.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from memorist.model import Kind, Owner, Role, Trust

from memorist import Memorist


def main(database: str, name: str) -> None:
    with Memorist.open(database) as memorist:
        core = memorist._core
        ada = memorist.user("ada")
        first = ada.remember("Ada drinks green tea.", category="preference", importance=7, idempotency_key="tea").memory
        ada.edit(first.id, {"content": "Ada drinks black tea.", "meta": {"cups": 3, "où": "Zürich ✓"}})
        ada.remember("What is the plan?", kind=Kind.CHAT_MESSAGE, session="s-1", trust=Trust.USER)
        ada.remember('{"rows": 3}', kind=Kind.TOOL_OUTPUT, session="s-1", trust=Trust.TOOL, source_ref="sql")
        ada.remember("Chapter one.", kind=Kind.DOCUMENT_CHUNK, source_ref="book.md#1", trust=Trust.DOCUMENT)
        ada.remember(
            "Deploys are on Tuesdays.", category="project", name="deploys", description="When we deploy",
            project="/repo/kiln", excerpt="on Tuesdays", confidence=0.9, relevance=0.5,
            event_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        )  # fmt: skip
        gone = ada.remember("Ada lives in Turin.").memory
        ada.forget(gone.id)
        memorist.user("ada", agent="atelier").remember("The atelier opens at nine.")
        memorist.user("bob", tenant="other").remember("Bob is in another tenant.")
        admin = memorist.admin()
        admin.remember("All of us share this.", owner=Owner(None, None))
        _, secret = core.identity.create_key(admin.principal, Role.USER, user="ada", label="laptop")
        revoked, _ = core.identity.create_key(admin.principal, Role.SERVICE, label="old")
        core.identity.revoke_key(admin.principal, revoked.id)
        here = Path(__file__).parent
        lines = [*admin.export(), *memorist.admin(tenant="other").export()]
        (here / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        (here / f"{name}.json").write_text(json.dumps({"key": secret, "edited": first.id}) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], "postgres" if "://" in sys.argv[1] else "sqlite")
