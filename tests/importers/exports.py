"""Small exports of other programs, as those write them."""

import json
import zipfile
from pathlib import Path
from typing import Any


def mem0(path: Path, shape: str = "results") -> Path:
    rows: list[dict[str, Any]] = [
        {
            "id": "m-1", "memory": "Ada prefers green tea.", "user_id": "ada", "hash": "h1",
            "categories": ["user_preferences", "food"], "metadata": {"topic": "tea"},
            "created_at": "2026-02-01T10:00:00-08:00", "updated_at": None,
        },
        {"id": "m-2", "memory": "Ada wants to run a marathon.", "metadata": {"type": "goal"}},
        {"id": "m-3", "memory": "Ada works at Acme.", "categories": ["professional_details"]},
        {"id": "m-4", "memory": "Sleep helps her insight.", "categories": ["insight"]},
        {"id": "m-5", "memory": "  "},
    ]  # fmt: skip
    texts = {
        "results": json.dumps({"results": rows, "relations": []}),
        "list": json.dumps(rows, indent=2),
        "lines": "\n".join(map(json.dumps, rows)) + "\n",
    }
    path.write_text(texts[shape], "utf-8")
    return path


def graph(path: Path) -> Path:
    lines: list[Any] = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Speaks Spanish", "Likes tea", 7]},
        {"type": "entity", "name": "Green tea", "entityType": "preference", "observations": ["Is what Ada drinks"]},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
        {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
        {"type": "relation", "from": "Ada", "relationType": "knows"},
        {"type": "note"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n", "utf-8")
    return path


def lines(path: Path) -> Path:
    rows: list[Any] = [
        {"id": 7, "content": "Ada likes tea. ", "category": "Preferences", "created_at": "2026-05-01T10:00:00Z"},
        {"text": "Deploy on Fridays.", "type": "feedback", "tags": ["ops"]},
        {"fact": "Acme is in Graz.", "date": "some day"},
        {"content": " "},
        {"role": "user", "content": "Hello"},
        "words",
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    return path


def claude_folder(path: Path) -> Path:
    path.mkdir()
    (path / "MEMORY.md").write_text(
        "# Memory\n\n- [No mocks](feedback_no_mocks.md) - real databases only\n- [Ada](user.md)\n", "utf-8"
    )
    (path / "feedback_no_mocks.md").write_text(
        '---\nname: No mocks\ndescription: "Real databases only"\nmetadata:\n  type: feedback\n---\n\nNever mock.\n',
        "utf-8",
    )
    (path / "user.md").write_text("---\nname: who-is-ada\ntype: user\n---\r\nAda is an engineer.\r\n", "utf-8")
    (path / "loose.md").write_text("# Deploys\n\nOn Fridays only.\n", "utf-8")
    (path / "odd.md").write_text("---\nname: odd\ntype: insight\n---\nOdd.\n", "utf-8")
    (path / "empty.md").write_text("---\nname: empty\n---\n", "utf-8")
    (path / ".hidden.md").write_text("Hidden.\n", "utf-8")
    return path


def _node(key: str, parent: str | None, role: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    message = {
        "id": f"msg-{key}", "author": {"role": role}, "create_time": 1_760_000_000.5 + len(key),
        "content": {"content_type": "text", "parts": list(parts)}, "recipient": "all", **fields,
    }  # fmt: skip
    return {"id": key, "message": message, "parent": parent, "children": []}


def conversation(identity: str = "c-1") -> dict[str, Any]:
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        _node("s", "root", "system", ""),
        _node("u1", "s", "user", "I live in Turin."),
        _node("a-left", "u1", "assistant", "An answer that was left."),
        _node("a1", "u1", "assistant", "Noted.", {"content_type": "image_asset_pointer"}),
        _node("b1", "a1", "assistant", "Lives in Turin.", recipient="bio"),
        _node("t1", "b1", "tool", "Model set context updated."),
        _node("u2", "t1", "user", {"content_type": "image_asset_pointer", "asset_pointer": "file-1"}),
        _node("u3", "u2", "user", {"content_type": "audio_transcription", "text": "And where is Ada?"}),
    ]
    return {
        "id": identity, "conversation_id": identity, "title": "Home", "current_node": "u3",
        "mapping": {node["id"]: node for node in nodes},
    }  # fmt: skip


def chatgpt(path: Path, shape: str = "folder") -> Path:
    text = json.dumps([conversation(), conversation("c-2"), {"title": "broken"}])
    memories = json.dumps({"memories": [{"content": "Ada has a cat.", "created_at": "2026-01-02"}, {"id": 1}]})
    if shape == "file":
        path.write_text(text, "utf-8")
    elif shape == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("export/conversations.json", text)
            archive.writestr("export/memories.json", memories)
            archive.writestr("export/chat.html", "<html>")
    else:
        path.mkdir()
        (path / "conversations.json").write_text(text, "utf-8")
        (path / "memories.json").write_text(memories, "utf-8")
    return path


def claude_chats(path: Path, shape: str = "folder") -> Path:
    """What claude.ai gives: conversations in the order of their messages."""
    said = [
        {"uuid": "m-1", "sender": "human", "text": "I live in Turin.", "created_at": "2026-02-01T10:00:00Z"},
        {
            "uuid": "m-2", "sender": "assistant", "text": "Noted. [a tool]", "created_at": "2026-02-01T10:00:05Z",
            "content": [{"type": "tool_use", "name": "web"}, {"type": "text", "text": "Noted."}],
        },
        {"uuid": "m-3", "sender": "human", "text": "", "content": []},
    ]  # fmt: skip
    talk = {"uuid": "c-1", "name": "Home", "created_at": "2026-02-01T10:00:00Z", "chat_messages": said}
    text = json.dumps([talk, {"uuid": "c-2"}])
    if shape == "file":
        path.write_text(text, "utf-8")
    elif shape == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", text)
            archive.writestr("users.json", "[]")
    else:
        path.mkdir()
        (path / "conversations.json").write_text(text, "utf-8")
    return path
