"""One call in three languages, with the reader's own address. The key is never in it: it comes from the environment."""

import json
import shlex
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from memorist.surfaces.http.operations import Operation

_KEY = "MEMORIST_API_KEY"


class Example(NamedTuple):
    language: str
    text: str


def examples(operation: Operation, server: str) -> tuple[Example, ...]:
    url = server + _address(operation)
    return (
        Example("curl", _curl(operation, url)),
        Example("Python", _python(operation, url)),
        Example("TypeScript", _typescript(operation, url)),
    )


def _address(operation: Operation) -> str:
    path = operation.path
    for one in operation.own:
        if one.location == "path":
            path = path.replace(f"{{{one.name}}}", quote(one.sample, safe=""))
    query = urlencode({one.name: one.sample for one in operation.own if one.location == "query" and one.is_required})
    return f"{path}?{query}" if query else path


def _curl(operation: Operation, url: str) -> str:
    lines = [f"curl {shlex.quote(url)}"]
    if operation.method != ("GET" if operation.body is None else "POST"):
        lines[0] = f"curl -X {operation.method} {shlex.quote(url)}"
    if operation.needs_key:
        lines.append(f'-H "Authorization: Bearer ${_KEY}"')
    if operation.body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d {shlex.quote(json.dumps(operation.body))}"]
    return " \\\n  ".join(lines)


def _python(operation: Operation, url: str) -> str:
    given = [f'"{operation.method}"', json.dumps(url)]
    if operation.needs_key:
        given.append(f'headers={{"Authorization": f"Bearer {{os.environ[\'{_KEY}\']}}"}}')
    if operation.body is not None:
        given.append(f"json={_literal(operation.body)}")
    imports = "import os\n\nimport httpx2" if operation.needs_key else "import httpx2"
    arguments = ",\n".join(given).replace("\n", "\n    ")
    return f"{imports}\n\nanswer = httpx2.request(\n    {arguments},\n)\nprint(answer.status_code, answer.text)"


def _literal(value: Any) -> str:
    """A JSON value as Python writes it, over several lines."""
    if isinstance(value, dict | list) and value:
        named = isinstance(value, dict)
        parts = [f"{json.dumps(key)}: {_literal(value[key])}" for key in value] if named else map(_literal, value)
        inside = "".join(f"{part},\n" for part in parts).strip().replace("\n", "\n    ")
        return f"{'{' if named else '['}\n    {inside}\n{'}' if named else ']'}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _typescript(operation: Operation, url: str) -> str:
    headers = []
    if operation.needs_key:
        headers.append(f"Authorization: `Bearer ${{process.env.{_KEY}}}`")
    if operation.body is not None:
        headers.append('"Content-Type": "application/json"')
    options = [f'method: "{operation.method}"']
    if headers:
        options.append(f"headers: {{ {', '.join(headers)} }}")
    if operation.body is not None:
        options.append(f"body: JSON.stringify({json.dumps(operation.body, indent=2, ensure_ascii=False)})")
    inside = ",\n".join(options).replace("\n", "\n  ")
    return (
        f"const answer = await fetch({json.dumps(url)}, {{\n  {inside},\n}});\n"
        "console.log(answer.status, await answer.text());"
    )
