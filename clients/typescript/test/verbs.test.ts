import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";
import { Client, Forbidden, InvalidField, NotFound, StaleVersion, Unauthenticated } from "memorist";
import { nowhere } from "./faulty.js";
import { VERBS } from "./generated/verbs.js";
import { all, serve } from "./served.js";

const served = await serve();

test("every verb of the Python client is there", () => {
  const client = served.somebody();
  const missing = Object.keys(VERBS).filter((name) => typeof client[name as keyof Client] !== "function");
  assert.deepEqual(missing, []);
});

test("what is remembered is recalled, listed, changed and forgotten", async () => {
  const memory = served.somebody();
  const { memory: stored, was_new } = await memory.remember("The office is in Lisbon.", { category: "place" });
  assert.ok(was_new);
  const recalled = await memory.recall("Where is the office?", { top_k: 1 });
  assert.equal(recalled.hits[0]?.excerpt, "The office is in Lisbon.");
  const changed = await memory.edit(
    stored.id,
    { content: "The office is in Porto." },
    { expected_version: stored.version },
  );
  assert.equal(changed.content, "The office is in Porto.");
  await assert.rejects(memory.edit(stored.id, { importance: 1 }, { expected_version: stored.version }), StaleVersion);
  await memory.forget(stored.id);
  assert.deepEqual(await all(memory.iterate()), []);
  assert.equal((await memory.restore(stored.id)).status, "active");
  const actions = (await memory.events(stored.id)).map((event) => event.event_type);
  assert.ok(actions.length >= 4);
});

test("a list is one page when it is awaited, and everything when it is iterated", async () => {
  const memory = served.somebody();
  await memory.rememberAll([1, 2, 3, 4, 5].map((number) => ({ content: `Fact ${number}.` })));
  const page = await memory.list({ limit: 2 });
  assert.equal(page.items.length, 2);
  assert.equal((await page.next())?.items.length, 2);
  assert.equal((await all(page)).length, 5);
  assert.equal((await all(memory.list({ limit: 2 }))).length, 5);
  assert.equal((await all(memory.iterate({ limit: 3 }))).length, 5);
});

test("the companion's document is followed to the letter", async () => {
  const amy = served.somebody();
  const fact = await amy.memory.create({ text: "Vegetarian. No fish.", category: "preference" });
  assert.deepEqual(Object.keys(fact).sort(), [
    "category",
    "confidence",
    "created_at",
    "id",
    "meta",
    "source_turn_id",
    "text",
  ]);
  assert.equal(fact.confidence, 1.0);
  await amy.memory.create({ text: "Lift deep sleep.", category: "goal" });
  const { data: facts, next_cursor, has_more } = await amy.memory.list({ category: "goal" });
  assert.deepEqual([facts.length, next_cursor, has_more], [1, null, false]);
  assert.equal((await amy.memory.list({ limit: 1 })).has_more, true);
  assert.equal((await all(amy.memory.list({ limit: 1 }))).length, 2);
  await amy.memory.delete(fact.id);
  assert.equal((await amy.memory.list()).data.length, 1);
  await assert.rejects(amy.memory.delete(fact.id), NotFound);
  await assert.rejects(
    // @ts-expect-error: a category is required
    amy.memory.create({ text: "Vegetarian." }),
    (error) => error instanceof InvalidField && error.status === 400,
  );
});

test("a turn is awaited to its end, or followed as it comes", async () => {
  const amy = served.somebody();
  await amy.memory.create({ text: "Lives in Lisbon.", category: "history" });
  const messages = [{ role: "user" as const, content: "Where do I live?" }];
  const turn = await amy.turns.create({ messages, context: { include_memory: false } });
  assert.equal(turn.status, "completed");
  assert.equal(turn.result?.answer, "You live in Lisbon, by the river.");
  const run = amy.turns.create({ messages });
  const events = await all(run);
  assert.equal((await run).id, events[0]?.data.turn_id);
  assert.ok(events.some(({ event }) => event === "memory.injected"));
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal((await all(amy.turn(messages).text())).join(""), "You live in Lisbon, by the river.");
  assert.equal((await amy.turns.list()).data.length, 3);
  const [newest] = (await amy.turns({ limit: 1 })).items;
  assert.equal((await amy.turns.get(newest?.id ?? "")).status, "completed");
  assert.equal((await amy.getTurn(turn.id)).answer, "You live in Lisbon, by the river.");
  assert.equal((await all(amy.turns.events(turn.id, { after: 1 })))[0]?.seq, 2);
});

test("a turn goes on after a cut, and is taken once", async () => {
  const cut: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    return isStream && cuts-- > 0 ? new Response(halved(response), response) : response;
  };
  let cuts = 2;
  const amy = served.somebody({ fetch: cut, sleep: async () => {} });
  const events = await all(amy.turns.create({ messages: [{ role: "user", content: "Where do I live?" }] }));
  assert.ok(cuts <= 0);
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.at(-1)?.event, "turn.completed");
  assert.equal((await amy.turns.list()).data.length, 1);
});

/** The first piece of an answer, and then a connection that breaks. */
function halved(response: Response): ReadableStream {
  const reader = response.body?.getReader();
  let pieces = 0;
  return new ReadableStream({
    async pull(controller) {
      if (pieces++ === 1) {
        await reader?.cancel();
        controller.error(new TypeError("terminated"));
        return;
      }
      const { value } = (await reader?.read()) ?? {};
      controller.enqueue(value);
    },
  });
}

test("changes are told as they happen", async () => {
  const memory = served.somebody();
  const controller = new AbortController();
  const found: string[] = [];
  // What other tests share, and shared no longer.
  const after = (await all(memory.changes({ after: "0-0", wait: 0 }))).at(-1)?.position ?? "0-0";
  const following = (async () => {
    for await (const change of memory.changes({ after, signal: controller.signal })) {
      found.push(change.action);
      if (change.action === "deleted") return change;
    }
    return null;
  })();
  const { memory: stored } = await memory.rememberFact("Rex is a dog.");
  await memory.forget(stored.id);
  const last = await following;
  assert.equal(last?.action, "deleted");
  assert.equal((await memory.list({ status: "soft_deleted" })).items[0]?.id, stored.id);
  assert.equal((await all(memory.changes({ after, wait: 0 }))).at(-1)?.position, last?.position);
});

test("a signal ends a stream and a call", async () => {
  const memory = served.somebody();
  const controller = new AbortController();
  const following = all(memory.changes({ signal: controller.signal }));
  controller.abort();
  await assert.rejects(following, { name: "AbortError" });
  await assert.rejects(memory.list({ signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("what is exported can be imported", async () => {
  const memory = served.somebody();
  await memory.remember("One\u2028line. 猫");
  const lines = await all(memory.export());
  assert.equal(await memory.reset(), 1);
  const report = await memory.import(lines);
  assert.deepEqual([report.imported, report.incomplete], [1, 0]);
  assert.equal((await memory.import(lines.slice(0, -1))).incomplete, 1);
});

test("an empty name is nobody, and not the caller", async () => {
  const memory = served.somebody();
  await memory.remember("Ada likes figs.");
  const refused = (field: string) => (error: unknown) => error instanceof InvalidField && error.field === field;
  await assert.rejects(memory.purge(""), refused("user"));
  await assert.rejects(memory.section(""), InvalidField);
  await assert.rejects(memory.createToken(""), refused("user"));
  await assert.rejects(memory.revokeTokens(""), refused("user"));
  assert.equal((await all(memory.iterate())).length, 1);
  assert.ok((await memory.purge(null)).verification?.ok);
  assert.deepEqual(await all(memory.iterate()), []);
});

test("messages, documents and tools", async () => {
  const memory = served.somebody();
  await memory.messages.add("chat/1", [{ role: "user", content: "I like tea.", event_time: new Date(0) }]);
  assert.equal((await memory.messages.list("chat/1")).items[0]?.event_time, "1970-01-01T00:00:00.000000Z");
  await memory.documents.add("Notes", new TextEncoder().encode("# Cats purr."), { media_type: "text/markdown" });
  const [document] = await all(memory.documents.list());
  assert.equal((await memory.documents.get(document?.id ?? "")).title, "Notes");
  assert.ok((await memory.tools("mcp")).length > 3);
  const found = await memory.runTool("recall", { query: "tea" });
  assert.ok(Array.isArray(found.results ?? found.hits) || found.total !== undefined);
});

test("who may not do something is told so", async () => {
  const reader = new Client({ url: served.url, api_key: served.keys.reader });
  await assert.rejects(reader.remember("No."), Forbidden);
  const nobody = new Client({ url: served.url, api_key: "mst_live_wrong" });
  await assert.rejects(nobody.principal(), (error) => error instanceof Unauthenticated && error.status === 401);
});

test("no key is in a log, an error or an inspection", async () => {
  const secret = served.keys.user;
  const client = new Client({ url: served.url, api_key: secret });
  const lost = new Client({ url: await nowhere(), api_key: secret, retries: { most: 0 } });
  const refused = await client.get("nonsense").catch((error) => error);
  const unreachable = await lost.list().then(null, (error: unknown) => error);
  for (const shown of [client, client.memory, client.turns, client.list(), refused, unreachable]) {
    assert.ok(!inspect(shown, { depth: 10, showHidden: true }).includes(secret));
    assert.ok(!JSON.stringify(shown ?? null)?.includes(secret));
    assert.ok(!String((shown as Error).stack ?? shown).includes(secret));
  }
});

test("a key, an address and whom it acts for are checked before anything is sent", () => {
  assert.throws(() => new Client({ url: "127.0.0.1", api_key: "k" }), { code: "invalid_setting" });
  assert.throws(
    () => new Client({ url: "http://ada:pass@localhost", api_key: "k" }),
    (error: Error) => {
      return !error.message.includes("pass@");
    },
  );
  assert.throws(() => new Client({ api_key: "two\nlines" }), { code: "unauthenticated" });
  assert.throws(() => new Client({ api_key: "k", user: "two words" }), { code: "invalid_field" });
});

test("whoever every other door takes is taken", async () => {
  for (const user of ["👩‍💻", "a\u200db", "a\ue000b", "\ufeffada", "日".repeat(128)]) {
    assert.equal((await served.somebody({ user }).principal()).user, user);
  }
  for (const user of ["", "a\u0085b", "a\u00a0b", "a\ud800", "日".repeat(129)]) {
    assert.throws(() => served.somebody({ user }), { code: "invalid_field", field: "user" });
  }
});

test("what no address can name is refused, and the name of another path is no id", async () => {
  const memory = served.somebody();
  const message = [{ role: "user", content: "Hello." }];
  for (const name of ["", ".", ".."]) {
    const refused = (field: string) => ({ code: "invalid_field", field });
    await assert.rejects(memory.addMessages(name, message), refused("session"));
    await assert.rejects(memory.listMessages(name).then(), refused("session"));
    await assert.rejects(memory.addToolOutput(name, { tool_call_id: "1", tool_name: "t", content: "" }), InvalidField);
    await assert.rejects(memory.addDocument("Notes", "Text.", { document_id: name }), refused("document_id"));
    await assert.rejects(memory.getDocument(name), refused("document_id"));
    await assert.rejects(memory.forgetDocument(name), refused("document_id"));
  }
  for (const id of ["", ".", "..", "batch", "export", "recall", "in-doubt", "\ud800".repeat(26)]) {
    for (const verb of ["get", "forget", "history", "eraseEntry", "getJob", "getTurn", "receipt"] as const) {
      await assert.rejects(memory[verb](id), { code: "invalid_id" });
    }
    await assert.rejects(memory.edit(id, { importance: 1 }), { code: "invalid_id" });
  }
  await memory.addMessages("a/../b", message);
  assert.equal((await all(memory.listMessages("a/../b"))).length, 1);
});
