"""Erasing a person with counts first, a name to type and a receipt; and receipts, verified again."""

import json
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from memorist.erasure.ledger import receipt_to_record
from memorist.erasure.values import ErasureStatus
from memorist.errors import Forbidden, InvalidField
from memorist.platform.values import Principal, Role
from memorist.surfaces.dashboard import rendering
from memorist.surfaces.dashboard.pages import privacy_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say

_RECEIPTS = 10
_ACT_FOR_OTHERS = (Role.ADMIN, Role.SERVICE)

NOTHING_ASKED: dict[str, Any] = {"asked_user": None, "tables": None}


def add_to(pages: Pages) -> None:
    pages.get("/privacy/erase")(preview)
    pages.get("/privacy/erase/history")(preview_history)
    pages.post("/privacy/erase")(erase)
    pages.get("/privacy/receipts/{id}")(show)
    pages.get("/privacy/receipts/{id}/json")(download)
    pages.post("/privacy/receipts/{id}/verify")(verify)


def holder(visit: Visit) -> Principal:
    """Who is signed in, whosever memories they look at: the one who changes rules and erases."""
    return replace(visit.principal, user=visit.session.key.user, agent=visit.session.key.agent)


def preview(visit: Visit) -> Response:
    """What there is of a person, counted, and the form that erases it."""
    user = _whom(visit, visit.query.get("user", "").strip())
    rows = privacy_words.tables_of(visit.core.erasure.preview_rows(holder(visit), user))
    # The history follows; whoever has nothing else may still be named in that of others.
    history_later = bool(rows) and "whole" not in visit.query
    told: dict[str, Any] = {
        "asked_user": user,
        "tables": rows if history_later else rows + _history(visit, user),
        "history_later": history_later,
        "is_self": user == visit.session.key.user,
    }
    if visit.is_partial:
        return visit.part("parts/erase_preview.html", **told)
    return visit.page("erase.html", section="privacy", **told)


def preview_history(visit: Visit) -> Response:
    """The lines of history that would go: there are many, and to count them takes longest."""
    user = _whom(visit, visit.query.get("user", "").strip())
    return visit.part("parts/erase_tally.html", tables=_history(visit, user))


def erase(visit: Visit) -> Response:
    user = _whom(visit, visit.text("user"))
    if visit.text("confirm") != user:
        raise InvalidField(say("Type {user} to erase. Nothing was erased.", user=user), field="confirm")
    keys = visit.text("keys") == "yes"
    if keys and user == visit.session.key.user:
        raise Forbidden(say("These keys hold your own session. Erase them with `memorist purge --keys`."))
    receipt = visit.core.erasure.purge_user(holder(visit), user, keys=keys, later=True)
    is_done = receipt.status is ErasureStatus.DONE
    said = say("Erased. This is the receipt.")
    if not is_done:
        said = say("It is being erased. This is the receipt, once it says done.")
    return visit.redirect(f"{HOME}/privacy/receipts/{receipt.id}", toast=Toast(said))


def _history(visit: Visit, user: str) -> list[tuple[str, int]]:
    return privacy_words.tables_of({"memory_events": visit.core.erasure.preview_history(holder(visit), user)})


def show(visit: Visit) -> Response:
    receipt = visit.core.erasure.get(visit.principal, visit.path("id"))
    return visit.page(
        "receipt.html",
        section="privacy",
        receipt=receipt,
        title=privacy_words.receipt_title(receipt),
        tables=privacy_words.tables_of(receipt.counts),
        findings=None if receipt.verification is None else privacy_words.findings_of(receipt.verification),
        verification=receipt.verification,
        is_new=False,
    )


def download(visit: Visit) -> Response:
    """The receipt as a file that `memorist erase verify` takes, with the ids of what was erased."""
    receipt = visit.core.erasure.get(visit.principal, visit.path("id"))
    whole = {**receipt_to_record(receipt), "memory_ids": visit.core.erasure.ids_of(receipt)}
    response = Response(
        json.dumps(whole, ensure_ascii=False, indent=2) + "\n",
        media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{receipt.id}.json"'},
    )
    rendering.protect(response)
    return response


def verify(visit: Visit) -> Response:
    """Look again, now; what is found is shown, and the receipt stays as it is."""
    receipt = visit.core.erasure.get(visit.principal, visit.path("id"))
    name = visit.text("name") or None
    # Of any other text, the answer would tell whether somebody has it.
    if name is not None and not receipt.is_about(name):
        raise InvalidField(say("The receipt is not about that name."), field="name")
    found = visit.core.erasure.verifier.verify(receipt, user=name)
    told: dict[str, Any] = {
        "receipt": receipt,
        "verification": found,
        "findings": privacy_words.findings_of(found),
        "is_new": True,
    }
    if visit.is_partial:
        return visit.part("parts/verification.html", **told)
    title = privacy_words.receipt_title(receipt)
    tables = privacy_words.tables_of(receipt.counts)
    return visit.page("receipt.html", section="privacy", title=title, tables=tables, **told)


def receipts(visit: Visit) -> dict[str, Any]:
    before = visit.query.get("before") or None
    found = visit.core.erasure.receipts(visit.principal, limit=_RECEIPTS + 1, before=before)
    return {
        "receipts": found[:_RECEIPTS],
        "older_receipts": found[_RECEIPTS - 1].id if len(found) > _RECEIPTS else None,
        "receipts_before": before,
        "may_name_others": visit.principal.role in _ACT_FOR_OTHERS,
    }


def _whom(visit: Visit, named: str) -> str:
    """The person that is named or, for those who may name nobody else, themselves. Raises InvalidField."""
    user = named or visit.principal.user
    if user is None:
        raise InvalidField(say("Say whose memories to erase: name a user."), field="user")
    return user
