"""From a transcript to who said what. Pure, and never fatal: what cannot be understood is skipped and counted.

Known are lines of JSON as coding assistants write them (Claude Code's, Codex's, and plain `{"role", "content"}`), a
JSON document with a list of such messages, and plain text in which a line begins with who speaks.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memorist.memories.values import Trust
from memorist.times import from_iso_with_offset

_USERS = {"user", "human", "you", "me", "customer", "client"}
_AGENTS = {
    "assistant", "ai", "bot", "agent", "claude", "chatgpt", "gpt", "codex", "copilot", "gemini", "model", "amy",
    "support",
}  # fmt: skip
_TOOLS = {"tool", "function", "tool_result", "tool result", "tool output", "output", "result", "observation"}

# `User:`, `**Ada Lopez:**`, `### Assistant`, `[10:02] Human:`
_SPEAKER = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,30}\][ \t]*)?"
    r"(?:\#{1,6}[ \t]+(?P<heading>[\w.'-](?:[\w .'-]{0,38}[\w.'-])?)[ \t]*(?::[ \t]*)?$"
    r"|(?:[*_]{2}(?P<bold>[\w .'-]{1,40}?)(?::[*_]{2}|[*_]{2}:)|(?P<plain>[\w][\w .'-]{0,39}?):)(?=\s|$)[ \t]*)",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Z][\w'-]*(?: [A-Z][\w'.-]*){0,2}")
# What begins a line and a sentence rather than a speech.
_NO_NAMES = {
    "Note", "Notes", "Error", "Warning", "Update", "Edit", "Example", "Also", "Question", "Answer", "Summary", "Todo",
    "Fix", "Decision", "Correction", "Context", "Goal", "Goals", "Steps", "Expected", "Actual", "Environment", "From",
    "Subject", "To", "Date", "Re", "Background", "Output", "Input", "Result", "Description", "Title", "Problem", "Ps",
    "Solution", "PS", "Btw", "FYI", "Option", "Step", "Part", "Important", "Reminder", "Logs", "Log", "Version",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message. `key` is the same whenever the same message is sent, in a session; `time` has the speaker's offset,
    where it is known: "yesterday" is a day there.
    """

    role: str
    content: str
    name: str | None = None
    time: datetime | None = None
    key: str = ""

    @property
    def is_person(self) -> bool:
        """Whether it is the user's, or that of somebody who is known by name."""
        return self.role == "user" or (self.role == "other" and bool(self.name))

    @property
    def who(self) -> str:
        """The name, however it is spelled this time: "ada" is Ada. Empty where none is known."""
        return (self.name or "").strip().casefold()

    @property
    def trust(self) -> Trust:
        if self.is_person:
            return Trust.USER
        return Trust.TOOL if self.role == "tool" else Trust.AGENT


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said, in which session and where; `skipped` counts what could not be understood."""

    messages: tuple[Utterance, ...]
    session: str | None = None
    project: str | None = None
    skipped: int = 0


def parse_transcript(text: str) -> Transcript:
    """What a transcript holds, whatever its format."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\x00", "")
    stripped = text.lstrip()
    if stripped.startswith(("{", "[")):
        whole = _whole_document(stripped)
        parsed = whole if whole is not None else _parse_lines(text)
        if parsed.messages or stripped.startswith("{"):
            return parsed
    return Transcript(keyed(_spoken(text)))


def role_of(name: str) -> str:
    """The role that a speaker has: user, assistant, tool, or other."""
    folded = name.strip().lower()
    if folded in _USERS:
        return "user"
    if folded in _TOOLS:
        return "tool"
    return "assistant" if folded in _AGENTS else "other"


# JSON


def _whole_document(text: str) -> Transcript | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        session = value.get("session_id") or value.get("sessionId") or value.get("session")
        return replace(_parse_values(value["messages"]), session=session if isinstance(session, str) else None)
    return _parse_values(value if isinstance(value, list) else [value])


def _parse_lines(text: str) -> Transcript:
    values: list[Any] = []
    for line in text.split("\n"):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                values.append(None)
    return _parse_values(values)


def _parse_values(values: list[Any]) -> Transcript:
    found: list[Utterance] = []
    tools: dict[str, str] = {}
    session = project = None
    skipped = 0
    for value in values:
        if not isinstance(value, dict):
            skipped += 1
            continue
        session = session or _first_text(value, "sessionId", "session_id")
        project = project or _first_text(value, "cwd")
        payload = value.get("payload")
        if isinstance(payload, dict):
            if value.get("type") == "session_meta":
                session = session or _first_text(payload, "id")
                project = project or _first_text(payload, "cwd")
            # Codex writes what is said twice, once as an event for its own screen.
            value = {**payload, "timestamp": value.get("timestamp")} if value.get("type") == "response_item" else {}
        try:
            said = list(_utterances(value, tools))
        except (KeyError, TypeError, ValueError, AttributeError):
            said = None
        if said is None:
            skipped += 1
        else:
            found += said
    return Transcript(keyed(found), session, project, skipped)


def _utterances(value: Mapping[str, Any], tools: dict[str, str]) -> Iterator[Utterance]:
    """What one line says; nothing where it is not for the conversation. Raises where it has no known shape."""
    kind = value.get("type")
    if not value or kind in _OTHER_LINES or value.get("isMeta") or value.get("isSidechain"):
        return
    if kind in ("function_call_output", "custom_tool_call_output"):
        yield Utterance("tool", _joined(value["output"]), tools.get(str(value.get("call_id"))), _time(value))
        return
    if kind in ("function_call", "custom_tool_call"):
        tools[str(value.get("call_id"))] = str(value.get("name"))
        return
    message = value["message"] if isinstance(value.get("message"), dict) else value
    role = message.get("role") or kind
    if not isinstance(role, str):
        raise TypeError
    role = role_of(role)
    if value.get("isCompactSummary"):
        role = "other"
    name = message.get("name")
    name = name if isinstance(name, str) else None
    content = message["content"] if "content" in message else message["text"]
    key = value.get("uuid")
    base = Utterance(role, "", name, _time(value) or _time(message), key if isinstance(key, str) else "")
    if isinstance(content, str):
        yield replace(base, content=content)
        return
    texts: list[str] = []
    for index, block in enumerate(content or []):
        block_kind = block if isinstance(block, str) else block["type"]
        if isinstance(block, str):
            texts.append(block)
        elif block_kind in ("text", "input_text", "output_text"):
            texts.append(block["text"])
        elif block_kind == "tool_use":
            tools[str(block.get("id"))] = str(block.get("name"))
        elif block_kind == "tool_result":
            tool = tools.get(str(block.get("tool_use_id")))
            key = f"{base.key}/{index}" if base.key else ""
            yield replace(base, role="tool", name=tool, content=_joined(block.get("content") or ""), key=key)
    if any(text.strip() for text in texts):
        yield replace(base, content="\n".join(texts))


_OTHER_LINES = {
    "summary", "system", "file-history-snapshot", "queue-operation", "progress", "attachment", "reasoning",
    "session_meta", "turn_context", "event_msg", "ghost_snapshot", "last-prompt", "permission-mode", "ai-title",
}  # fmt: skip


def _joined(content: Any) -> str:
    """The text of a tool's result, whichever way it is wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _joined(content.get("output") or content.get("content") or json.dumps(content))
    return "\n".join(block if isinstance(block, str) else str(block.get("text") or "") for block in content)


def _time(value: Mapping[str, Any]) -> datetime | None:
    for field in ("timestamp", "event_time", "created_at", "time"):
        text = value.get(field)
        if isinstance(text, str):
            try:
                return from_iso_with_offset(text)
            except (ValueError, OverflowError):
                continue
    return None


def _first_text(value: Mapping[str, Any], *fields: str) -> str | None:
    return next((value[field] for field in fields if isinstance(value.get(field), str) and value[field]), None)


# Plain text


def _spoken(text: str) -> list[Utterance]:
    """The speeches of a plain text. A name that nobody knows is the user's only where an assistant talks to it."""
    marks = [mark for mark in _SPEAKER.finditer(text) if _is_speaker(mark)]
    if not marks:
        return [Utterance("user", text.strip())] if text.strip() else []
    speeches: list[Utterance] = []
    before = text[: marks[0].start()].strip()
    if before:
        speeches.append(Utterance("other", before))
    for index, mark in enumerate(marks):
        end = marks[index + 1].start() if index + 1 < len(marks) else len(text)
        name = _name_of(mark)
        role = role_of(name)
        content = text[mark.end() : end].strip()
        if content:
            speeches.append(Utterance(role, content, None if role != "other" else name))
    names = {speech.name for speech in speeches if speech.role == "other" and speech.name}
    roles = {speech.role for speech in speeches}
    if len(names) == 1 and "assistant" in roles and "user" not in roles:
        speeches = [replace(speech, role="user") if speech.name else speech for speech in speeches]
    return speeches


def _is_speaker(mark: re.Match[str]) -> bool:
    name = _name_of(mark)
    if role_of(name) != "other":
        return True
    return mark["heading"] is None and _NAME.fullmatch(name) is not None and name not in _NO_NAMES


def _name_of(mark: re.Match[str]) -> str:
    return str(mark["heading"] or mark["bold"] or mark["plain"]).strip()


def digest_of(role: str, name: str | None, content: str) -> str:
    """What is the same of messages in which the same speaker says the same."""
    return hashlib.sha256(f"{role}\0{name or ''}\0{content}".encode("utf-8", "replace")).hexdigest()[:32]


def keyed(found: list[Utterance]) -> tuple[Utterance, ...]:
    """Every message with a key: its own, or what it says and how often that was said before."""
    seen: Counter[str] = Counter()
    keyed = []
    for one in found:
        # A lone surrogate, which JSON can spell, is no text that can be stored.
        one = replace(one, content=one.content.replace("\0", "").encode("utf-8", "replace").decode())
        if not one.content.strip():
            continue
        if not one.key:
            digest = digest_of(one.role, one.name, one.content)
            one = replace(one, key=f"{digest}-{seen[digest]}")
            seen[digest] += 1
        keyed.append(one)
    return tuple(keyed)
