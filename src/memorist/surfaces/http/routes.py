"""How routes call their handlers."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class DialectRoute(APIRoute):
    """For an API that names fields, or refuses inputs, in its own way.

    A handler whose fields have other names sets `request.state.words` itself.
    """

    words: ClassVar[Mapping[str, str]] = {}
    """What the model calls a field, and what this API does."""
    refusal_status: ClassVar[int | None] = None
    """The status where an input is refused; None for the usual."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def call(request: Request) -> Response:
            request.state.words = self.words
            request.state.refusal_status = self.refusal_status
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

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def call(request: Request) -> Response:
            response: Response = await self.endpoint(request, **request.path_params)
            return response

        return call
