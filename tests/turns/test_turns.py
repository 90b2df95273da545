"""Turns over a real server, with a scripted language model, on both databases."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from memorist.errors import NotFound
from memorist.memories.values import Kind
from memorist.platform.values import Role
from memorist.turns import work as turn_work
from tests.http.conftest import Served
from tests.support.scripted_http import Body, Reply, ScriptedServer
from tests.support.talking import fails, says
from tests.support.waiting import eventually

Events = list[tuple[int, str, dict[str, Any]]]


@pytest.fixture
def ada(served: Served, tenant: str) -> Iterator[httpx2.Client]:
    with served.client(tenant) as client:
        yield client


def ask(client: httpx2.Client, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/turns", json={"messages": [{"role": "user", "content": text}], **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


def parse(text: str) -> Events:
    found: Events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":") and ": " in line)
        if "data" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def stream(client: httpx2.Client, text: str, **more: Any) -> Events:
    body = {"messages": [{"role": "user", "content": text}], **more}
    answer = client.post("/v1/turns", json=body, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 201
    assert answer.headers["content-type"].startswith("text/event-stream")
    return parse(answer.text)


def names(events: Events) -> list[str]:
    return [name for _, name, _ in events]


def test_a_turn_answers_and_is_kept(ada: httpx2.Client, model: ScriptedServer) -> None:
    turn = ask(ada, "Hello there.")
    assert turn["id"].startswith("turn_")
    assert turn["status"] == "completed"
    assert turn["result"] == {"answer": "Noted, I will remember that."}
    assert turn["error"] is None
    assert (turn["input_tokens"], turn["output_tokens"]) == (100, 10)
    assert turn["cost_usd"] > 0
    assert ada.get(f"/v1/turns/{turn['id']}").json() == turn
    assert ada.get("/v1/turns").json()["data"] == [turn]
    assert len(model.requests) == 1


def test_a_stream_tells_every_step_in_order(ada: httpx2.Client, model: ScriptedServer) -> None:
    events = stream(ada, "I prefer tea over coffee. My goal is to run a marathon in May.")
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    steps = names(events)
    assert steps[:2] == ["turn.started", "memory.injected"]
    assert steps[-3:] == ["synthesis", "agent.completed", "turn.completed"]
    deltas = "".join(data["text"] for _, name, data in events if name == "answer.delta")
    synthesis = next(data for _, name, data in events if name == "synthesis")
    assert synthesis["answer"] == deltas == "Noted, I will remember that."
    memory = events[-2][2]
    assert memory["agent"] == "memory"
    assert memory["cost_usd"] == 0
    assert memory["duration_ms"] >= 0
    assert memory["output_summary"] == "+2 entries (1 preference, 1 goal)"
    assert len(model.requests) == 1


def test_what_was_learned_names_its_turn_and_is_told_to_the_next(ada: httpx2.Client, model: ScriptedServer) -> None:
    turn = ask(ada, "I prefer tea over coffee.")
    learned = ada.get("/v1/memory").json()["data"]
    assert [row["source_turn_id"] for row in learned] == [turn["id"]]
    assert "tea" in learned[0]["text"]
    ask(ada, "What should I drink?")
    prompt = json.dumps(model.requests[-1].body)
    assert learned[0]["text"] in prompt
    assert "never instructions" in prompt
    ask(ada, "And now?", context={"include_memory": False})
    assert learned[0]["text"] not in json.dumps(model.requests[-1].body)


@pytest.mark.parametrize("context", [{}, {"session_id": "kitchen"}])
def test_turn_outlives_an_entry_that_it_brought_and_quotes_it_no_more(
    ada: httpx2.Client, model: ScriptedServer, context: dict[str, Any]
) -> None:
    model.scripts[:] = [says("So no peanuts on the way to the marathon.")]
    turn = ask(ada, "I am allergic to peanuts. I want to run a marathon in May.", context=context)
    path = f"/v1/turns/{turn['id']}"
    before = ada.get(f"{path}/events").json()["data"]
    erased, other = ada.get("/v1/memory").json()["data"]
    assert ada.delete(f"/v1/memory/{erased['id']}").status_code == 204
    kept = ada.get(path)
    assert (kept.status_code, kept.json()) == (200, {**turn, "result": None})
    after = ada.get(f"{path}/events").json()["data"]
    assert [(one["id"], one["event"]) for one in after] == [(one["id"], one["event"]) for one in before]
    assert "peanuts" not in json.dumps(after)
    assert after[-1] == before[-1], "and what holds no words of it stays"
    assert ada.get("/v1/memory").json()["data"] == [other]
    assert other["source_turn_id"] == turn["id"]
    finding = {
        "finding_id": f"f-{turn['id']}", "feature": "a", "target": "b", "verdict": "rejected", "effect": 0.1,
        "text": "Nuts hurt sleep.", "source_turn_id": turn["id"],
    }  # fmt: skip
    assert ada.post("/v1/findings", json=finding).status_code == 201


def test_what_was_said_is_stored_verbatim_once(
    served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer
) -> None:
    history = [{"role": "user", "content": "The boiler was made by Vaillant."}]
    context = {"session_id": "kitchen"}
    first = ada.post("/v1/turns", json={"messages": history, "context": context}).json()
    history += [
        {"role": "assistant", "content": first["result"]["answer"]},
        {"role": "user", "content": "It is from 2014."},
    ]
    second = ada.post("/v1/turns", json={"messages": history, "context": context}).json()
    assert second["session_id"] == "kitchen"
    stored = served.core.memories.list(_ada(tenant), session="kitchen", limit=50).items
    assert sorted(memory.content for memory in stored) == sorted(
        ["The boiler was made by Vaillant.", *["Noted, I will remember that."] * 2, "It is from 2014."]
    )
    assert len(model.requests) == 2


def _ada(tenant: str) -> Any:
    from memorist.platform.values import Principal

    return Principal(tenant, Role.USER, "ada")


def test_the_model_calls_tools_and_their_results_come_back(ada: httpx2.Client, model: ScriptedServer) -> None:
    ask(ada, "The spare key is under the blue pot.", context={"session_id": "hall"})
    model.scripts[:] = [
        says("Let me look.", [("recall", {"query": "spare key blue pot"})]),
        says("It is under the blue pot."),
    ]
    events = stream(ada, "Where is the spare key?")
    called = next(data for _, name, data in events if name == "tool.called")
    assert (called["name"], called["arguments"]) == ("recall", {"query": "spare key blue pot"})
    done = next(data for _, name, data in events if name == "tool.completed")
    assert done["is_error"] is False
    assert len(done["ids"]) >= 1
    synthesis = next(data for _, name, data in events if name == "synthesis")
    assert synthesis["answer"] == "Let me look.\n\nIt is under the blue pot."
    assert "".join(data["text"] for _, name, data in events if name == "answer.delta") == synthesis["answer"]
    assert "under the blue pot" in json.dumps(model.requests[-1].body)
    offered = {tool.get("name") or tool["function"]["name"] for tool in model.requests[-1].body["tools"]}
    assert offered == {"recall", "read_tool_output"}, "no tool of a turn writes"


def test_what_tools_returned_is_stored_verbatim_and_not_found_in_its_place(
    served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer
) -> None:
    ask(ada, "The spare key is under the blue pot.", context={"session_id": "hall"})
    model.scripts[:] = [
        says("", [("recall", {"query": "spare key"}), ("remember_fact", {"content": "Keys are kept outside."})]),
        says("", [("launch\nall", {})]),
        says("Under the blue pot."),
    ]
    events = stream(ada, "Where is the spare key?", context={"session_id": "hall"})
    keys = [data["tool_output_key"] for _, name, data in events if name == "tool.completed"]
    read = [served.core.ingestion.read_tool_output(_ada(tenant), key) for key in keys]
    told = json.dumps(model.requests[-1].body, ensure_ascii=False)
    assert all(json.dumps(content, ensure_ascii=False)[1:-1] in told for _, content in read)
    assert [memory.meta["tool_name"] for memory, _ in read] == ["recall", "remember_fact", "launch all"]
    assert {memory.session for memory, _ in read} == {"hall"}
    assert "under the blue pot" in read[0][1]
    assert "not_found" in read[1][1], "agents cannot mutate memory mid-turn"
    assert "not_found" in read[2][1]

    found = ada.post("/v1/tools/recall", json={"query": "spare key blue pot", "top_k": 20}).json()["items"]
    assert {item["source_kind"] for item in found} <= {"chat_message", "fact"}
    outputs = {"query": "spare key blue pot", "source_kinds": ["tool_output"]}
    assert ada.post("/v1/tools/recall", json=outputs).json()["items"] == []
    why = ada.post("/v1/tools/recall", json={"query": "spare key", "why_not": read[0][0].id}).json()["why_not"]
    assert why["reason"] == "It only repeats other memories, and those are found instead."


def test_what_the_user_says_is_learned_though_recall_repeated_it(ada: httpx2.Client, model: ScriptedServer) -> None:
    """What a tool says is not the user's; but a memory tool says what the user did."""
    model.scripts[:] = [says("", [("recall", {"query": "allergic peanuts Bern"})]), says("Noted.")]
    events = stream(ada, "I am allergic to peanuts and I live in Bern.", context={"session_id": "kitchen"})
    learned = [data["output_summary"] for _, name, data in events if name == "agent.completed"][-1]
    assert learned.startswith("+2 entries"), learned


def test_turns_outlive_the_retention_of_what_they_recalled(
    served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer
) -> None:
    core, who = served.core, _ada(tenant)
    ask(ada, "The loft ladder squeaks on its third rung.", context={"session_id": "old"})
    (said,) = core.memories.list(who, session="old", limit=50, kind=Kind.CHAT_MESSAGE).items[-1:]
    model.scripts[:] = [says("", [("recall", {"query": "loft ladder"})]), says("It squeaks.")]
    turn = ask(ada, "What about the ladder?", context={"session_id": "new"})
    receipt = core.erasure.erase(who, [said.id])
    assert receipt.counts["turns"] == 1, "that of the session in which it was said"
    assert ada.get(f"/v1/turns/{turn['id']}").status_code == 200
    outputs = core.memories.list(who, session="new", kind=Kind.TOOL_OUTPUT).items
    assert not any("squeaks" in one.content for one in outputs)


def test_what_tools_returned_is_erased_with_what_it_repeats(
    served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer
) -> None:
    core, who = served.core, _ada(tenant)
    ask(ada, "Grandmother hid the heirloom brooch behind the organ pipes.", context={"session_id": "hall"})
    (said,) = core.memories.list(who, session="hall", limit=50, kind=Kind.CHAT_MESSAGE).items[-1:]
    assert said.content.startswith("Grandmother")
    model.scripts[:] = [says("", [("recall", {"query": "heirloom brooch"})]), says("Done.")]
    key = next(
        data["tool_output_key"]
        for _, name, data in stream(ada, "Tell me.", context={"session_id": "porch"})
        if name == "tool.completed"
    )
    copy, content = core.ingestion.read_tool_output(who, key)
    assert said.content in content
    receipt = core.erasure.erase(who, [said.id])
    assert receipt.verification is not None
    assert receipt.verification.ok
    with pytest.raises(NotFound):
        core.ingestion.read_tool_output(who, key)
    assert copy.id in core.erasure.ids_of(receipt)
    # What repeats an erased memory is not stored any more.
    with pytest.raises(NotFound, match="erased meanwhile"):
        core.ingestion.add_tool_output(
            who, "porch", tool_call_id="late", tool_name="recall", content=content, quotes=[said.id]
        )
    assert ask(ada, "And now?", context={"session_id": "porch"})["status"] == "completed"


def test_a_bad_tool_call_is_told_to_the_model_and_the_turn_goes_on(ada: httpx2.Client, model: ScriptedServer) -> None:
    model.scripts[:] = [says("", [("recall", {"top_k": 99}), ("launch", {})]), says("Sorry.")]
    events = stream(ada, "Hello?")
    assert [data["is_error"] for _, name, data in events if name == "tool.completed"] == [True, True]
    assert "invalid_field" in json.dumps(model.requests[-1].body)
    assert events[-1][1] == "turn.completed"


def test_a_model_that_only_calls_tools_is_made_to_answer(ada: httpx2.Client, model: ScriptedServer) -> None:
    def answers(reply: Reply, body: Body) -> None:
        if "tool_result" in json.dumps(body["messages"]) and not body.get("tools"):
            fails(400)(reply, body)  # As Anthropic does; others take it.
        elif body.get("tools") and body.get("tool_choice") != {"type": "none"}:
            says("", [("recall", {"query": "x"})])(reply, body)
        else:
            says("Enough.")(reply, body)

    model.always = answers
    turn = ask(ada, "Hello?")
    assert turn["result"] == {"answer": "Enough."}
    assert len(model.requests) == 7


@pytest.mark.usefixtures("model")
def test_events_are_read_again_from_anywhere(ada: httpx2.Client) -> None:
    events = stream(ada, "Hello.")
    turn_id = events[0][2]["turn_id"]
    for after in (0, 1, len(events) - 1, len(events)):
        again = ada.get(
            f"/v1/turns/{turn_id}/events", headers={"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        )
        assert parse(again.text) == events[after:]
    listed = ada.get(f"/v1/turns/{turn_id}/events", params={"after": 2}).json()
    assert [(row["id"], row["event"], row["data"]) for row in listed["data"]] == events[2:]
    for bad in ("x", "-1", "1.5", "9" * 20):
        answer = ada.get(f"/v1/turns/{turn_id}/events", headers={"Last-Event-ID": bad})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (fails(401), "llm_failed"),
        (fails(500), "llm_unavailable"),
        (fails(429, Retry_After="0"), "llm_unavailable"),
        (lambda reply, _: reply.hang_up(), "llm_unavailable"),
        (says("one two three four five six", cut_after=3), "llm_unavailable"),
    ],
)
def test_a_failing_model_fails_the_turn_and_loses_nothing(
    ada: httpx2.Client, model: ScriptedServer, script: Any, code: str
) -> None:
    model.always = script
    events = stream(ada, "I prefer tea over coffee.")
    assert events[-1][1] == "turn.failed"
    assert events[-1][2]["error"]["code"] == code
    turn = ada.get(f"/v1/turns/{events[0][2]['turn_id']}").json()
    assert (turn["status"], turn["error"]["code"], turn["result"]) == ("failed", code, None)
    # It is told before it is learned from.
    eventually(lambda: ada.get("/v1/memory").json()["data"])
    assert "tea" in ada.get("/v1/memory").json()["data"][0]["text"]


def test_answer_that_was_cut_off_says_so(ada: httpx2.Client, model: ScriptedServer) -> None:
    model.always = says("The first step is to open the", is_long=True)
    events = stream(ada, "How do I begin?")
    stops = {name: data["stop"] for _, name, data in events if "stop" in data}
    assert stops == dict.fromkeys(["agent.completed", "synthesis", "turn.completed"], "length")
    (said,) = [data for _, name, data in events if name == "agent.completed" and data["agent"] == "assistant"]
    assert said["output_summary"] == "answered in 29 characters, cut off after 4096 tokens"
    model.always = says("Open the box.")
    assert stream(ada, "And then?")[-1][2]["stop"] == "done"


@pytest.mark.parametrize("is_long", [False, True])
def test_answer_without_a_word_is_none(ada: httpx2.Client, model: ScriptedServer, is_long: bool) -> None:
    model.always = says("", is_long=is_long)
    turn = ask(ada, "I prefer tea over coffee.", context={"session_id": "kitchen"})
    assert (turn["status"], turn["error"]["code"], turn["result"]) == ("failed", "llm_empty", None)
    eventually(lambda: ada.get("/v1/memory").json()["data"])


def test_a_passing_fault_is_tried_again_before_anything_was_said(ada: httpx2.Client, model: ScriptedServer) -> None:
    model.scripts[:] = [fails(503), fails(429, Retry_After="0")]
    assert ask(ada, "Hello.")["status"] == "completed"
    assert len(model.requests) == 3


def test_a_retry_with_a_key_asks_the_model_once(ada: httpx2.Client, model: ScriptedServer) -> None:
    body = {"messages": [{"role": "user", "content": "Hello."}]}
    first, second = (ada.post("/v1/turns", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json() == second.json()
    assert len(model.requests) == 1
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    streamed = ada.post("/v1/turns", json=body, headers={"Idempotency-Key": "k", "Accept": "text/event-stream"})
    assert streamed.headers["Idempotency-Replayed"] == "true"
    assert f'"turn_id":"{first.json()["id"]}"' in streamed.text


@pytest.mark.usefixtures("model")
def test_null_stands_for_what_is_left_out(ada: httpx2.Client) -> None:
    context = {"include_memory": None, "session_id": None}
    body = {"messages": [{"role": "user", "content": "Hello."}], "context": context, "stream": None}
    assert ada.post("/v1/turns", json=body).json()["status"] == "completed"


def test_a_failure_names_the_model_and_not_where_it_is(ada: httpx2.Client, model: ScriptedServer) -> None:
    model.scripts[:] = [fails(401)]
    error = ask(ada, "Hello.")["error"]
    assert re.match(r"(openai:gpt-4o|anthropic:claude-sonnet-4-5) answered 401\.", error["message"])
    assert "127.0.0.1" not in error["message"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user", "content": ""}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": "x"}], "context": {"session_id": "a b"}},
        {"messages": [{"role": "user", "content": "x"}], "context": {"include_memory": "no"}},
    ],
)
def test_a_malformed_turn_is_refused_before_the_model_is_asked(
    ada: httpx2.Client, model: ScriptedServer, body: dict[str, Any]
) -> None:
    answer = ada.post("/v1/turns", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field")
    assert model.requests == []
    assert ada.get("/v1/turns").json()["data"] == []


def test_turns_are_listed_newest_first_in_pages(ada: httpx2.Client, model: ScriptedServer) -> None:
    made = [ask(ada, f"Hello {number}.")["id"] for number in range(5)]
    found, cursor = [], None
    while True:
        page = ada.get("/v1/turns", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        found += [row["id"] for row in page["data"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]
    assert len(model.requests) == 5


def test_nobody_sees_anothers_turn(served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer) -> None:
    turn = ask(ada, "Hello.")
    with served.client(tenant, user="bob") as bob:
        assert bob.get("/v1/turns").json()["data"] == []
        assert bob.get(f"/v1/turns/{turn['id']}").status_code == 404
        assert bob.get(f"/v1/turns/{turn['id']}/events").status_code == 404
    with served.client(tenant, Role.READER) as reader:
        assert reader.get(f"/v1/turns/{turn['id']}").status_code == 200
        body = {"messages": [{"role": "user", "content": "x"}]}
        assert reader.post("/v1/turns", json=body).status_code == 403
    assert len(model.requests) == 1


def test_a_long_conversation_is_trimmed_and_says_so(served: Served, ada: httpx2.Client, model: ScriptedServer) -> None:
    long = "word " * 9_000
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"{number} {long}"} for number in range(20)]
    messages += [{"role": "user", "content": "And the last question?"}]
    answer = ada.post("/v1/turns", json={"messages": messages, "context": {"session_id": "long"}, "stream": True})
    events = parse(answer.text)
    told = next(data for _, name, data in events if name == "context.compressed")
    assert (told["dropped"], told["kept"]) == (17, 4)
    sent = model.requests[-1].body
    said = [message for message in sent["messages"] if message["role"] != "system"]
    assert said[0]["role"] == "user"
    assert len(said) in (4, 5)
    assert "recall" in json.dumps(sent.get("system") or sent["messages"][0])
    assert events[-1][1] == "turn.completed"
    assert served.core.options.turn_limits.context_tokens == 0


def test_secrets_are_neither_stored_nor_sent(
    served: Served, tenant: str, ada: httpx2.Client, model: ScriptedServer
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    secret = secret[:40]
    model.always = says(f"Your token {secret} is noted.")
    events = stream(ada, f"My token is {secret}, keep it.", context={"session_id": "s"})
    turn_id = events[0][2]["turn_id"]
    assert secret not in json.dumps(events)
    assert secret not in json.dumps(ada.get(f"/v1/turns/{turn_id}").json())
    assert secret not in json.dumps(model.requests[-1].body)
    stored = served.core.memories.list(_ada(tenant), limit=50).items
    assert stored
    assert all(secret not in memory.content for memory in stored)


@pytest.mark.parametrize(
    "secret", ["hunter" + "2Xy!9 as the wifi password", "4111 1111 " + "1111 1111", "door code 47" + "11"]
)
def test_secret_of_several_words_is_in_no_event_and_no_answer(
    ada: httpx2.Client, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setattr(turn_work, "_FLUSH_S", 0.0)
    monkeypatch.setattr(turn_work, "_MOST_DELTAS_A_SECOND", float("inf"))  # Every word is an event of its own.
    model.always = says(f"You told me: use {secret}, and nothing else.")
    events = stream(ada, "What did I say?")
    digits = re.findall(r"\S*\d\S*", secret)
    answer = ada.get(f"/v1/turns/{events[0][2]['turn_id']}").json()["result"]["answer"]
    assert "[REDACTED:" in answer
    assert answer == next(data["answer"] for _, name, data in events if name == "synthesis")
    pieces = [data["text"] for _, name, data in events if name == "answer.delta"]
    assert "".join(pieces) == answer
    assert pieces[0] == "You "
    assert not any(group in answer for group in digits)


@pytest.mark.usefixtures("model")
def test_what_a_turn_learned_is_newer_than_its_answer(ada: httpx2.Client) -> None:
    turn = ask(ada, "I prefer tea over coffee.")
    learned = ada.get("/v1/memory", params={"after": turn["completed_at"]}).json()["data"]
    assert [row["source_turn_id"] for row in learned] == [turn["id"]]


def test_a_refused_session_is_named_as_it_was_sent(ada: httpx2.Client) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "context": {"session_id": "a b"}}
    assert ada.post("/v1/turns", json=body).json()["field"] == "context.session_id"


def test_a_session_that_is_a_secret_is_refused_before_anything_is_stored(
    ada: httpx2.Client, model: ScriptedServer
) -> None:
    secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    body = {"messages": [{"role": "user", "content": "x"}], "context": {"session_id": secret}}
    answer = ada.post("/v1/turns", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_field")
    assert answer.json()["field"] == "context.session_id"
    assert secret not in answer.text
    assert ada.get("/v1/turns").json()["data"] == []
    assert model.requests == []


def test_streamed_turn_says_where_it_is(ada: httpx2.Client) -> None:
    body = {"messages": [{"role": "user", "content": "Hello."}], "stream": True}
    with ada.stream("POST", "/v1/turns", json=body) as answer:
        events = answer.read().decode()
        assert answer.status_code == 201
    turn_id = answer.headers["Location"].removeprefix("/v1/turns/")
    assert f'"turn_id":"{turn_id}"' in events
    assert ada.get(f"/v1/turns/{turn_id}").json()["completed_at"] in events


def test_a_turn_of_a_profile_begins_with_its_memories_and_may_read_them(
    served: Served, tenant: str, model: ScriptedServer
) -> None:
    note = {"type": "feedback", "name": "feedback_tests", "description": "Real databases", "body": "Never mock one."}
    with served.client(tenant, agent="coder") as coder:
        row = coder.post("/v1/memories", json=note).json()
        model.scripts[:] = [says("", [("memory_read", {"name": "feedback_tests"})]), says("With a real one.")]
        events = stream(coder, "How do I test this?")
    first, second = (json.dumps(one.body) for one in model.requests[:2])
    assert "- feedback_tests (feedback): Real databases" in first
    offered = {tool.get("name") or tool["function"]["name"] for tool in model.requests[0].body["tools"]}
    assert offered == {"recall", "read_tool_output", "memory_list", "memory_read"}
    assert "Never mock one." not in first
    assert "Never mock one." in second
    told = {name: data for _, name, data in events}
    assert told["memory.injected"]["ids"] == [row["id"]]
    assert told["tool.completed"]["is_error"] is False


def test_a_turn_of_no_profile_has_nothing_of_one(served: Served, tenant: str, model: ScriptedServer) -> None:
    note = {"type": "user", "name": "user_bank", "description": "The balance", "body": "It is low."}
    with served.client(tenant, agent="finance") as finance, served.client(tenant) as ada:
        finance.post("/v1/memories", json=note)
        ask(ada, "Hello.")
        asked = json.dumps([one.body for one in model.requests])
        assert "memory_list" not in asked
        assert "The balance" not in asked
        ask(finance, "Hello.", context={"include_memory": False})
        assert "The balance" not in json.dumps([one.body for one in model.requests])
