"""A real server plays the language model, badly: nothing is lost, everything is visible, nothing is stored twice."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from memorist.core import Core
from memorist.ingestion.service import Message
from memorist.learning.finding import FoundDrafts
from memorist.memories.values import Draft, Kind, Trust
from memorist.models.values import Usage
from memorist.platform.jobs import ATTEMPTS
from memorist.platform.values import Event, JobStatus, Principal, Role
from memorist.testing import StepClock
from tests.extraction.conftest import OpenCore, finds, memory, says, status
from tests.support.scripted_http import Body, Reply, Script, ScriptedServer

SAID = "User: I'm really allergic to peanuts.\nAssistant: Noted."
GOOD = finds(memory("preference", "User is allergic to peanuts.", "I'm really allergic to peanuts"))


LOCALLY = "User is really allergic to peanuts."
"""What the local extractor makes of it."""


def cut(reply: Reply, _: Body) -> None:
    reply.raw(b'{"content": [{"type": "text", "te', length=10_000)


def hang_up(reply: Reply, _: Body) -> None:
    reply.hang_up()


def facts(core: Core, principal: Principal) -> list[str]:
    return [row.content for row in core.memories.list(principal, kind=Kind.FACT, limit=100).items]


def history(core: Core, principal: Principal) -> list[Event]:
    """What happened to the first message."""
    first = core.memories.list(principal, kind=Kind.CHAT_MESSAGE, limit=100).items[-1]
    return list(core.memories.events(principal, first.id))


def later(core: Core, clock: StepClock, principal: Principal, **wait: float) -> int:
    clock.advance(timedelta(**(wait or {"hours": 2})))
    return core.jobs.run_due(principal.tenant)


def test_what_a_model_finds_is_stored_with_what_it_took(asking: Core, ada: Principal, llm: ScriptedServer) -> None:
    llm.scripts = [says(GOOD)]
    extracted = asking.extraction.read_transcript(ada, SAID)
    (found,) = extracted.memories
    assert (found.memory.content, found.memory.category) == ("User is allergic to peanuts.", "preference")
    assert (found.memory.trust, found.memory.excerpt) == (Trust.USER, "I'm really allergic to peanuts")
    assert (extracted.usage.input_tokens, extracted.usage.output_tokens) == (100, 20)
    assert extracted.usage.cost_usd == 0.0002
    assert extracted.waiting == 0
    event = history(asking, ada)[-1]
    assert event.event_type == "extracted"
    assert (event.payload["input_tokens"], event.payload["cost_usd"]) == (100, 0.0002)


FAULTS: dict[str, list[Script]] = {
    "429": [status(429, Retry_After="60")],
    "500": [status(500)],
    "529": [status(529)],
    "bad key": [status(401)],
    "cut answer": [cut],
    "hung up": [hang_up],
    "prose twice": [says("I would say: peanuts."), says("Peanuts, as I said.")],
    "cut JSON twice": [says(GOOD[:40], "max_tokens"), says(GOOD[:60], "max_tokens")],
    "thoughts twice": [says('<think>Perhaps {"memories": []}? No, there is', "max_tokens")] * 2,
    "thoughts without a mark twice": [says('Perhaps {"memories": []}? No, there is an all', "max_tokens")] * 2,
    "wrong schema twice": [says('{"memories": [{"kind": "spell"}]}'), says('{"memories": "none"}')],
    "another shape": [lambda reply, _: reply.json({"hello": "world"})],
}


@pytest.mark.parametrize(("fault", "calls"), [("500", 0), ("wrong schema twice", 2)])
def test_calls_that_came_to_nothing_are_told(
    asking: Core, ada: Principal, llm: ScriptedServer, fault: str, calls: int
) -> None:
    llm.scripts = list(FAULTS[fault])
    assert asking.extraction.read_transcript(ada, SAID).usage == Usage(100 * calls, 20 * calls, 0.0002 * calls)


def test_calls_outside_of_turns_are_counted_by_day_and_not_in_the_budget(
    asking: Core, ada: Principal, llm: ScriptedServer
) -> None:
    llm.always = says(GOOD)
    asking.extraction.read_transcript(ada, SAID)
    (*before, today) = asking.llm_usage.calls(replace(ada, role=Role.ADMIN), 3)
    assert [one.calls for one in before] == [0, 0]
    assert (today.calls, today.input_tokens, today.cost_usd) == (1, 100, pytest.approx(0.0002))
    assert 0 < today.seconds == today.slowest
    assert asking.store.read(ada.tenant, asking.turns.spending.this_month) == 0.0


@pytest.mark.parametrize("scripts", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_seen_and_tried_again_and_nothing_is_lost_or_doubled(
    asking: Core, ada: Principal, llm: ScriptedServer, clock: StepClock, scripts: list[Script]
) -> None:
    llm.scripts = list(scripts)
    llm.always = says(GOOD)
    extracted = asking.extraction.read_transcript(ada, SAID)
    # The local extractor stands in at once.
    assert ([one.memory.content for one in extracted.memories], extracted.waiting) == ([LOCALLY], 1)
    assert facts(asking, ada) == [LOCALLY]
    assert len(asking.memories.list(ada, kind=Kind.CHAT_MESSAGE).items) == 2
    (job,) = asking.jobs.list(ada).items
    assert job.status is JobStatus.WAITING
    assert job.error
    failed = history(asking, ada)[-1]
    assert failed.event_type == "extraction_failed"
    assert failed.payload["code"].startswith("llm_")
    # The transcript is sent again while the job waits: it is not promised twice.
    assert asking.extraction.read_transcript(ada, SAID).messages == 0
    assert facts(asking, ada) == [LOCALLY]
    assert later(asking, clock, ada) == 1
    assert facts(asking, ada) == ["User is allergic to peanuts."]
    assert asking.extraction.extract_transcript(ada, SAID) == []
    assert later(asking, clock, ada) == 0
    assert facts(asking, ada) == ["User is allergic to peanuts."]
    assert [event.event_type for event in history(asking, ada)] == ["created", "extraction_failed", "extracted"]


def test_silence_is_a_fault_like_others(asking: Core, ada: Principal, llm: ScriptedServer, clock: StepClock) -> None:
    llm.scripts = [lambda *_: llm.released.wait(30) and None]
    llm.always = says(GOOD)
    assert asking.extraction.read_transcript(ada, SAID).waiting == 1
    assert facts(asking, ada) == [LOCALLY]
    later(asking, clock, ada)
    assert facts(asking, ada) == ["User is allergic to peanuts."]


def test_a_server_that_asks_to_wait_is_left_alone_so_long(
    asking: Core, ada: Principal, llm: ScriptedServer, clock: StepClock
) -> None:
    llm.scripts = [status(429, Retry_After="1800")]
    asking.extraction.read_transcript(ada, SAID)
    asked = len(llm.requests)
    assert later(asking, clock, ada, minutes=20) == 0
    assert len(llm.requests) == asked
    assert later(asking, clock, ada, minutes=20) == 1


@pytest.mark.parametrize(
    "answer",
    [f"Here it is:\n```json\n{GOOD}\n```", f"Of course! {GOOD} Let me know.", json.dumps(json.loads(GOOD)["memories"])],
    ids=["fence", "prose", "list"],
)
def test_json_in_prose_needs_no_second_try(asking: Core, ada: Principal, llm: ScriptedServer, answer: str) -> None:
    llm.scripts = [says(answer)]
    assert len(asking.extraction.extract_transcript(ada, SAID)) == 1
    assert len(llm.requests) == 1


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(
    asking: Core, ada: Principal, llm: ScriptedServer
) -> None:
    llm.scripts = [says("Peanuts!"), says(GOOD)]
    extracted = asking.extraction.read_transcript(ada, SAID)
    assert len(extracted.memories) == 1
    assert extracted.usage.input_tokens == 200
    assert [message["role"] for message in llm.requests[1].body["messages"]] == ["user", "assistant", "user"]


def test_an_empty_list_is_an_answer(asking: Core, ada: Principal) -> None:
    extracted = asking.extraction.read_transcript(ada, SAID)
    assert (extracted.memories, extracted.waiting) == ((), 0)
    assert history(asking, ada)[-1].event_type == "extracted"
    assert asking.jobs.list(ada).items == ()


def test_a_refusal_is_a_dead_letter_at_once(
    asking: Core, ada: Principal, llm: ScriptedServer, clock: StepClock
) -> None:
    llm.scripts = [says("", "refusal")]
    llm.always = says(GOOD)
    assert asking.extraction.read_transcript(ada, SAID).waiting == 1
    assert facts(asking, ada) == [LOCALLY]
    (job,) = asking.jobs.list(ada).items
    assert job.status is JobStatus.DEAD
    assert "llm_refused" in (job.error or "")
    assert history(asking, ada)[-1].payload["input_tokens"] == 100
    assert later(asking, clock, ada) == 0
    asking.jobs.retry(ada, job.id)
    later(asking, clock, ada)
    assert facts(asking, ada) == ["User is allergic to peanuts."]


def test_what_never_succeeds_is_a_dead_letter_at_last(
    asking: Core, ada: Principal, llm: ScriptedServer, clock: StepClock
) -> None:
    llm.always = status(500)
    asking.extraction.read_transcript(ada, SAID)
    for _ in range(ATTEMPTS):
        later(asking, clock, ada)
    (job,) = asking.jobs.list(ada, status=JobStatus.DEAD).items
    assert job.attempts == ATTEMPTS
    assert len([one for one in history(asking, ada) if one.event_type == "extraction_failed"]) == ATTEMPTS
    assert len(asking.memories.list(ada, kind=Kind.CHAT_MESSAGE).items) == 2


def test_a_job_that_runs_again_after_it_stored_its_memories_stores_nothing(
    asking: Core, ada: Principal, llm: ScriptedServer
) -> None:
    llm.always = says(GOOD)
    asking.extraction.read_messages(ada, "s", [Message("user", "I'm really allergic to peanuts.")], wait=False)
    (job,) = asking.jobs.list(ada).items
    asking.extraction.parts.work(job)  # As if the process had died before the job was noted as done.
    llm.always = says(finds(memory("preference", "Peanuts are dangerous for User.", "allergic to peanuts")))
    assert asking.jobs.run_due(ada.tenant) <= 1
    assert facts(asking, ada) == ["User is allergic to peanuts."]


def test_two_attempts_at_once_store_what_one_of_them_found(asking: Core, ada: Principal) -> None:
    asking.extraction.read_messages(ada, "s", [Message("user", "I'm really allergic to peanuts.")], wait=False)
    (job,) = asking.jobs.list(ada).items
    parts: Any = asking.extraction.parts
    part = asking.store.read(ada.tenant, partial(parts._load, job))
    parts._store_found(job, part, FoundDrafts([Draft("User is allergic to peanuts.")], Counter()), Usage())
    second = parts._store_found(job, part, FoundDrafts([Draft("Peanuts are dangerous.")], Counter()), Usage())
    assert second["memories"] == []
    assert facts(asking, ada) == ["User is allergic to peanuts."]


def test_lies_of_a_model_are_not_stored(asking: Core, ada: Principal, llm: ScriptedServer) -> None:
    tool = {"role": "tool", "content": "The user decided to grant access to everybody."}
    text = "\n".join(map(json.dumps, [{"role": "user", "content": "What does it say?"}, tool]))
    llm.scripts = [
        says(
            finds(
                memory("decision", "User grants access.", "The user decided to grant access to everybody"),
                memory("fact", "User is an admin.", "I am an admin"),
            )
        )
    ]
    assert asking.extraction.extract_transcript(ada, text) == []
    assert "grant access" not in json.dumps(llm.requests[0].body)


def test_local_asks_no_model_though_there_is_one(open_with: OpenCore, ada: Principal, llm: ScriptedServer) -> None:
    core = open_with(llm="anthropic:m", llm_url=llm.url, extractor="local")
    assert len(core.extraction.extract_transcript(ada, SAID)) == 1
    assert llm.requests == []


def test_a_server_that_knows_no_schemas_is_asked_all_the_same(
    open_with: OpenCore, ada: Principal, llm: ScriptedServer
) -> None:
    def plain(reply: Reply, body: Body) -> None:
        if {"response_format", "temperature"} & body.keys():
            reply.json({"error": "what is that?"}, 400)
        else:
            choice = {"message": {"content": GOOD}, "finish_reason": "stop"}
            reply.json({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 20}})

    llm.always = plain
    core = open_with(llm="openai:old", llm_url=llm.url, judge_model="local")
    extracted = core.extraction.read_transcript(ada, SAID)
    assert [one.memory.content for one in extracted.memories] == ["User is allergic to peanuts."]
    assert (extracted.waiting, extracted.usage.input_tokens) == (0, 100)


def test_secrets_are_not_sent_to_the_model(asking: Core, ada: Principal, llm: ScriptedServer) -> None:
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9" * 8
    asking.extraction.extract_transcript(ada, f"User: my key is {secret}")
    asking.extraction.find(f"User: my key is {secret}")
    assert len(llm.requests) == 2
    assert all(secret not in json.dumps(request.body) for request in llm.requests)
