/** The companion's own shape: `client.memory` and `client.turns`, as its document has them. */

import type {
  Entries,
  Entry,
  ListEntriesQuery,
  ListTurnsQuery,
  NewEntry,
  NewTurn,
  Turn,
  TurnList,
  TurnRow,
} from "./generated/schemas.js";
import { EntryPage, Listing, Page, type PageOptions } from "./pages.js";
import { type CallOptions, idPart, type Transport, type WriteOptions } from "./transport.js";
import { readTurn, type TurnEvent, TurnRun, turnEvents } from "./turns.js";

const JSON_ONLY = "application/json";

/** What is remembered of the user: added to and read, never changed. */
export class MemoryApi {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. Throws Forbidden, InvalidField or InvalidCursor. */
  list(query: ListEntriesQuery = {}, options: CallOptions = {}): Listing<EntryPage<Entry>, Entry> {
    return listed<Entry>(this.#transport, "/v1/memory", query, options);
  }

  /** Write an entry: at most 500 characters. Throws InvalidField, Forbidden or IdempotencyMismatch. */
  create(entry: NewEntry, options: WriteOptions = {}): Promise<Entry> {
    const call = { method: "POST", path: "/v1/memory", body: entry, accept: JSON_ONLY, writes: true };
    return this.#transport.call({ ...call, ...options });
  }

  /** Remove an entry at once and for good: no tombstone, no undo. Throws NotFound, InvalidId or Forbidden. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.call({ method: "DELETE", path: `/v1/memory/${idPart(id)}`, accept: JSON_ONLY, ...options });
  }
}

/** Turns. Called, it is the verb `turns`: a page of them as whole values. */
export interface TurnsApi {
  (options?: ListTurnsQuery & CallOptions): Listing<Page<Turn>, Turn>;
  /** Ask the language model, with what is remembered, and learn from the exchange. The turn begins when it is awaited,
   * which brings its end, or iterated, which brings its events. Throws LlmNotConfigured, BudgetSpent or InvalidField. */
  create(turn: NewTurn, options?: WriteOptions): TurnRun;
  /** Newest first. */
  list(query?: ListTurnsQuery, options?: CallOptions): Listing<EntryPage<TurnRow>, TurnRow>;
  /** How a turn stands, and what came of it. Throws NotFound or InvalidId. */
  get(turn_id: string, options?: CallOptions): Promise<TurnRow>;
  /** The events of a turn after one of them, until it is over. Throws NotFound or InvalidId. */
  events(turn_id: string, options?: { after?: number; signal?: AbortSignal }): AsyncGenerator<TurnEvent>;
}

export function turnsApi(transport: Transport): TurnsApi {
  const turns = (options: ListTurnsQuery & CallOptions = {}) => pages<Turn>(transport, "/v1/turns", options);
  return Object.assign(turns, {
    create: (turn: NewTurn, options: WriteOptions = {}) => new TurnRun(transport, turn, options),
    list: (query: ListTurnsQuery = {}, options: CallOptions = {}) =>
      listed<TurnRow>(transport, "/v1/turns", query, options),
    get: (turn_id: string, options: CallOptions = {}) => readTurn(transport, turn_id, options),
    events: (turn_id: string, options: { after?: number; signal?: AbortSignal } = {}) =>
      turnEvents(transport, turn_id, options),
  });
}

/** A list of whole values. Those of the native door come as `data`, others as `items`. */
export function pages<T>(
  transport: Transport,
  path: string | (() => string),
  given: PageOptions & CallOptions,
): Listing<Page<T>, T> {
  const { signal, timeout, ...query } = given;
  const ask = async (asked: PageOptions): Promise<Page<T>> =>
    transport.call({
      method: "GET",
      path: typeof path === "string" ? path : path(),
      query: { ...query, ...asked },
      reads: true,
      ...(signal && { signal }),
      ...(timeout !== undefined && { timeout }),
      decode: (answer) => new Page<T>(answer.items ?? answer.data, answer.next_cursor, turn(asked)),
    });
  const turn = (asked: PageOptions) => (cursor: string) => ask({ ...asked, cursor });
  return new Listing(ask, { ...query });
}

function listed<T>(transport: Transport, path: string, given: PageOptions, options: CallOptions) {
  const ask = (asked: PageOptions): Promise<Page<T>> =>
    transport.call({
      method: "GET",
      path,
      query: asked,
      accept: JSON_ONLY,
      reads: true,
      ...options,
      decode: (answer: Entries | TurnList) =>
        new Page<T>(answer.data as T[], answer.next_cursor, (cursor) => ask({ ...asked, cursor })),
    });
  return new Listing<EntryPage<T>, T>(async (asked) => new EntryPage(await ask(asked)), given);
}
