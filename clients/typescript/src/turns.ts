/** Turns: asked for once, followed as events over broken connections, or awaited to their end. */

import type { NewTurn, TurnRow } from "./generated/schemas.js";
import { Lazy } from "./lazy.js";
import { type Followed, follow, type ServerSentEvent } from "./streams.js";
import { type CallOptions, idPart, newKey, type Transport, type WriteOptions } from "./transport.js";

const STARTED = "turn.started";
const LAST = ["turn.completed", "turn.failed"];

/** One event of a turn; `seq` counts from 1 without a gap. */
export interface TurnEvent {
  seq: number;
  event: string;
  data: Record<string, unknown>;
}

/** A turn that begins when it is awaited or iterated: `await` brings the turn once it is over, `for await` its events. */
export class TurnRun extends Lazy<TurnRow> implements AsyncIterable<TurnEvent> {
  readonly #transport: Transport;
  readonly #asked: Followed;

  constructor(transport: Transport, turn: NewTurn, options: WriteOptions) {
    super(() => this.#finish());
    this.#transport = transport;
    // Awaited after it was iterated, or iterated twice, it is still one turn.
    const { signal, idempotency_key = newKey() } = options;
    const body = { ...turn, stream: true };
    this.#asked = { path: "/v1/turns", body, begins: STARTED, ends: LAST, signal, idempotency_key };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent> {
    for await (const event of follow(this.#transport, this.#asked)) yield turnEvent(event);
  }

  /** The pieces of the answer, as they come. */
  async *text(): AsyncGenerator<string> {
    for await (const { event, data } of this) if (event === "answer.delta") yield String(data.text ?? "");
  }

  async #finish(): Promise<TurnRow> {
    let id = "";
    for await (const { event, data } of this) if (event === STARTED) id = String(data.turn_id);
    return readTurn(this.#transport, id, { signal: this.#asked.signal });
  }
}

/** The events of a turn after one of them, until it is over. */
export async function* turnEvents(
  transport: Transport,
  turn_id: string,
  options: { after?: number; signal?: AbortSignal },
): AsyncGenerator<TurnEvent> {
  const after = options.after === undefined ? null : String(options.after);
  const asked = { path: `/v1/turns/${idPart(turn_id)}/events`, after, ends: LAST, signal: options.signal };
  for await (const event of follow(transport, asked)) yield turnEvent(event);
}

/** A turn as the companion's document shows it. */
export async function readTurn(transport: Transport, turn_id: string, options: CallOptions): Promise<TurnRow> {
  return transport.call({
    method: "GET",
    path: `/v1/turns/${idPart(turn_id)}`,
    accept: "application/json",
    reads: true,
    ...options,
  });
}

function turnEvent(event: ServerSentEvent): TurnEvent {
  return { seq: Number(event.id), event: event.event, data: JSON.parse(event.data) };
}
