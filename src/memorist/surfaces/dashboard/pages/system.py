"""System: versions, models, the index, what is queued, the sweeper, and every setting. For admins."""

from dataclasses import dataclass, fields, replace
from typing import Any

from starlette.responses import Response

from memorist.platform import access
from memorist.platform.values import JobStatus
from memorist.settings import Settings
from memorist.settings_sources import shown_settings
from memorist.surfaces.dashboard.pages.home import up_to
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import Site, Visit
from memorist.surfaces.dashboard.wording import say, to_say
from memorist.views.overview import MOST, Waiting

pages = Pages()

_DEFAULT = "default"
_JOBS = (
    (JobStatus.WAITING, to_say("waiting"), to_say("due now, or to be tried again")),
    (JobStatus.DEAD, to_say("dead"), to_say("given up, until somebody retries or drops them")),
    (JobStatus.DONE, to_say("done"), to_say("kept for a week")),
)


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A setting as it may be shown, and where its value came from."""

    name: str
    value: str
    origin: str
    help: str


@pages.get("/system")
def show(visit: Visit) -> Response:
    access.require(visit.principal, access.Action.ADMINISTER)
    # The whole tenant's, whosever memories are looked at.
    admin = replace(visit.principal, user=None, agent=None)
    core = visit.core
    waiting = core.overview.waiting(admin)
    settings = _settings(visit.site)
    return visit.page(
        "system.html",
        section="system",
        versions=core.installation.versions(admin),
        database=core.installation.database(admin),
        models=core.installation.models(),
        index=_index(visit, waiting, core.overview.totals(admin).memories),
        jobs=[(say(label), say(hint), up_to(waiting.jobs[status]), status) for status, label, hint in _JOBS],
        waiting=waiting,
        sweep_interval=visit.settings.sweep_interval_s,
        settings=settings,
        changed=[one for one in settings if one.origin != _DEFAULT],
    )


def _index(visit: Visit, waiting: Waiting, total: int) -> dict[str, Any]:
    known = waiting.vectors <= MOST
    return {
        "on": visit.core.embedder is not None,
        "total": total,
        "waiting": up_to(waiting.vectors) if waiting.vectors else "",
        # How far it is cannot be told where more wait than were counted.
        "done": max(0, total - waiting.vectors) if known else None,
    }


def _settings(site: Site) -> list[ShownSetting]:
    shown = shown_settings(site.settings)
    return [
        ShownSetting(
            setting.name,
            str(shown[setting.name]),
            site.origins.get(setting.name) or _guess(site, setting),
            setting.metadata["help"],
        )
        for setting in fields(Settings)
    ]


def _guess(site: Site, setting: Any) -> str:
    """Where a value came from, for servers that were started by a program, which does not say so."""
    return _DEFAULT if getattr(site.settings, setting.name) == setting.default else say("the program that started it")
