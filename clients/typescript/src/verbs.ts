/** The verbs of Memorist, named as in Python: what one principal can do on a server. */

import { type Change, type ChangesOptions, changes } from "./changes.js";
import { MemoryApi, pages, type TurnsApi, turnsApi } from "./companion.js";
import { StaleVersion } from "./generated/errors.js";
import type * as values from "./generated/schemas.js";
import type { Listing, Page } from "./pages.js";
import { follow, lines, type ServerSentEvent } from "./streams.js";
import {
  type Call,
  type CallOptions,
  type ClientOptions,
  errorOf,
  failure,
  idPart,
  part,
  queryOf,
  Transport,
  type WriteOptions,
} from "./transport.js";
import { type TurnEvent, TurnRun, turnEvents } from "./turns.js";

const RECORDS = "/v1/records";
// Well below what a server takes at once, where nobody changed that.
const CHARACTERS_AT_ONCE = 250_000;

export type RememberOptions = Omit<values.Draft, "content"> & WriteOptions;
export type RecallOptions = Omit<values.Question, "query"> & CallOptions;
export type ListOptions = values.ListRecordsQuery & CallOptions;
export type VersionOptions = WriteOptions & {
  /** The version that was read: the change applies only where nobody was faster. */
  expected_version?: string;
};
export type EntriesOptions = Omit<values.ListEntriesQuery, "include"> & CallOptions & { include_tested?: boolean };
export type ExportOptions = values.ExportRecordsQuery & { signal?: AbortSignal };
export type DocumentOptions = Omit<values.NewDocument, "title" | "content" | "content_base64"> & CallOptions;
export type ToolFormat = NonNullable<values.ListToolsQuery["format"]>;
export type Category = values.NewEntry["category"];

/** What the holder of an API key, or of a user's token, can do on a server. */
export class Client {
  readonly #transport: Transport;
  /** What is remembered of the user, as the companion's document has it. */
  readonly memory: MemoryApi;
  /** A page of turns, newest first; and `turns.create`, `list`, `get` and `events`. */
  readonly turns: TurnsApi;

  /** Throws Unauthenticated, InvalidSetting or InvalidField; the server is not asked yet. */
  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(options);
    this.memory = new MemoryApi(this.#transport);
    this.turns = turnsApi(this.#transport);
  }

  // Memories

  /** Store one memory durably. `was_new` is false where this owner already has that fact in that category. */
  remember(content: string, options: RememberOptions = {}): Promise<values.Remembered> {
    const [draft, call] = apart(options);
    return this.#write("POST", RECORDS, { ...draft, content }, call);
  }

  /** Store all drafts in one transaction, or none. */
  rememberAll(drafts: Iterable<values.Draft>, options: WriteOptions = {}): Promise<values.Remembered[]> {
    const call = { ...options, decode: (answer: values.RememberedRecords) => answer.data };
    return this.#write("POST", `${RECORDS}/batch`, { records: [...drafts] }, call);
  }

  /** The memories that answer a question, best first. Throws InvalidField, NotFound (of `why_not`) or StoreError. */
  recall(query: string, options: RecallOptions = {}): Promise<values.Recalled> {
    const [question, call] = apart(options);
    const body = { ...question, query };
    return this.#transport.call({ method: "POST", path: `${RECORDS}/recall`, body, reads: true, ...call });
  }

  /** One memory in full, by its id in any form; the read is counted. Throws NotFound or InvalidId. */
  async get(memory_id: string, options: CallOptions = {}): Promise<values.Memory> {
    return this.#read(`${RECORDS}/${idPart(memory_id)}`, {}, options);
  }

  /** A page of memories, newest first; iterated, all of them. Throws InvalidField or InvalidCursor. */
  list(options: ListOptions = {}): Listing<Page<values.Memory>, values.Memory> {
    return pages(this.#transport, RECORDS, options);
  }

  /** Every memory that `list` shows page by page. Throws as it does. */
  iterate(options: ListOptions = {}): AsyncIterable<values.Memory> {
    return this.list(options);
  }

  /** Change fields of a memory. Throws NotFound, Forbidden, InvalidField, StaleVersion, NameTaken or DuplicateContent. */
  async edit(
    memory_id: string,
    changes: values.MemoryRecordChanges,
    options: VersionOptions = {},
  ): Promise<values.Memory> {
    return this.#write("PATCH", `${RECORDS}/${idPart(memory_id)}`, changes, versioned(options));
  }

  /** Soft-delete a memory: gone from every list at once. Throws NotFound, Forbidden or StaleVersion. */
  async forget(memory_id: string, options: VersionOptions = {}): Promise<values.Memory> {
    return this.#write("DELETE", `${RECORDS}/${idPart(memory_id)}`, undefined, versioned(options));
  }

  /** Take a memory out of recall and lists; it stays readable by its id. */
  async archive(memory_id: string, options: CallOptions = {}): Promise<values.Memory> {
    return this.#do("POST", `${RECORDS}/${idPart(memory_id)}/archive`, options);
  }

  /** Bring back a memory that is archived, or deleted and still recoverable. */
  async restore(memory_id: string, options: CallOptions = {}): Promise<values.Memory> {
    return this.#do("POST", `${RECORDS}/${idPart(memory_id)}/restore`, options);
  }

  /** What happened to a memory, oldest first. Throws NotFound or InvalidId. */
  async events(memory_id: string, options: CallOptions = {}): Promise<values.Event[]> {
    const call = { ...options, decode: (answer: values.EventRecords) => answer.data };
    return this.#read(`${RECORDS}/${idPart(memory_id)}/events`, {}, call);
  }

  /** What an agent is given for a question, as one text for its prompt: what is known of the user, what changed, what
   * recall finds; within a budget. */
  context(
    question = "",
    options: Omit<values.ContextQuestion, "question"> & CallOptions = {},
  ): Promise<values.Composed> {
    const [wanted, call] = apart(options);
    const body = { ...wanted, question };
    return this.#transport.call({ method: "POST", path: "/v1/context", body, reads: true, ...call });
  }

  /** The memory section for a system prompt, fenced: the named memories of a profile, and what is known. */
  section(agent?: string | null, options: CallOptions = {}): Promise<{ text: string; count: number }> {
    return this.#read(
      "/v1/memories/section",
      { profile_id: agent },
      {
        ...options,
        decode: (answer: values.MemorySection) => ({ text: answer.section, count: answer.count }),
      },
    );
  }

  // Facts

  /** Store a fact about the user, or of the agent, and retire what it contradicts; the same one is stored once. */
  rememberFact(
    content: string,
    scope: values.NewFact["scope"] = "user",
    options: WriteOptions = {},
  ): Promise<values.Remembered> {
    return this.#write("POST", "/v1/facts", { content, scope }, options);
  }

  /** Store a transcript and what is worth remembering of it; what is stored already is not stored again. */
  extract(
    transcript: string,
    options: { session?: string; project?: string } & CallOptions = {},
  ): Promise<values.ExtractedMemories> {
    const { session, project, ...call } = options;
    return this.#do("POST", `${RECORDS}/extract`, { ...call, body: { transcript, session, project } });
  }

  /** What is known of the user and of all who speak or, with `person`, of who speaks under that name or is named. */
  about(
    person?: string | null,
    options: { limit?: number; written?: boolean } & CallOptions = {},
  ): Promise<values.About> {
    const { limit, written, ...call } = options;
    return this.#read("/v1/about", { person, limit, written }, call);
  }

  /** The facts that replaced each other, oldest first, of which this is one. Throws NotFound or InvalidId. */
  async history(memory_id: string, options: CallOptions = {}): Promise<values.FactVersion[]> {
    return this.#read(`/v1/facts/${idPart(memory_id)}/history`, {}, options);
  }

  /** Make a retired fact active again, beside what took its place. Throws NotFound, Forbidden or Conflict. */
  async restoreFact(memory_id: string, options: CallOptions = {}): Promise<values.Memory> {
    return this.#do("POST", `/v1/facts/${idPart(memory_id)}/restore`, options);
  }

  /** Pairs of facts that may contradict each other, or say the same. */
  inDoubt(options: values.ListDoubtsQuery & CallOptions = {}): Listing<Page<values.InDoubt>, values.InDoubt> {
    return pages(this.#transport, "/v1/facts/in-doubt", options);
  }

  /** Decide that the newer fact holds: the older one is retired. Throws NotFound, Forbidden or Conflict. */
  async confirmDoubt(doubt_id: string, options: CallOptions = {}): Promise<values.InDoubt> {
    return this.#do("POST", `/v1/facts/in-doubt/${idPart(doubt_id)}/confirm`, options);
  }

  /** Decide that the older fact holds: the newer one is retired. Throws NotFound, Forbidden or Conflict. */
  async refuteDoubt(doubt_id: string, options: CallOptions = {}): Promise<values.InDoubt> {
    return this.#do("POST", `/v1/facts/in-doubt/${idPart(doubt_id)}/refute`, options);
  }

  /** Decide that both facts hold. Throws NotFound, Forbidden or Conflict. */
  async dismissDoubt(doubt_id: string, options: CallOptions = {}): Promise<values.InDoubt> {
    return this.#do("POST", `/v1/facts/in-doubt/${idPart(doubt_id)}/dismiss`, options);
  }

  // Work in the background

  /** What is done in the background, newest first. */
  jobs(options: values.ListJobsQuery & CallOptions = {}): Listing<Page<values.Job>, values.Job> {
    return pages(this.#transport, "/v1/jobs", options);
  }

  /** One job. Throws NotFound or InvalidId. */
  async getJob(job_id: string, options: CallOptions = {}): Promise<values.Job> {
    return this.#read(`/v1/jobs/${idPart(job_id)}`, {}, options);
  }

  /** Make a job due now; a dead one gets all its attempts again. Throws NotFound, Forbidden or Conflict. */
  async retryJob(job_id: string, options: CallOptions = {}): Promise<values.Job> {
    return this.#do("POST", `/v1/jobs/${idPart(job_id)}/retry`, options);
  }

  /** Remove a job: what it was to do is not done. Throws NotFound or Forbidden. */
  async dropJob(job_id: string, options: CallOptions = {}): Promise<values.Job> {
    return this.#do("DELETE", `/v1/jobs/${idPart(job_id)}`, options);
  }

  // What a companion remembers, as whole values; `memory` has them as its document does

  /** What is remembered of the user, newest first. */
  entries(options: EntriesOptions = {}): Listing<Page<values.Memory>, values.Memory> {
    const { include_tested, ...rest } = options;
    return pages(this.#transport, "/v1/memory", { ...rest, ...(include_tested && { include: "tested_hypothesis" }) });
  }

  /** Write an entry, at most 500 characters, also where the same was written before: what is said last counts. */
  addEntry(
    text: string,
    category: Category,
    options: { confidence?: number } & WriteOptions = {},
  ): Promise<values.Remembered> {
    const { confidence = 1, ...call } = options;
    return this.#write("POST", "/v1/memory", { text, category, confidence }, call);
  }

  /** Remove an entry at once and for good: no tombstone, no undo. Throws NotFound, InvalidId or Forbidden. */
  eraseEntry(memory_id: string, options: CallOptions = {}): Promise<void> {
    return this.memory.delete(memory_id, options);
  }

  /** Note that a hypothesis was tested, once for each finding; a validated one becomes an insight too. */
  recordFinding(finding: values.NewFinding, options: CallOptions = {}): Promise<values.Recorded> {
    return this.#do("POST", "/v1/findings", { ...options, body: finding });
  }

  /** What a turn would be told now: the newest 80 entries, as text, in their fence, and which. */
  summary(options: CallOptions = {}): Promise<values.Composed> {
    return this.#read("/v1/memory/summary", {}, options);
  }

  // What an agent saw and said

  /** Store messages of a conversation in their order, all or none. */
  async addMessages(
    session: string,
    messages: Iterable<values.NewMessage>,
    options: { extract?: boolean } & WriteOptions = {},
  ): Promise<values.Remembered[]> {
    const { extract = true, ...call } = options;
    return this.#write(
      "POST",
      `/v1/sessions/${part("session", session)}/messages`,
      { messages: [...messages], extract },
      call,
    );
  }

  /** What was said in a conversation, newest first. */
  listMessages(
    session: string,
    options: values.ListMessagesQuery & CallOptions = {},
  ): Listing<Page<values.Memory>, values.Memory> {
    return pages(this.#transport, () => `/v1/sessions/${part("session", session)}/messages`, options);
  }

  /** Messages of conversations: `messages.add` and `messages.list`. */
  readonly messages = {
    add: this.addMessages.bind(this),
    list: this.listMessages.bind(this),
  };

  /** Store what a tool returned: whole under its key, and for recall a preview. */
  async addToolOutput(session: string, output: values.NewToolOutput & WriteOptions): Promise<values.ToolOutput> {
    const [body, call] = apart(output);
    return this.#write("POST", `/v1/sessions/${part("session", session)}/tool-outputs`, body, call);
  }

  /** The whole payload of a tool output. Throws NotFound or InvalidId. */
  readToolOutput(key: string, options: CallOptions = {}): Promise<string> {
    return this.#transport.call({
      method: "POST",
      path: "/v1/tools/read_tool_output",
      body: { tool_output_key: key },
      reads: true,
      ...options,
      decode: (answer: { content: string }) => answer.content,
    });
  }

  /** Store a document in chunks, in place of the one with its id or title. Throws InvalidField or Forbidden. */
  async addDocument(
    title: string,
    content: string | Uint8Array,
    options: DocumentOptions = {},
  ): Promise<values.StoredDocument> {
    const [document, call] = apart(options);
    // One that could never be read.
    if (document.document_id != null) part("document_id", document.document_id);
    const text = typeof content === "string" ? { content } : { content_base64: base64(content) };
    return this.#do("POST", "/v1/documents", { ...call, body: { ...document, title, ...text } });
  }

  /** A document with its whole text. Throws NotFound. */
  async getDocument(document_id: string, options: CallOptions = {}): Promise<values.Document> {
    return this.#read(`/v1/documents/${part("document_id", document_id)}`, {}, options);
  }

  /** Documents by id, without their texts. */
  listDocuments(
    options: values.ListDocumentsQuery & CallOptions = {},
  ): Listing<Page<values.Document>, values.Document> {
    return pages(this.#transport, "/v1/documents", options);
  }

  /** Every document that `listDocuments` shows page by page. */
  iterateDocuments(options: CallOptions = {}): AsyncIterable<values.Document> {
    return this.listDocuments(options);
  }

  /** Remove a document and soft-delete its chunks. Throws NotFound or Forbidden. */
  async forgetDocument(document_id: string, options: CallOptions = {}): Promise<values.Document> {
    return this.#do("DELETE", `/v1/documents/${part("document_id", document_id)}`, options);
  }

  /** Documents: `documents.add`, `get`, `list` and `forget`. */
  readonly documents = {
    add: this.addDocument.bind(this),
    get: this.getDocument.bind(this),
    list: this.listDocuments.bind(this),
    forget: this.forgetDocument.bind(this),
  };

  /** The agent's tools, as the API of a model (`openai`, `anthropic`) or an MCP client (`mcp`) takes them. */
  tools(format: ToolFormat = "openai", options: CallOptions = {}): Promise<Record<string, unknown>[]> {
    const call = { ...options, decode: (answer: values.ToolList) => answer.tools };
    return this.#read("/v1/tools", { format }, call);
  }

  /** Run one of the agent's tools with the arguments that a model gave. Throws NotFound, InvalidField or as it does. */
  async runTool(name: string, given: object, options: WriteOptions = {}): Promise<Record<string, unknown>> {
    return this.#write("POST", `/v1/tools/${part("name", name)}`, given, options);
  }

  // Turns and changes

  /** Ask the language model, with what is remembered, and learn from the exchange: its events as they come. */
  turn(
    messages: Iterable<values.TurnMessage>,
    options: { include_memory?: boolean; session?: string } & WriteOptions = {},
  ): TurnRun {
    const { include_memory = true, session, ...call } = options;
    const context = { include_memory, session_id: session ?? null };
    return new TurnRun(this.#transport, { messages: [...messages], context }, call);
  }

  /** The events of a turn after one of them, until it is over. Throws NotFound or InvalidId. */
  turnEvents(turn_id: string, options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<TurnEvent> {
    return turnEvents(this.#transport, turn_id, options);
  }

  /** A turn: how it stands, and what came of it. Throws NotFound or InvalidId. */
  async getTurn(turn_id: string, options: CallOptions = {}): Promise<values.Turn> {
    return this.#read(`/v1/turns/${idPart(turn_id)}`, {}, options);
  }

  /** Changes of memories that the caller sees, as they happen. Begins after a position (`"0-0"`: from the first change
   * on) or, without one, with the next. Ends when none came for `wait` milliseconds (0: with what is there now); without
   * `wait`, never. Throws InvalidCursor. */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change> {
    return changes(this.#transport, options);
  }

  /** The server-sent events of an address, resumed by the id of the last one until one that is named in `ends`. */
  stream(
    path: string,
    options: { after?: string; ends?: readonly string[]; signal?: AbortSignal } = {},
  ): AsyncGenerator<ServerSentEvent> {
    return follow(this.#transport, { path, ...options });
  }

  // Keeping and erasing

  /** Whom this acts as. Throws Unauthenticated once the key is revoked. */
  principal(options: CallOptions = {}): Promise<values.Principal> {
    return this.#read("/v1/principal", {}, options);
  }

  /** A token of one user for a page in a browser, shown this once; for service and admin keys. It ends with its time (in
   * seconds), with the key that made it, and when the user is erased. Throws Forbidden or InvalidField. */
  createToken(user: string, options: Omit<values.NewToken, "user"> & CallOptions = {}): Promise<values.UserToken> {
    const [token, call] = apart(options);
    return this.#do("POST", "/v1/tokens", { ...call, body: { ...token, user } });
  }

  /** End all tokens of a user at once, in every process; how many there were. Throws Forbidden or InvalidField. */
  revokeTokens(user: string, options: CallOptions = {}): Promise<number> {
    return this.#do("DELETE", "/v1/tokens", {
      ...options,
      query: { user },
      decode: (answer: values.RevokedTokens) => answer.revoked,
    });
  }

  /** The tenant's retention policy, for an admin. Throws Forbidden. */
  policy(options: CallOptions = {}): Promise<values.PolicyRevision> {
    return this.#read("/v1/admin/policy", {}, options);
  }

  /** Change the tenant's retention policy, for an admin; the answer says how many rows that touches. */
  setPolicy(
    changes: Record<string, unknown>,
    options: { dry_run?: boolean } & CallOptions = {},
  ): Promise<values.PolicyChange> {
    const { dry_run = false, ...call } = options;
    return this.#do("PUT", "/v1/admin/policy", { ...call, query: { dry_run }, body: changes });
  }

  /** Do what time asks for in the tenant, once, for an admin. Throws Forbidden. */
  sweep(options: { dry_run?: boolean } & CallOptions = {}): Promise<values.Sweep> {
    const { dry_run = false, ...call } = options;
    return this.#do("POST", "/v1/admin/retention/sweep", { ...call, query: { dry_run } });
  }

  /** Erase memories for good, whatever their state, also from the bytes of the files; the receipt proves it. */
  erase(memory_ids: string | readonly string[], options: CallOptions = {}): Promise<values.Receipt> {
    const ids = typeof memory_ids === "string" ? [memory_ids] : [...memory_ids];
    return this.#do("POST", `${RECORDS}/erase`, { ...options, body: { ids } });
  }

  /** Erase everything of one's own, with every agent, or for an admin of any user; `keys`: API keys too. */
  purge(user?: string | null, options: { keys?: boolean } & CallOptions = {}): Promise<values.Receipt> {
    const { keys = false, ...call } = options;
    return this.#do("POST", `${RECORDS}/purge`, { ...call, body: { user: user ?? undefined, keys } });
  }

  /** Erase the whole tenant in 30 days, or at once, for an admin. Its keys end now. `confirm` is the tenant's name.
   * Throws Forbidden or InvalidField. */
  deleteTenant(confirm: string, options: { at_once?: boolean } & CallOptions = {}): Promise<values.Receipt> {
    const { at_once = false, ...call } = options;
    return this.#do("DELETE", "/v1/admin/tenant", { ...call, query: { at_once, confirm } });
  }

  /** The receipt of an erasure of one's own, or for an admin of any. Throws NotFound or InvalidId. */
  async receipt(receipt_id: string, options: CallOptions = {}): Promise<values.Receipt> {
    return this.#read(`/v1/receipts/${idPart(receipt_id)}`, {}, options);
  }

  /** The newest receipts of one's own, or for an admin of the tenant. Throws InvalidField. */
  receipts(options: { limit?: number } & CallOptions = {}): Promise<values.Receipt[]> {
    const { limit = 100, ...call } = options;
    return this.#read("/v1/receipts", { limit }, call);
  }

  /** Look again for what was erased, in the database and in its files' bytes. Throws NotFound or InvalidId. */
  async verify(receipt_id: string, options: CallOptions = {}): Promise<values.Verification> {
    const path = `/v1/receipts/${idPart(receipt_id)}/verify`;
    return this.#transport.call({ method: "POST", path, reads: true, ...options });
  }

  /** Erase for good everything that the caller owns, to begin anew. Returns how many memories went. */
  reset(options: CallOptions = {}): Promise<number> {
    return this.#do("POST", `${RECORDS}/reset`, {
      ...options,
      decode: (answer: values.ErasedCount) => answer.erased,
    });
  }

  /** Return when every memory of the tenant can be found by meaning. Throws ModelError. */
  async waitUntilIndexed(options: CallOptions = {}): Promise<void> {
    const call = { method: "POST", path: `${RECORDS}/index`, reads: true, ...options };
    while ((await this.#transport.call<values.WaitingRow>(call)).waiting) {
      // Each call makes some more of them findable.
    }
  }

  /** Everything the caller sees, or of some kinds and from some time alone, as lines of JSON. Throws InvalidField. */
  async *export(options: ExportOptions = {}): AsyncGenerator<string> {
    const { signal, ...asked } = options;
    const [controller, letGo] = this.#transport.link(signal);
    try {
      const path = `${RECORDS}/export${queryOf(asked)}`;
      const response = await this.#transport.open(path, { signal: controller.signal });
      if (!response.ok) throw await errorOf(response, this.#transport.url);
      yield* lines(response, "\n");
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TypeError) throw await errorOf(failure(error), this.#transport.url);
      throw error;
    } finally {
      letGo();
      controller.abort();
    }
  }

  /** Store what an export holds; what is there already is left alone. Throws InvalidField. */
  async import(
    given: Iterable<string> | AsyncIterable<string>,
    options: CallOptions = {},
  ): Promise<values.ImportReport> {
    let total: Record<string, number> | null = null;
    for await (const [after, some] of parts(given)) {
      const call = { ...options, query: { after }, body: { lines: some } };
      const done = await this.#do<Record<string, number>>("POST", `${RECORDS}/import`, call);
      const before: Record<string, number> = total ?? {};
      total = Object.fromEntries(Object.entries(done).map(([name, count]) => [name, count + (before[name] ?? 0)]));
      // Only with the last part the whole was there.
      Object.assign(total, { incomplete: done.incomplete, uncounted: done.uncounted });
    }
    return total as unknown as values.ImportReport;
  }

  /** End whatever is under way. */
  close(): void {
    this.#transport.close();
  }

  #read<T>(path: string, query: object, options: Partial<Call<T>>): Promise<T> {
    return this.#transport.call({ method: "GET", path, query, reads: true, ...options });
  }

  #write<T>(method: string, path: string, body: unknown, options: Partial<Call<T>>): Promise<T> {
    return this.#transport.call({ method, path, body, writes: true, ...options });
  }

  /** A write that the server knows no idempotency key for. */
  #do<T>(method: string, path: string, options: Partial<Call<T>>): Promise<T> {
    return this.#transport.call({ method, path, ...options });
  }
}

/** What is sent, and how. */
function apart<T extends WriteOptions>(options: T): [Omit<T, keyof WriteOptions>, WriteOptions] {
  const { signal, timeout, idempotency_key, ...body } = options;
  const call = { signal, timeout, idempotency_key };
  return [body, Object.fromEntries(Object.entries(call).filter(([, value]) => value !== undefined))];
}

function versioned(options: VersionOptions): Partial<Call<values.Memory>> {
  const { expected_version, ...call } = options;
  if (expected_version === undefined) return call;
  // No memory ever had it, and no header could tell it.
  if (!/^[!#-~]+$/.test(expected_version)) throw new StaleVersion();
  return { ...call, headers: { "If-Match": `"${expected_version}"` } };
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The lines in parts that a server takes, each after the first one, and how many were left out in between. */
async function* parts(given: Iterable<string> | AsyncIterable<string>): AsyncGenerator<[number, string[]]> {
  let header: string[] | null = null;
  let some: string[] = [];
  let before = 0;
  let size = 0;
  for await (const line of given) {
    if (header === null) {
      header = [line];
      continue;
    }
    size += line.length;
    if (some.length > 0 && size > CHARACTERS_AT_ONCE) {
      yield [before, [...header, ...some]];
      [before, size, some] = [before + some.length, line.length, []];
    }
    some.push(line);
  }
  yield [before, [...(header ?? []), ...some]];
}
