import assert from "node:assert/strict";
import test from "node:test";
import * as memorist from "memorist";
import { answer, cut, events, faultyServer, hangUp, nowhere, problem, type Step, silence } from "./faulty.js";
import { all } from "./served.js";

const { Client, ERRORS, MemoristError, ServerUnavailable } = memorist;
const faulty = await faultyServer();
const client = new Client(faulty.options);
const TOOLS = answer({ tools: [] });
const FACT = answer({ memory: {}, was_new: true });

for (const status of [429, 502, 503, 504]) {
  test(`a server that answers ${status} is asked again`, async () => {
    faulty.begin(answer("busy", status), answer("busy", status), TOOLS);
    assert.deepEqual(await client.tools(), []);
    assert.deepEqual(faulty.pauses, [500, 1000]);
  });
}

test("the server decides how long to wait", async () => {
  faulty.begin(problem(503, "store_busy", { "Retry-After": "7" }), TOOLS);
  await client.tools();
  assert.deepEqual(faulty.pauses, [7500]);
});

test("wait until a date", async () => {
  faulty.begin(answer("", 429, { "Retry-After": new Date(Date.now() + 20_000).toUTCString() }), TOOLS);
  await client.tools();
  assert.ok((faulty.pauses[0] ?? 0) > 15_000 && (faulty.pauses[0] ?? 0) <= 20_500);
});

test("a server that asks for too long is not waited for", async () => {
  faulty.begin(problem(503, "store_unavailable", { "Retry-After": "3600" }));
  await assert.rejects(client.tools(), memorist.StoreUnavailable);
  assert.deepEqual(faulty.pauses, []);
});

for (const [name, fault] of Object.entries<Step>({ "hung up": hangUp, cut })) {
  test(`a read survives a connection that is ${name}`, async () => {
    faulty.begin(fault, TOOLS);
    assert.deepEqual(await client.tools(), []);
    assert.equal(faulty.pauses.length, 1);
  });
}

test("a repeated write carries the same key, and each write one of its own", async () => {
  faulty.begin(hangUp, problem(503, "store_busy"), FACT, FACT, FACT);
  await client.rememberFact("One.");
  await client.rememberFact("Two.");
  await client.rememberFact("Three.", "user", { idempotency_key: "mine" });
  const keys = faulty.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.equal(new Set(keys).size, 3);
  assert.equal(keys[4], "mine");
});

test("a write without a key is not sent twice", async () => {
  faulty.begin(hangUp);
  await assert.rejects(client.addDocument("Notes", "Some text."), ServerUnavailable);
  assert.equal(faulty.seen.length, 1);
});

test("a write that is still being worked on is waited for", async () => {
  faulty.begin(problem(409, "idempotency_in_flight", { "Retry-After": "1" }), FACT);
  await client.rememberFact("The sky is blue.");
  assert.deepEqual(faulty.pauses, [1500]);
});

test("a server that never answers is given up", async () => {
  faulty.begin(silence, silence);
  const hasty = new Client({ ...faulty.options, timeout: 50, retries: { most: 1 } });
  await assert.rejects(hasty.tools(), ServerUnavailable);
  assert.equal(faulty.seen.length, 2);
});

test("nobody at the address: nothing was sent, so that any write may be tried again", async () => {
  faulty.begin();
  const url = await nowhere();
  const lost = new Client({ ...faulty.options, url });
  await assert.rejects(lost.addDocument("Notes", "Some text."), (error: unknown) => {
    assert.ok(error instanceof ServerUnavailable);
    assert.ok(error.message.startsWith(`The server at ${url} did not answer: `));
    return true;
  });
  assert.equal(faulty.pauses.length, 3);
});

test("every code is a class of the one tree", async () => {
  for (const [code, kind] of Object.entries(ERRORS)) {
    if (code === "idempotency_in_flight") continue;
    faulty.begin(problem(418, code));
    const error = await client.tools().then(
      () => assert.fail(),
      (error: unknown) => error,
    );
    assert.ok(error instanceof kind && error instanceof MemoristError);
    assert.deepEqual(
      [error.code, error.name, error.message, error.field, error.status, error.request_id],
      [code, kind.name, `It is ${code}.`, "content", 418, "req_1"],
    );
  }
});

for (const [name, step, code] of [
  ["a page", answer("<html>Sign in</html>"), "server_unavailable"],
  ["another shape", answer({ data: 1 }, 500), "server_unavailable"],
  ["a way elsewhere", answer("", 301, { Location: "/elsewhere" }), "server_unavailable"],
  ["a proxy that knows nobody", answer("no", 401), "unauthenticated"],
  ["a proxy that refuses", answer("no", 403), "forbidden"],
  ["a proxy with a limit", answer("too large", 413), "payload_too_large"],
] as const) {
  test(`the answer of something else is told: ${name}`, async () => {
    faulty.begin(step);
    await assert.rejects(client.tools(), { code });
  });
}

test("a signal ends the wait for the next try, and a client that is closed ends everything", async () => {
  const controller = new AbortController();
  faulty.begin(answer("", 503, { "Retry-After": "20" }));
  const { sleep: _, ...patient } = faulty.options;
  const waiting = new Client(patient).tools("mcp", { signal: controller.signal });
  const given = setInterval(() => faulty.seen.length > 0 && controller.abort(new Error("enough")), 5);
  await assert.rejects(waiting, { message: "enough" });
  clearInterval(given);
  faulty.begin(silence);
  const closed = new Client(faulty.options);
  const asked = closed.tools();
  closed.close();
  await assert.rejects(asked, { code: "server_unavailable", message: "The client was closed." });
});

test("a key that is a function is asked for before every request", async () => {
  faulty.begin(TOOLS, TOOLS);
  let number = 0;
  const renewing = new Client({ ...faulty.options, api_key: async () => `mst_user_${++number}` });
  await renewing.tools();
  await renewing.tools();
  assert.deepEqual(
    faulty.seen.map(({ headers }) => headers.authorization),
    ["Bearer mst_user_1", "Bearer mst_user_2"],
  );
});

test("what surrounds a key is no part of it", async () => {
  faulty.begin(TOOLS, TOOLS, TOOLS);
  for (const api_key of ["mst_live_x\n", " mst_live_x\r\n", () => "mst_live_x\n"]) {
    await new Client({ ...faulty.options, api_key }).tools();
  }
  const sent = faulty.seen.map(({ headers }) => headers.authorization);
  assert.deepEqual(sent, ["Bearer mst_live_x", "Bearer mst_live_x", "Bearer mst_live_x"]);
  assert.throws(() => new Client({ ...faulty.options, api_key: " \n" }), { code: "unauthenticated" });
});

test("how often to try that is left undefined is three times", async () => {
  const busy = answer("busy", 503);
  faulty.begin(busy, busy, busy, busy, TOOLS);
  const retries = { most: undefined, first: undefined, longest: undefined };
  await assert.rejects(new Client({ ...faulty.options, retries }).tools(), ServerUnavailable);
  assert.deepEqual(faulty.pauses, [500, 1000, 2000]);
});

test("what a proxy finds a user's server by is sent back, if it is that", async () => {
  const hint = "0123456789abcdef";
  faulty.begin(
    answer({ tools: [] }, 200, { "X-Memorist-Affinity": hint }),
    answer({ tools: [] }, 200, { "X-Memorist-Affinity": "else" }),
    TOOLS,
  );
  const fresh = new Client(faulty.options);
  for (let count = 0; count < 3; count++) await fresh.tools();
  assert.deepEqual(
    faulty.seen.map(({ headers }) => headers["x-memorist-affinity"]),
    [undefined, hint, hint],
  );
});

test("whom a key acts for is told in UTF-8", async () => {
  faulty.begin(TOOLS);
  await new Client({ ...faulty.options, user: "zoë", agent: "coder" }).tools();
  assert.equal(Buffer.from(String(faulty.seen[0]?.headers["x-memorist-user"]), "latin1").toString(), "zoë");
});

// Streams

test("a stream goes on after the last event", async () => {
  faulty.begin(
    events(
      "retry: 100\nid: 1\n: hello\n\nevent: token\nid: 2\ndata: a\n\n" +
        "id: 3\n: still here\n\nevent: token\ndata: half",
    ),
    hangUp,
    events("event: token\r\nid: 4\r\ndata: b\r\n\r\nevent: done\nid: 5\ndata: {}\n\n"),
  );
  const found = await all(client.stream("/v1/turns/1", { ends: ["done"] }));
  assert.deepEqual(
    found.map(({ event, data }) => [event, data]),
    [
      ["token", "a"],
      ["token", "b"],
      ["done", "{}"],
    ],
  );
  assert.deepEqual(
    faulty.seen.map(({ headers }) => headers["last-event-id"]),
    [undefined, "3", "3"],
  );
  assert.deepEqual(faulty.pauses, [100, 500]);
});

test("a stream of a server that stays away ends with an error", async () => {
  faulty.begin(hangUp, hangUp, hangUp, hangUp);
  await assert.rejects(all(client.stream("/s")), ServerUnavailable);
  assert.equal(faulty.pauses.length, 3);
});

test("a stream that is refused is not tried again", async () => {
  faulty.begin(problem(401, "unauthenticated"));
  await assert.rejects(all(client.changes()), memorist.Unauthenticated);
});

const STARTED = 'id: 1\nevent: turn.started\ndata: {"turn_id":"turn_1"}\n\n';
const TOKEN = 'id: 2\nevent: answer.delta\ndata: {"text":"Hi"}\n\n';
const COMPLETED = "id: 3\nevent: turn.completed\ndata: {}\n\n";

test("a turn is taken once, and goes on after a cut", async () => {
  faulty.begin(hangUp, events(STARTED + TOKEN), answer("", 503), events(COMPLETED));
  const found = await all(client.turn([{ role: "user", content: "Hello" }], { session: "s1" }));
  assert.deepEqual(
    found.map(({ event }) => event),
    ["turn.started", "answer.delta", "turn.completed"],
  );
  assert.deepEqual(
    faulty.seen.map(({ method, path }) => `${method} ${path}`),
    ["POST /v1/turns", "POST /v1/turns", "GET /v1/turns/turn_1/events", "GET /v1/turns/turn_1/events"],
  );
  assert.equal(faulty.seen[0]?.headers["idempotency-key"], faulty.seen[1]?.headers["idempotency-key"]);
  assert.deepEqual(JSON.parse(faulty.seen[0]?.body ?? ""), {
    messages: [{ role: "user", content: "Hello" }],
    context: { include_memory: true, session_id: "s1" },
    stream: true,
  });
});

test("a turn that cannot be taken is told", async () => {
  faulty.begin(problem(503, "llm_not_configured"));
  await assert.rejects(client.turns.create({ messages: [] }), memorist.LlmNotConfigured);
});

const BEGINS = "retry: 2000\nid: 1-0\n: following\n\n";
const CHANGED = 'event: resource_change\nid: 2-0\ndata: {"action":"created","id":"1","at":"2026-01-02T03:04:05Z"}\n\n';
const QUIET = "event: quiet\ndata: {}\nid: 2-0\n\n";

for (const [wait, seconds] of [
  [1500, "1.5"],
  [0, "0"],
  [-1, "0"],
  [Number.POSITIVE_INFINITY, "31536000"],
] as const) {
  test(`changes are told until the server was quiet for ${wait} milliseconds`, async () => {
    faulty.begin(events(BEGINS + CHANGED + QUIET));
    const found = await all(client.changes({ wait, after: "0-0" }));
    assert.deepEqual(
      found.map(({ action, position }) => [action, position]),
      [["created", "2-0"]],
    );
    assert.equal(faulty.seen[0]?.path, `/v1/events/stream?wait=${seconds}`);
    assert.equal(faulty.seen[0]?.headers["last-event-id"], "0-0");
  });
}

test("changes are asked for as long as is left after a cut", async (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const later =
    (step: Step): Step =>
    (response, request) => {
      now += 4000;
      step(response, request);
    };
  faulty.begin(...[BEGINS, BEGINS, BEGINS + CHANGED, BEGINS + QUIET].map((text) => later(events(text))));
  assert.equal((await all(client.changes({ wait: 5000 }))).length, 1);
  assert.deepEqual(
    faulty.seen.map(({ path }) => path.replace("/v1/events/stream?wait=", "")),
    ["5", "5", "1", "5"],
  );
});

test("changes of a server that does not end them end when it is idle for long enough", async (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now++ * 600);
  faulty.begin(events(`${BEGINS}${CHANGED}id: 3-0\n: still here\n\nid: 4-0\n: still here\n\n${CHANGED}`));
  assert.equal((await all(client.changes({ wait: 100 }))).length, 1);
  assert.equal(faulty.seen.length, 1);
});

test("changes after nothing, or for no time, are refused before they are asked for", async () => {
  faulty.begin();
  await assert.rejects(all(client.changes({ after: "" })), memorist.InvalidCursor);
  await assert.rejects(all(client.changes({ wait: Number.NaN })), { code: "invalid_field", field: "wait" });
  assert.deepEqual(faulty.seen, []);
});

test("a key goes as it is in any script, without spaces around it, or is refused before it is sent", async () => {
  faulty.begin(FACT, FACT, events(STARTED + COMPLETED));
  await client.rememberFact("One.", "user", { idempotency_key: "ключ" });
  await client.rememberFact("One.", "user", { idempotency_key: " lead " });
  await all(client.turn([{ role: "user", content: "Hello" }], { idempotency_key: "猫" }));
  const keys = faulty.seen.map(({ headers }) => Buffer.from(String(headers["idempotency-key"]), "latin1").toString());
  assert.deepEqual(keys, ["ключ", "lead", "猫"]);
  faulty.begin();
  for (const idempotency_key of ["", " ", "a\nb", "a\x01b", "a\u2028b", "\ud800", "k".repeat(256)]) {
    const refused = { code: "invalid_field", field: "Idempotency-Key" };
    await assert.rejects(client.rememberFact("One.", "user", { idempotency_key }), refused);
    await assert.rejects(all(client.turn([{ role: "user", content: "Hello" }], { idempotency_key })), refused);
  }
  for (const expected_version of ["", "é", "a b", 'a"b']) {
    const edited = client.edit("mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3", { importance: 1 }, { expected_version });
    await assert.rejects(edited, memorist.StaleVersion);
  }
  assert.deepEqual(faulty.seen, []);
});

test("what JSON has no word for is refused before it is sent", async () => {
  faulty.begin();
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (const meta of [{ a: Number.NaN }, { a: new Map() }, cycle, { a: 1n }]) {
    await assert.rejects(client.remember("A text.", { meta }), memorist.InvalidField);
  }
  assert.deepEqual(faulty.seen, []);
});

test("a date that is none is refused before it is sent", async () => {
  faulty.begin();
  const never = new Date(Number.NaN);
  const refused = (field: string) => ({ code: "invalid_field", field });
  await assert.rejects(client.remember("A text.", { event_time: never }), refused("event_time"));
  const message = { role: "user" as const, content: "Hello.", event_time: never };
  await assert.rejects(client.addMessages("s", [message]), refused("event_time"));
  await assert.rejects(all(client.turn([message])), refused("event_time"));
  await assert.rejects(all(client.export({ since: never })), refused("since"));
  assert.deepEqual(faulty.seen, []);
});
