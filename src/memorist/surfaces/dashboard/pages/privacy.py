"""Privacy: say how long things stay, see what redaction took out."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from memorist.errors import InvalidField, InvalidJson
from memorist.memories.kinds import KINDS
from memorist.memories.policies import policy_to_record
from memorist.memories.policy import Mode, Policy, PolicyRevision, Reach
from memorist.memories.values import Kind
from memorist.platform import access
from memorist.surfaces.dashboard.pages import erasing, privacy_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import number, say
from memorist.times import from_iso

_REDACTIONS = 10
_WINDOWS = ("active_days", "archive_days", "grace_days")
_PRIVACY = f"{HOME}/privacy"
# No policy has this revision.
_NONE_PREVIEWED = -1

pages = Pages()
erasing.add_to(pages)


@pages.get("/privacy")
def show(visit: Visit) -> Response:
    return _page(visit)


def _page(visit: Visit, **more: Any) -> Response:
    context = {**_policy(visit), **_redactions(visit), **erasing.receipts(visit), **erasing.NOTHING_ASKED, **more}
    return visit.page("privacy.html", section="privacy", words=privacy_words, **context)


# How long things stay


@pages.post("/privacy/policy")
def preview_policy(visit: Visit) -> Response:
    """What a change would do. What is shown is what `apply_policy` is then given."""
    current = visit.core.policies.get(visit.principal)
    changes = {"mode": visit.text("mode")} if visit.text("only") == "mode" else _changes(visit, current.policy)
    effect = visit.core.policies.change(visit.principal, changes, dry_run=True)
    told: dict[str, Any] = {
        "effect": effect,
        "acts": replace(current, policy=effect.after).reach(visit.core.clock.now()) is Reach.ALL,
        "changes": json.dumps(changes),
        "differences": privacy_words.differences(effect.before, effect.after),
    }
    if visit.is_partial:
        return visit.part("parts/policy_effect.html", words=privacy_words, **told)
    return _page(visit, **told)


@pages.post("/privacy/policy/apply")
def apply_policy(visit: Visit) -> Response:
    try:
        changes = json.loads(visit.text("changes"))
    except ValueError:
        raise InvalidJson(say("These changes cannot be read. Preview them again.")) from None
    if not isinstance(changes, dict):
        raise InvalidField(say("These changes cannot be read. Preview them again."), field="changes")
    previewed = visit.number("revision", _NONE_PREVIEWED, least=0, most=2**31)
    change = visit.core.policies.change(erasing.holder(visit), changes, expected_revision=previewed)
    said = say("The policy is in force, as revision {revision}.", revision=change.revision)
    if change.pending:
        said += " " + say("The rest of the memories get their new dates in the next minutes.")
    return visit.redirect(_PRIVACY, toast=Toast(said))


@pages.post("/privacy/sweep")
def sweep(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.ADMINISTER)
    swept = visit.core.sweeper.sweep(visit.principal.tenant)
    done, left = privacy_words.total(swept.done), privacy_words.total(swept.due)
    said = say("Swept: Nothing was due.")
    if left:
        said = say(
            "Swept: {done} moved on, {left} left as they are: retention is in preview.",
            done=number(done),
            left=number(left),
        )
    elif done:
        said = say("Swept: {done} moved on.", done=number(done))
    return visit.redirect(f"{_PRIVACY}#report", toast=Toast(said))


def _changes(visit: Visit, current: Policy) -> dict[str, Any]:
    """What the form says, as far as it differs from what is in force. Raises InvalidField."""
    given: dict[str, Any] = {name: _number(visit, name) for name in (*_WINDOWS, "anonymize_after_days")}
    given |= {"archive": visit.text("archive") == "yes", "derived_facts": visit.text("derived_facts")}
    given["users_share_documents"] = visit.text("users_share_documents") == "yes"
    before = policy_to_record(current)
    changes = {name: value for name, value in given.items() if value is not None and before[name] != value}
    kinds = {
        kind.value: windows or None
        for kind in Kind
        if (windows := _windows(visit, kind)) != dict(current.kinds.get(kind, {}))
    }
    return changes | ({"kinds": kinds} if kinds else {})


def _windows(visit: Visit, kind: Kind) -> dict[str, Any]:
    """What differs for a kind: the fields that are filled in."""
    days = {name: _number(visit, f"{kind}.{name}") for name in _WINDOWS}
    windows: dict[str, Any] = {name: value for name, value in days.items() if value is not None}
    archive = visit.text(f"{kind}.archive")
    return windows | ({"archive": archive == "yes"} if archive else {})


def _number(visit: Visit, name: str) -> float | None:
    given = visit.text(name)
    if not given:
        return None
    try:
        value = float(given)
    except ValueError:
        raise InvalidField.of(name, say("must be a number of days.")) from None
    return int(value) if value.is_integer() else value


@pages.get("/privacy/due")
def due(visit: Visit) -> Response:
    """What the next sweep would do, by the last report or counted now."""
    report = visit.core.sweeper.recent_report(visit.principal)
    return visit.part("parts/due.html", **_report(visit, visit.core.policies.get(visit.principal), report))


# What the template is given


def _policy(visit: Visit) -> dict[str, Any]:
    if not visit.is_admin:
        return {"revision": None}
    revision = visit.core.policies.get(visit.principal)
    report = visit.core.sweeper.last_report(visit.principal)
    return {
        "revision": revision,
        "history": visit.core.policies.history(visit.principal)[:5],
        "sentences": privacy_words.policy_sentences(revision.policy),
        "kinds": {kind: (say(rules.many), dict(revision.policy.kinds.get(kind, {}))) for kind, rules in KINDS.items()},
        "effect": None,
        **_report(visit, revision, report),
    }


def _report(visit: Visit, revision: PolicyRevision, report: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is due. Before the first sweep that is counted when the page is there: it may take a moment."""
    found = report or {"due": {}, "samples": {}, "done": {}}
    return {
        "is_observing": revision.reach(visit.core.clock.now()).mode is Mode.OBSERVE,
        "reported_at": None if report is None else from_iso(report["as_of"]),
        "due": privacy_words.counts_of(found["due"], found["samples"]),
        "done": privacy_words.counts_of(found["done"]),
    }


def _redactions(visit: Visit) -> dict[str, Any]:
    cursor = visit.query.get("redactions") or None
    page = visit.core.redaction_log.list(visit.principal, limit=_REDACTIONS, cursor=cursor)
    return {"redactions": page, "redactions_cursor": cursor}
