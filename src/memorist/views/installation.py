"""What this installation is made of: its versions, its database and its models. Asking loads nothing."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memorist.errors import MemoristError
from memorist.platform import access
from memorist.platform.values import Principal
from memorist.ports import Store
from memorist.version import __version__


@dataclass(frozen=True, slots=True)
class Model:
    """A model and what it is for. `id` is None where it is off; `loaded` where it is loaded elsewhere."""

    part: str
    id: str | None = None
    is_local: bool = False
    loaded: bool | None = None
    failure: str | None = None


class Installation:
    def __init__(
        self, store: Store, models: Mapping[str, Callable[[], Any]], indexing_failure: Callable[[], str | None]
    ) -> None:
        """`models` are what makes each model, or None where it is off; `indexing_failure` is the embedder's last."""
        self._store = store
        self._models = models
        self._indexing_failure = indexing_failure

    def versions(self, principal: Principal) -> dict[str, str]:
        """Raises Forbidden."""
        access.require(principal, access.Action.ADMINISTER)
        return {"memorist": __version__, "python": platform.python_version(), "system": platform.platform(terse=True)}

    def database(self, principal: Principal) -> Mapping[str, str | int]:
        """The engine, its version, the place and the size. Raises Forbidden or StoreError."""
        access.require(principal, access.Action.ADMINISTER)
        return self._store.describe()

    def models(self) -> list[Model]:
        """Every part that a model plays, whether or not there is one."""
        return [self._state(part, make) for part, make in self._models.items()]

    def _state(self, part: str, make: Callable[[], Any]) -> Model:
        try:
            model = make()
        except MemoristError as error:
            return Model(part, failure=error.message)
        if model is None:
            return Model(part)
        return Model(
            part,
            # A judge has a name, since it need not be a model.
            getattr(model, "model_id", None) or model.name,
            bool(getattr(model, "is_local", False)),
            # Only what is on this machine can tell.
            getattr(model, "loaded", None),
            self._indexing_failure() if part == "embedder" else None,
        )
