"""How routes call their handlers."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response


class BadRequestRoute(APIRoute):
    """For an API whose document answers 400 wherever an input is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def call(request: Request) -> Response:
            request.state.refusal_status = 400
            return await handle(request)

        return call


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
