"""What the TypeScript client takes from the server: the shapes of its OpenAPI document, the errors and the verbs.

`make docs` writes the files; a test fails where one is not as it would be written.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from memorist.client import Client
from memorist.errors import MemoristError, all_errors
from memorist.surfaces.http.app import create_api
from memorist.verbs import Verbs

PACKAGE = Path(__file__).parents[1] / "clients/typescript"
_HEAD = "// Written by docs/typescript.py from the server's own description. Do not edit.\n\n"
# The native door and what stands beside it; other doors have clients of their own.
_PATHS = re.compile(r"/v1/(?!memories/\{|memories$)")
_INDENT = "  "


def files() -> dict[Path, str]:
    """Every generated file and what is to be in it."""
    document = create_api(cast(Any, None)).openapi()
    return {
        PACKAGE / "src/generated/schemas.ts": _HEAD + "\n".join(_schemas(document)),
        PACKAGE / "src/generated/errors.ts": _HEAD + "\n".join(_errors()),
        PACKAGE / "test/generated/verbs.ts": _HEAD + "\n".join(_verbs()),
    }


# Shapes


def _schemas(document: Mapping[str, Any]) -> Iterator[str]:
    operations = {
        name: operation
        for path, methods in document["paths"].items()
        if _PATHS.match(path)
        for operation in methods.values()
        for name in [operation["operationId"].split("_v1_")[0]]
    }
    known: dict[str, Any] = document["components"]["schemas"]
    for name in sorted(
        _reached(list(operations.values()), known) - {"JsonValue"}, key=lambda name: _short(name, known)
    ):
        yield from _interface(_short(name, known), known[name], known)
    for name, operation in sorted(operations.items()):
        query = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
        if query:
            shape = {
                "properties": {one["name"]: _left_out(one) for one in query},
                "required": [one["name"] for one in query if one.get("required")],
            }
            yield from _interface(f"{''.join(word.title() for word in name.split('_'))}Query", shape, known)


def _left_out(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter that may be left out may be null in a call: it is not sent then."""
    described = {"description": parameter.get("description")}
    schema = parameter["schema"]
    if parameter.get("required") or "default" in schema:
        return {**described, **schema}
    return {**described, "anyOf": [schema, {"type": "null"}]}


def _reached(start: Any, known: Mapping[str, Any]) -> set[str]:
    """The names of all schemas that something speaks of."""
    found: set[str] = set()
    waiting = [json.dumps(start)]
    while waiting:
        for name in re.findall(r'"#/components/schemas/(\w+)"', waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(json.dumps(known[name]))
    return found


def _short(name: str, known: Mapping[str, Any]) -> str:
    """What a value of the model is called there: without what says how it came."""
    short = re.sub(r"(Record|Body)$", "", name)
    return short if short not in known else name


def _interface(name: str, schema: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    yield from _comment(schema.get("description"), "")
    yield f"export interface {name} {{"
    required = schema.get("required", ())
    for field, shape in schema.get("properties", {}).items():
        yield from _comment(shape.get("description"), _INDENT)
        yield f"{_INDENT}{field}{'' if field in required else '?'}: {_type(shape, known)};"
    yield "}\n"


def _comment(text: str | None, indent: str) -> Iterator[str]:
    if text:
        yield f"{indent}/** {' '.join(text.split())} */"


def _type(shape: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if shape.get("$ref", "").endswith("/JsonValue"):
        return "unknown"
    if "$ref" in shape:
        return _short(shape["$ref"].rpartition("/")[2], known)
    for several in ("anyOf", "oneOf"):
        if several in shape:
            return " | ".join(dict.fromkeys(_type(one, known) for one in shape[several]))
    if "enum" in shape or "const" in shape:
        return " | ".join(json.dumps(word) for word in shape.get("enum", [shape.get("const")]))
    if shape.get("format") == "date-time":
        return "string | Date"
    kind = shape.get("type")
    if kind == "array":
        inner = _type(shape.get("items", {}), known)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        values = shape.get("additionalProperties")
        return f"Record<string, {_type(values, known) if isinstance(values, Mapping) and values else 'unknown'}>"
    plain = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
    return plain.get(cast(str, kind), "unknown")


# Errors


def _errors() -> Iterator[str]:
    yield 'import { MemoristError } from "../error.js";\n'
    kinds = [kind for kind in all_errors() if kind is not MemoristError]
    for kind in kinds:
        parent = kind.__bases__[0].__name__
        yield from _comment(kind().message, "")
        yield f"export class {kind.__name__} extends {parent} {{"
        yield f"{_INDENT}static override readonly code: string = {json.dumps(kind.code)};"
        yield f"{_INDENT}static override readonly meaning: string = {json.dumps(kind().message, ensure_ascii=False)};"
        yield "}\n"
    yield "/** Every error by its code. */"
    yield "export const ERRORS: Readonly<Record<string, typeof MemoristError>> = {"
    yield f"{_INDENT}{MemoristError.code}: MemoristError,"
    yield from (f"{_INDENT}{kind.code}: {kind.__name__}," for kind in kinds)
    yield "};\n"


# Verbs


def _verbs() -> Iterator[str]:
    yield 'import type { Client } from "memorist";\n'
    yield "// What a call takes last: in Python these are the arguments that are named."
    yield "type Last<T> = T extends [...unknown[], infer L] ? L : never;"
    yield "type Options<V extends keyof Client> = Client[V] extends (...given: infer G) => unknown"
    yield "  ? keyof Last<Required<G>>"
    yield "  : never;\n"
    yield "/** The verbs of the Python client, and what each of them can be told by name. */"
    yield "export const VERBS = {"
    for name in verb_names():
        member = getattr(Client, name)
        parameters = [] if isinstance(member, property) else inspect.signature(member).parameters.values()
        named = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
        yield f"{_INDENT}{camel(name)}: {json.dumps(named)} satisfies Options<{json.dumps(camel(name))}>[],"
    yield "};\n"


def verb_names() -> list[str]:
    """The verbs as Python has them, and what else a client can do."""
    return sorted(name for name in {*dir(Verbs), *dir(Client)} if not name.startswith("_"))


def camel(name: str) -> str:
    """A verb's name as JavaScript writes it."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name.rstrip("_"))


# The reference

_METHOD = re.compile(
    r"^  /\*\* (?P<doc>(?:(?!\*/).)*) \*/\n  (?:async )?\*?(?P<name>\w+)\("
    r"(?P<given>(?:(?!\n  /\*\*).)*?)\): (?P<answer>[^\n]+) \{$",
    re.DOTALL | re.MULTILINE,
)


def methods() -> str:
    """Every method of the client: its signature and what it does, as the source has them."""
    return "\n\n".join(
        f"### `{found['name']}`\n\n```text\n{_one_line(found['name'], found['given'], found['answer'])}\n```\n\n"
        f"{' '.join(found['doc'].replace(' * ', ' ').split())}"
        for found in _METHOD.finditer((PACKAGE / "src/verbs.ts").read_text())
    )


def _one_line(name: str, given: str, answer: str) -> str:
    arguments = re.sub(r"\bvalues\.", "", " ".join(given.split()).rstrip(", "))
    return f"{name}({arguments}): {answer.replace('values.', '')}"
