"""`python -m memorist_bench.empty_server def|async`: a FastAPI application that does nothing, served as Memorist is."""

import socket
import sys

import uvicorn
from fastapi import FastAPI


def create_app(style: str) -> FastAPI:
    app = FastAPI()
    if style == "async":

        @app.get("/")
        async def empty_async() -> None:
            pass
    else:

        @app.get("/")
        def empty() -> None:
            pass

    return app


def serve(style: str) -> None:
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(create_app(style), log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    serve(sys.argv[1])
