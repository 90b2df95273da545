"""Pages for people, rendered here without scripts or outside assets: the API reference and the errors."""

import re
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memorist.errors import all_errors
from memorist.surfaces.http.problems import ERRORS_PAGE, status_of

router = APIRouter(include_in_schema=False)

_CODE = re.compile(r"`([^`]+)`")
_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 3rem auto; padding: 0 1.25rem; }
h1, h2 { line-height: 1.25; text-wrap: balance; } h2 { margin-top: 2.5rem; }
code, pre { font: .9em ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem 1rem; border: 1px solid var(--line); }
section { border-top: 1px solid var(--line); padding: .75rem 0; }
.method { display: inline-block; min-width: 4rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .75rem .3rem 0; vertical-align: top; }
td { border-top: 1px solid var(--line); }
"""


@router.get("/")
def start_page() -> Response:
    return RedirectResponse("/dashboard", 303)


@router.get("/docs")
def api_page(request: Request) -> Response:
    schema = request.app.openapi()
    operations = [
        _operation(path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    head = '<h1>API reference</h1><p>Generated from <a href="/openapi.json">/openapi.json</a>.</p>'
    return _page("API reference · Memorist", head + "".join(operations))


@router.get(ERRORS_PAGE)
def errors_page() -> Response:
    rows = "".join(
        f'<tr id="{kind.code}"><td><code>{kind.code}</code></td><td>{status_of(kind())}</td>'
        f"<td>{_prose(kind().message)}</td></tr>"
        for kind in all_errors()
    )
    table = f"<table><tr><th>code</th><th>status</th><th>what it means, what to do</th></tr>{rows}</table>"
    return _page("Errors · Memorist", f"<h1>Errors</h1>{table}")


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{_prose(parameter.get('description', ''))}</td></tr>"
        for parameter in operation.get("parameters", [])
    )
    return (
        f'<section><h3><span class="method">{method.upper()}</span> <code>{escape(path)}</code></h3>'
        f"<p><strong>{escape(operation.get('summary', ''))}.</strong> {_prose(operation.get('description', ''))}</p>"
        f"{f'<table>{parameters}</table>' if parameters else ''}</section>"
    )


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _page(title: str, body: str) -> Response:
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>{body}</body></html>"
    )
    return HTMLResponse(html, headers={"Content-Security-Policy": _SECURITY_POLICY})
