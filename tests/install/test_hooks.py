"""Hooks of Claude Code, fed with transcripts as it writes them, whole, cut off and broken, with a server or none."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memorist import tools
from memorist.bootstrap import open_core
from memorist.core import Core
from memorist.memories.values import Kind
from memorist.platform.tokens import count_tokens
from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.surfaces.claude_code import EVENTS, Worker, log_fault, session_name, slices
from tests.http.conftest import serving
from tests.support.waiting import eventually

LOCAL = Principal("local", Role.USER, "local")
PROJECT = "/srv/shop"


def line(number: int, role: str, content: Any, **others: Any) -> dict[str, Any]:
    return {
        "parentUuid": None if number == 0 else f"0000-{number - 1}",
        "isSidechain": False,
        "userType": "external",
        "cwd": PROJECT,
        "sessionId": "s-1",
        "version": "2.1.303",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": f"0000-{number}",
        "timestamp": f"2026-11-14T10:00:{number:02}.000Z",
        **others,
    }


CONVERSATION: list[dict[str, Any]] = [
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    line(0, "user", "Please always run the tests with make test before you commit."),
    line(1, "assistant", [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "I will look at it."}]),
    line(2, "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
    line(3, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "Makefile\nsrc"}]),
    line(4, "assistant", [{"type": "text", "text": "We decided to use PostgreSQL for the orders."}]),
    {"type": "summary", "summary": "Orders", "leafUuid": "0000-4"},
    line(5, "user", "I prefer tabs over spaces."),
]
SAID = [
    "Please always run the tests with make test before you commit.",
    "I will look at it.",
    "We decided to use PostgreSQL for the orders.",
    "I prefer tabs over spaces.",
]


def as_text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in lines)


def settings_of(folder: Path, **others: Any) -> Settings:
    return Settings(data=folder, embedder="off", reranker="off", **others)


@contextmanager
def opened(folder: Path) -> Iterator[Core]:
    core = open_core(settings_of(folder))
    try:
        yield core
    finally:
        core.close()


def said(folder: Path) -> list[str]:
    with opened(folder) as core:
        rows = core.memories.list(LOCAL, kind=Kind.CHAT_MESSAGE, limit=100).items
        return [row.content for row in sorted(rows, key=lambda row: row.id)]


def worker(folder: Path, transcript: Path, name: str = "s-1", **others: Any) -> Worker:
    made = Worker(settings_of(folder, **others), {}, name, PROJECT)
    made.note(transcript)
    return made


# Ingestion


@hypothesis_settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, len(as_text(CONVERSATION).encode())), max_size=4))
def test_transcript_that_grows_is_stored_once_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("data")
    transcript = folder / "t.jsonl"
    whole = as_text(CONVERSATION).encode()
    for cut in sorted(cuts):
        transcript.write_bytes(whole[:cut])
        worker(folder, transcript).keep()
        assert set(said(folder)) <= set(SAID)
    transcript.write_bytes(whole)
    worker(folder, transcript).finish()
    assert said(folder) == SAID


def test_memories_are_found_at_the_end_and_once(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(as_text(CONVERSATION))
    worker(tmp_path, transcript).keep()
    with opened(tmp_path) as core:
        assert core.chunks.recent(LOCAL, project=PROJECT) == []
    for _ in range(2):
        worker(tmp_path, transcript).finish()
    with opened(tmp_path) as core:
        found = core.memories.list(LOCAL, kind=Kind.FACT, limit=100).items
        contents = [memory.content for memory in found]
        assert any("PostgreSQL" in content for content in contents)
        assert len(contents) == len(set(contents))
        assert {memory.project for memory in found} == {PROJECT}


def test_resumed_session_goes_on_where_it_was(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(as_text(CONVERSATION))
    worker(tmp_path, transcript).finish()
    with open(transcript, "a") as file:
        file.write(as_text([line(6, "user", "Deploys happen on Fridays.")]))
    again = worker(tmp_path, transcript)
    assert again.has_news()
    again.finish()
    assert not again.has_news()
    assert said(tmp_path) == [*SAID, "Deploys happen on Fridays."]


def test_transcript_that_was_written_anew_is_not_stored_twice(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(as_text(CONVERSATION))
    worker(tmp_path, transcript).keep()
    transcript.write_text(as_text([CONVERSATION[1], line(7, "user", "A new line.")]))
    worker(tmp_path, transcript).keep()
    assert said(tmp_path) == [*SAID, "A new line."]


@pytest.mark.parametrize(
    "rest", [b"nonsense\n", b'{"type": "user"\n', b"\xff\xfe\x00\n", b"[1, 2]\n", b"\n\n", b'{"cut']
)
def test_broken_lines_are_passed_over(tmp_path: Path, rest: bytes) -> None:
    transcript = tmp_path / "t.jsonl"
    half = as_text(CONVERSATION[:4]).encode()
    transcript.write_bytes(half + rest + (b"" if rest == b'{"cut' else as_text(CONVERSATION[4:]).encode()))
    worker(tmp_path, transcript).finish()
    assert said(tmp_path) == (SAID[:2] if rest == b'{"cut' else SAID)


def test_last_line_without_its_end_counts_when_the_session_is_over(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(as_text(CONVERSATION).rstrip("\n"))
    worker(tmp_path, transcript).keep()
    assert said(tmp_path) == SAID[:-1]
    worker(tmp_path, transcript).finish()
    assert said(tmp_path) == SAID


def test_session_that_ended_without_a_word_is_finished_by_the_next(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(as_text(CONVERSATION))
    worker(tmp_path, transcript)
    running = tmp_path / "running.jsonl"
    running.write_text(as_text([line(0, "user", "Still talking.")]))
    worker(tmp_path, running, "s-2")
    os.utime(transcript, (time.time() - 7200, time.time() - 7200))
    worker(tmp_path, tmp_path / "gone.jsonl", "s-3")
    Worker(settings_of(tmp_path), {}, "s-9").catch_up()
    assert said(tmp_path) == SAID
    assert [path.name for path in (tmp_path / "claude-code").glob("*.json")] == ["s-2.json"]


def test_slices_are_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.surfaces.claude_code._SLICE", 10)
    path = tmp_path / "t"
    path.write_bytes(b"a\nbb\n" + b"c" * 50 + b"\n" + b"d" * 7 + b"\nee")
    found = list(slices(path, 0, is_over=False))
    assert "".join(text for text, _ in found) == "a\nbb\n" + "c" * 50 + "\n" + "d" * 7 + "\n"
    assert all(text.endswith("\n") for text, _ in found)
    assert found[-1][1] == path.stat().st_size - 2


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a b", "x" * 500, "\ud800", "ok-1_A"])
def test_session_names_are_safe(name: str) -> None:
    made = session_name(name)
    assert made.replace("-", "").replace("_", "").isalnum()
    assert len(made) <= 100
    assert (made == name) == (name == "ok-1_A")


# What a session starts with


def test_session_starts_with_notes_and_project_memories_within_the_budget(tmp_path: Path) -> None:
    with opened(tmp_path) as core:
        for number in range(200):
            note = {"name": f"note_{number}", "type": "project", "description": f"Note {number} " + "word " * 20}
            tools.run(core, LOCAL, "memory_write", note | {"body": "b", "importance": number})
            core.chunks.remember(LOCAL, f"Decision {number} " + "word " * 20, "decision", project=PROJECT)
        core.chunks.remember(LOCAL, "Elsewhere we use Rust.", "decision", project="/other")
        text = core.composer.compose(LOCAL, project=PROJECT, budget_tokens=1000).fenced
        assert 700 < count_tokens(text) <= 1000
        assert "note_199" in text
        assert "note_0 " not in text
        assert "Decision 1" in text
        assert "Rust" not in text
        assert text.count("<memories>") == text.count("</memories>") == 1


def test_session_of_nobody_known_starts_with_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as core:
        core.identity.create_tenant("local")
        assert core.composer.compose(LOCAL, project=PROJECT, budget_tokens=1000).fenced == ""


# The hook as a process


class Hooks:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transcript = folder / "t.jsonl"
        self.environment: dict[str, str] = {"MEMORIST_HOOK_WAIT_MS": "20000"}
        self.flags: list[str] = []

    def __call__(self, event: str, raw: bytes | None = None, **told: Any) -> Any:
        """Run a hook; its output as JSON, or None where it says nothing."""
        given = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "cwd": PROJECT,
            "hook_event_name": event,
            **told,
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "CLAUDE_"))}
        done = subprocess.run(
            [sys.executable, "-m", "memorist", "hook", "claude-code", event, *self.flags],
            input=json.dumps(given).encode() if raw is None else raw,
            capture_output=True,
            timeout=60,
            env={
                **kept,
                "MEMORIST_DATA": str(self.folder),
                "MEMORIST_EMBEDDER": "off",
                "MEMORIST_RERANKER": "off",
                **self.environment,
            },
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    def log(self) -> list[dict[str, Any]]:
        path = self.folder / "claude-code/hook.log"
        return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path)


def test_whole_session(hooks: Hooks) -> None:
    assert hooks("SessionStart", source="startup") is None
    hooks.transcript.write_text(as_text(CONVERSATION[:3]))
    assert hooks("UserPromptSubmit", prompt="x") is None
    eventually(lambda: said(hooks.folder) == SAID[:2])
    hooks.transcript.write_text(as_text(CONVERSATION))
    assert hooks("Stop", stop_hook_active=False) is None
    assert hooks("PreCompact", trigger="auto") is None
    assert hooks("SessionEnd", reason="exit") is None
    eventually(lambda: not (hooks.folder / "claude-code/s-1.json").exists())
    assert said(hooks.folder) == SAID
    answer = hooks("SessionStart", session_id="s-2", transcript_path=str(hooks.folder / "new.jsonl"))
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "PostgreSQL" in answer["hookSpecificOutput"]["additionalContext"]
    assert hooks("UserPromptSubmit", session_id="s-2", transcript_path=str(hooks.folder / "new.jsonl")) is None
    assert hooks.log() == []


def test_context_that_is_late_comes_with_the_first_prompt(hooks: Hooks) -> None:
    with opened(hooks.folder) as core:
        note = {"name": "user_profile", "type": "user", "description": "Ada, in UTC+2", "body": "b"}
        core.identity.create_tenant("local")
        tools.run(core, LOCAL, "memory_write", note)
    hooks.environment["MEMORIST_HOOK_WAIT_MS"] = "0"
    assert hooks("SessionStart") is None
    eventually((hooks.folder / "claude-code/s-1.context").exists)
    answer = hooks("UserPromptSubmit", prompt="x")
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "Ada, in UTC+2" in answer["hookSpecificOutput"]["additionalContext"]
    assert hooks("UserPromptSubmit", prompt="y") is None


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff", b'{"session_id": 5, "transcript_path": 7}'])
def test_wrong_input_is_logged_and_breaks_nothing(hooks: Hooks, raw: bytes) -> None:
    is_read = raw.startswith(b'{"session')
    for event in ("SessionStart", "Stop"):
        answer = hooks(event, raw)
        assert (answer is None) is is_read
        assert is_read or answer["systemMessage"].startswith("Memorist: a hook failed: ")
    if not is_read:
        assert len(hooks.log()) == 2


def test_unknown_event_and_bad_settings_break_nothing(hooks: Hooks) -> None:
    assert "Explode" in hooks("Explode")["systemMessage"]
    assert "Explode" in hooks.log()[0]["message"]
    hooks.environment["MEMORIST_PORT"] = "x"
    assert "MEMORIST_PORT" in hooks("Stop")["systemMessage"]
    assert "MEMORIST_PORT" in hooks.log()[1]["message"]


def test_place_that_cannot_be_written_breaks_nothing(hooks: Hooks) -> None:
    hooks.environment["MEMORIST_DATA"] = "/dev/null/x"
    hooks.transcript.write_text(as_text(CONVERSATION))
    for event in EVENTS:
        assert list(hooks(event)) == ["systemMessage"]


def test_stopped_server_loses_nothing(hooks: Hooks) -> None:
    hooks.transcript.write_text(as_text(CONVERSATION))
    hooks.environment |= {"MEMORIST_URL": "http://127.0.0.1:9", "MEMORIST_API_KEY": "x"}
    hooks.environment["MEMORIST_HOOK_WAIT_MS"] = "20000"
    assert "refused" in hooks("SessionStart")["systemMessage"]
    assert hooks("SessionEnd") is None, "what went wrong is told once"
    eventually(lambda: len(hooks.log()) >= 2)
    eventually((hooks.folder / "claude-code/s-1.fault").exists)
    store = hooks.folder / "server"
    with serving(Settings(data=store, port=0, embedder="off", reranker="off")) as served:
        hooks.environment |= {"MEMORIST_URL": served.url, "MEMORIST_API_KEY": served.key("local", Role.USER, "local")}
        assert "refused" in hooks("SessionEnd")["systemMessage"]
        eventually(lambda: not (hooks.folder / "claude-code/s-1.json").exists())
        assert hooks("Stop") is None
        answer = hooks("SessionStart", session_id="s-2", transcript_path=str(hooks.folder / "new.jsonl"))
        assert "PostgreSQL" in answer["hookSpecificOutput"]["additionalContext"]
    assert said(store) == SAID
    assert not (hooks.folder / "memorist.db").exists()


def test_key_of_an_agent_brings_that_agents_memories(hooks: Hooks) -> None:
    with serving(Settings(data=hooks.folder / "server", port=0, embedder="off", reranker="off")) as served:
        coder = Principal("local", Role.USER, "local", "coder")
        note = {"name": "user_profile", "type": "user", "description": "Ada, in UTC+2", "body": "b"}
        served.core.identity.create_tenant("local")
        tools.run(served.core, coder, "memory_write", note)
        key = served.key("local", Role.USER, "local", "coder")
        hooks.environment |= {"MEMORIST_URL": served.url, "MEMORIST_API_KEY": key, "MEMORIST_HOOK_WAIT_MS": "20000"}
        answer = hooks("SessionStart")
    assert "Ada, in UTC+2" in answer["hookSpecificOutput"]["additionalContext"]
    assert hooks.log() == []


def test_user_of_any_script_is_acted_for(hooks: Hooks) -> None:
    with serving(Settings(data=hooks.folder / "server", port=0, embedder="off", reranker="off")) as served:
        key = served.key("local", Role.SERVICE)
        served.core.facts.remember(Principal("local", Role.USER, "Łukasz"), "Łukasz drinks tea.")
        hooks.environment |= {"MEMORIST_URL": served.url, "MEMORIST_API_KEY": key, "MEMORIST_HOOK_WAIT_MS": "20000"}
        hooks.flags = ["--user", "Łukasz", "--name", "work"]
        answer = hooks("SessionStart")
    assert "Łukasz drinks tea." in answer["hookSpecificOutput"]["additionalContext"]
    assert hooks.log() == []


@pytest.mark.parametrize("first", ["anna", "bert"])
def test_hooks_of_two_names_each_keep_a_session_for_their_user(hooks: Hooks, first: str) -> None:
    """Both run at every event of it, in any order."""
    installs = {"anna": ["--user", "anna", "--name", "work"], "bert": ["--user", "bert", "--name", "../home"]}
    order = sorted(installs, key=lambda user: user != first)
    hooks.transcript.write_text(as_text(CONVERSATION))
    for event in ("UserPromptSubmit", "SessionEnd"):
        for user in order:
            hooks.flags = installs[user]
            assert hooks(event) is None

    def kept(user: str) -> list[str]:
        with opened(hooks.folder) as core:
            rows = core.memories.list(Principal("local", Role.USER, user), kind=Kind.CHAT_MESSAGE, limit=100).items
            return [row.content for row in sorted(rows, key=lambda row: row.id)]

    for user in installs:
        eventually(lambda user=user: kept(user) == SAID)
    assert hooks.log() == []
    assert not list((hooks.folder / "claude-code").glob("*.offset"))


def test_log_holds_no_secrets_and_stays_small(tmp_path: Path) -> None:
    key = f"AKIA{'Q3EGRIZ7X2M4PL5K'}"
    log_fault(tmp_path, ValueError(f"bad {key}"))
    assert key not in (tmp_path / "hook.log").read_text()
    (tmp_path / "hook.log").write_text("x" * 1_100_000)
    log_fault(tmp_path, ValueError("again"))
    assert (tmp_path / "hook.log").stat().st_size < 1000


def test_hook_needs_neither_the_command_line_nor_the_core() -> None:
    """Whoever waits for it waits for every import."""
    script = (
        "import sys, memorist.__main__, memorist.surfaces.claude_code;"
        "sys.exit(any(name in sys.modules for name in ('typer', 'rich', 'memorist.core', 'apsw', 'numpy', 'mcp')))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_context_of_a_session_needs_no_model_and_no_server(tmp_path: Path) -> None:
    """A session waits for it, and a few of the parts would double the time."""
    core = open_core(Settings(data=tmp_path))
    core.identity.create_tenant("local")
    core.close()
    heavy = ["memorist.turns.service", "fastapi", "httpx2", "mcp", "numpy", "onnxruntime", "pydantic", "re2"]
    script = (
        "import sys; from pathlib import Path; from memorist.bootstrap import local_principal, open_core;"
        "from memorist.settings import Settings; settings = Settings(data=Path(sys.argv[1]));"
        "core = open_core(settings); who = local_principal(core, settings);"
        "core.composer.compose(who, project='/shop', budget_tokens=100); core.close();"
        f"sys.exit(' '.join(name for name in {heavy!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
