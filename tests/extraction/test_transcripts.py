"""Transcripts of every known format become who said what, and nothing in them is fatal."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memorist.learning.extractors.transcripts import parse_transcript
from memorist.memories.values import Trust


def lines(*values: Any) -> str:
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def said(text: str) -> list[tuple[str, str]]:
    return [(one.role, one.content) for one in parse_transcript(text).messages]


def test_lines_of_claude_code() -> None:
    text = lines(
        {"type": "summary", "summary": "Tabs", "leafUuid": "x"},
        {"type": "user", "uuid": "u1", "sessionId": "s-1", "cwd": "/srv/app", "timestamp": "2026-05-20T10:00:00.5Z",
         "message": {"role": "user", "content": "I prefer tabs."}},
        {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Noted."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "a"}}]}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "I prefer spaces."}]}]}},
        {"type": "user", "uuid": "u3", "isMeta": True, "message": {"role": "user", "content": "Caveat: injected"}},
        {"type": "user", "uuid": "u4", "isSidechain": True, "message": {"role": "user", "content": "You are a helper"}},
        {"type": "user", "uuid": "u5", "isCompactSummary": True, "message": {"role": "user", "content": "So far: …"}},
        {"type": "system", "content": "hook ran"},
    )  # fmt: skip
    transcript = parse_transcript(text)
    assert [(one.role, one.content, one.key) for one in transcript.messages] == [
        ("user", "I prefer tabs.", "u1"),
        ("assistant", "Noted.", "a1"),
        ("tool", "I prefer spaces.", "u2/0"),
        ("other", "So far: …", "u5"),
    ]
    assert (transcript.session, transcript.project, transcript.skipped) == ("s-1", "/srv/app", 0)
    assert transcript.messages[0].time is not None
    assert transcript.messages[0].time.isoformat() == "2026-05-20T10:00:00.500000+00:00"
    assert transcript.messages[2].name == "Read"
    assert [one.trust for one in transcript.messages] == [Trust.USER, Trust.AGENT, Trust.TOOL, Trust.AGENT]


def test_lines_of_codex() -> None:
    text = lines(
        {"timestamp": "2026-05-20T10:00:00Z", "type": "session_meta", "payload": {"id": "c-1", "cwd": "/srv/app"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "I prefer tabs."}},
        {"type": "response_item", "payload": {"type": "message", "role": "user",
                                              "content": [{"type": "input_text", "text": "I prefer tabs."}]}},
        {"type": "response_item", "payload": {"type": "function_call", "call_id": "c", "name": "shell"}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "ok"}},
        {"type": "response_item", "payload": {"type": "reasoning", "summary": []}},
    )  # fmt: skip
    transcript = parse_transcript(text)
    assert [(one.role, one.content, one.name) for one in transcript.messages] == [
        ("user", "I prefer tabs.", None),
        ("tool", "ok", "shell"),
    ]
    assert (transcript.session, transcript.project) == ("c-1", "/srv/app")


def test_plain_lines_and_a_document_of_messages() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    expected = [("user", "hi"), ("assistant", "hello")]
    assert said(lines(*messages)) == expected
    assert said(json.dumps(messages)) == expected
    assert said(json.dumps({"session_id": "s", "messages": messages}, indent=1)) == expected


def test_broken_lines_are_counted_and_the_others_are_kept() -> None:
    transcript = parse_transcript(
        lines('{"role": "user", "cont', {"role": "user", "content": "hi"}, {"role": 7}, "[1]")
    )
    assert [one.content for one in transcript.messages] == ["hi"]
    assert transcript.skipped == 3


def test_speakers_of_plain_text() -> None:
    text = "User: I prefer tabs.\nreally\n\nAssistant: Noted.\n**Human:** and cats\n### Assistant\nok\nTool: exit 1"
    assert said(text) == [
        ("user", "I prefer tabs.\nreally"),
        ("assistant", "Noted."),
        ("user", "and cats"),
        ("assistant", "ok"),
        ("tool", "exit 1"),
    ]


def test_a_name_is_the_user_only_where_an_assistant_talks_to_nobody_else() -> None:
    assert said("Ines: I like tea.\nAssistant: ok") == [("user", "I like tea."), ("assistant", "ok")]
    assert {role for role, _ in said("Ines: I like tea.\nTheo: I like coffee.")} == {"other"}
    assert {role for role, _ in said("Ines: I like tea.\nTheo: me too\nAssistant: ok")} == {"other", "assistant"}


def test_text_without_speakers_is_the_users() -> None:
    assert said("Note: I prefer tabs.\nError: none") == [("user", "Note: I prefer tabs.\nError: none")]


def test_the_same_message_has_the_same_key_when_the_transcript_has_grown() -> None:
    before = lines({"role": "user", "content": "yes"}, {"role": "user", "content": "yes"})
    after = before + "\n" + json.dumps({"role": "user", "content": "no"})
    keys = [one.key for one in parse_transcript(before).messages]
    assert len(set(keys)) == 2
    assert [one.key for one in parse_transcript(after).messages][:2] == keys


def test_what_no_database_stores_is_cleaned() -> None:
    (message,) = parse_transcript('{"role": "user", "content": "a\\ud800b\\u0000c"}').messages
    assert message.content == "a?bc"


@given(st.text(max_size=300))
def test_no_text_is_fatal(text: str) -> None:
    for one in parse_transcript(text).messages:
        assert one.content.strip()
        assert one.key


_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "message", "content", "text", "payload", "output", "uuid", "timestamp"]),
            inner | st.sampled_from(["user", "text", "tool_result", "response_item", "function_call_output"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_VALUE, max_size=4))
def test_no_json_is_fatal(values: list[Any]) -> None:
    parse_transcript(lines(*values))
    parse_transcript(json.dumps(values))
