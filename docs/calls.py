"""The reference of what is called from outside: the HTTP API, and the tools of agents. docs/generate.py places it."""

from typing import Any, cast

from memorist import tools
from memorist.surfaces.http.app import create_api
from memorist.surfaces.http.responses import WHOLE

_OPERATIONS = ("get", "post", "put", "patch", "delete")


def endpoints() -> str:
    document = openapi()
    return "\n\n".join(
        _endpoint(path, method, operations[method], document)
        for path, operations in document["paths"].items()
        for method in _OPERATIONS
        if method in operations
    )


def openapi() -> dict[str, Any]:
    return create_api(cast(Any, None)).openapi()


def _endpoint(path: str, method: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    summary = operation["summary"].rstrip("?.") + ("?" if operation["summary"].endswith("?") else ".")
    parts = [f"### `{method.upper()} {path}`", " ".join(filter(None, [summary, prose(operation.get("description"))]))]
    parameters = [_http_parameter(parameter) for parameter in operation.get("parameters", [])]
    parts.append("\n".join(parameters))
    body = operation.get("requestBody")
    if body:
        schema = body["content"]["application/json"]["schema"]
        if "$ref" in schema or "properties" in schema:
            parts.append(f"Body, JSON:\n\n{_fields(_resolved(schema, document), document)}")
        else:
            parts.append(f"Body, JSON: {schema['description']}")
    answers = operation["responses"].items()
    parts.append("\n".join(_answer(status, answer, document) for status, answer in answers if status.startswith("2")))
    if "security" not in operation:
        parts.append("Needs no key.")
    return "\n\n".join(filter(None, parts))


def _http_parameter(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    facts = [parameter["in"], _type_of(schema)]
    if "default" in schema:
        facts.append(f"default `{_json_literal(schema['default'])}`")
    name = schema.get("title", parameter["name"]) if parameter["in"] == "header" else parameter["name"]
    description = parameter.get("description", "")
    return f"- `{name}` ({', '.join(facts)}){': ' + description if description else ''}"


def _answer(status: str, answer: dict[str, Any], document: dict[str, Any]) -> str:
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    if not name and WHOLE in answer.get("content", ()):
        return f"Answers {status} with the whole value, where `Accept` asks for it."
    if not name:
        return f"Answers {status}{' without a body' if 'content' not in answer else ''}."
    keys = ", ".join(f"`{key}`" for key in document["components"]["schemas"][name]["properties"])
    return f"Answers {status} with {keys}."


def _fields(schema: dict[str, Any], document: dict[str, Any], indent: str = "") -> str:
    required = set(schema.get("required", ()))
    lines = []
    for name, field in schema["properties"].items():
        facts = [_type_of(field), "required" if name in required else ""]
        if field.get("default") not in (None, ""):
            facts.append(f"default `{_json_literal(field['default'])}`")
        description = field.get("description", "")
        facts_shown = ", ".join(filter(None, facts))
        lines.append(f"{indent}- `{name}` ({facts_shown}){': ' + description if description else ''}")
        if "$ref" in field.get("items", {}):
            lines.append(_fields(_resolved(field["items"], document), document, indent + "  "))
    return "\n".join(lines)


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    resolved: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return resolved


def _type_of(schema: dict[str, Any]) -> str:
    choices = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    return " or ".join(map(_plain_type_of, choices))


def _json_literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_TYPES = {
    "array": "list",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "object",
    "string": "text",
}


def _plain_type_of(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        return "object"
    if schema.get("format") == "date-time":
        return "time"
    if "items" in schema:
        item = schema["items"]
        if item.get("$ref", "").endswith("/JsonValue"):
            return "list"
        inner = (
            "objects" if "$ref" in item or item["type"] == "object" else _plain_type_of(item).removeprefix("one of ")
        )
        counts = f"{schema.get('minItems', 0):,} to {schema['maxItems']:,} " if "maxItems" in schema else ""
        return f"list of {counts}{inner}"
    return _TYPES[schema["type"]] + _bounds_of(schema)


def _bounds_of(schema: dict[str, Any]) -> str:
    # Whatever a computer holds is said by the type.
    if schema.get("exclusiveMaximum", schema.get("maximum", 0)) >= 2**31 - 2 and schema["type"] == "integer":
        return ""
    if "exclusiveMinimum" in schema:
        return f" above {schema['exclusiveMinimum']:,}, up to {schema['maximum']:,.0f}"
    if "maximum" in schema:
        return f" from {_figure(schema['minimum'])} to {_figure(schema['maximum'])}"
    return f" from {schema['minimum']:,}" if "minimum" in schema else ""


def _figure(number: float) -> str:
    return f"{int(number) if number == int(number) else number:,}"


def agent_tools() -> str:
    return "\n\n".join(_tool(tool) for tool in tools.tools())


def _tool(tool: tools.Tool[Any]) -> str:
    arguments = _fields(tool.input_schema(), {})
    return f"### `{tool.name}`\n\n> {tool.description}\n\n{arguments}"


def prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))
