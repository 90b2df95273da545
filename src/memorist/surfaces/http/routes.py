"""How routes call their handlers."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, ClassVar

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from memorist.errors import InvalidField


class OwnPaths(BaseRoute):
    """Addresses that are words of their own and no ids of others: a method that none of their routes has is refused,
    where a route with a parameter would take the word for an id. It goes before all of them, and costs a look-up.
    """

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.known: dict[str, set[str]] = {}
        for route in routes:
            if isinstance(route, Route) and "{" not in route.path:
                self.known.setdefault(route.path, set()).update(route.methods or ())

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        known = self.known.get(scope["path"]) if scope["type"] == "http" else None
        return (Match.NONE if known is None or scope["method"] in known else Match.FULL), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        raise HTTPException(405)


class DialectRoute(APIRoute):
    """For an API that names fields, or refuses inputs, in its own way.

    A handler whose fields have other names sets `request.state.words` itself.
    """

    words: ClassVar[Mapping[str, str]] = {}
    """What the model calls a field, and what this API does."""
    refusal_status: ClassVar[int | None] = None
    """The status where an input is refused; None for the usual."""

    refuses_unknown: ClassVar[bool] = False
    """Whether a parameter of the query that there is not is refused, or has no meaning."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        known = _parameters(self) if self.refuses_unknown else None

        async def call(request: Request) -> Response:
            request.state.words = self.words
            request.state.refusal_status = self.refusal_status
            _refuse_unknown(request, known)
            return await handle(request)

        return call


class BadRequestRoute(DialectRoute):
    """For an API whose document answers 400 wherever an input is refused."""

    refusal_status = 400


class DirectRoute(APIRoute):
    """For a hot handler that takes the request and texts from the path, and awaits nothing else.

    It is documented like any other, but called without the framework's solving of dependencies, which costs more than
    reading a memory does.
    """

    refuses_unknown: ClassVar[bool] = False

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        known = _parameters(self) if self.refuses_unknown else None

        async def call(request: Request) -> Response:
            _refuse_unknown(request, known)
            response: Response = await self.endpoint(request, **request.path_params)
            return response

        return call


def _parameters(route: APIRoute) -> frozenset[str]:
    return frozenset(one.alias for one in route.dependant.query_params)


def _refuse_unknown(request: Request, known: frozenset[str] | None) -> None:
    """Raises InvalidField for a parameter that is not among those that are known."""
    if known is None or not request.scope["query_string"]:
        return
    for name in request.query_params:
        if name not in known:
            there_are = f"there are {', '.join(sorted(known))}" if known else "there is none"
            raise InvalidField(f"There is no parameter {name[:60]!r} here; {there_are}.", field=name[:60])
