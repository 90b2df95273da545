/** Changes of memories, as they happen. */

import { InvalidCursor, InvalidField } from "./generated/errors.js";
import { type Followed, follow, type ServerSentEvent } from "./streams.js";
import type { Transport } from "./transport.js";

// The most that a server waits for a change.
const LONGEST_WAIT = 31_536_000_000;

export interface ChangesOptions {
  /** The position of the last change that is known; `"0-0"` is before the first. */
  after?: string;
  /** Milliseconds without a change that end it; 0: with what is there now. */
  wait?: number;
  signal?: AbortSignal;
}

/** What changed, or `resync`: some changes may have been missed. */
export interface Change {
  position: string;
  action: string;
  /** The id of the memory as a UUID; a server takes it in place of the `mem_…` one. */
  memory_id: string;
  at: string | null;
}

/** The changes after a position, until none comes for as long as is waited. */
export async function* changes(transport: Transport, options: ChangesOptions): AsyncGenerator<Change> {
  for await (const event of follow(transport, followed(options))) {
    const change = changeOf(event);
    if (change !== null) yield change;
  }
}

function followed({ wait, ...asked }: ChangesOptions): Followed {
  const path = "/v1/events/stream";
  if (asked.after !== undefined && !/^\d{1,18}-\d{1,18}$/.test(asked.after)) throw new InvalidCursor();
  if (wait === undefined) return { path, ...asked };
  if (Number.isNaN(wait)) throw new InvalidField("wait must be a number of milliseconds.", { field: "wait" });
  const milliseconds = Math.max(0, Math.min(wait, LONGEST_WAIT));
  return { path, ends: ["quiet"], wait: milliseconds, ...asked };
}

function changeOf(event: ServerSentEvent): Change | null {
  if (event.event === "resync") return { position: event.id ?? "", action: "resync", memory_id: "", at: null };
  if (event.event !== "resource_change") return null;
  const row = JSON.parse(event.data);
  return { position: event.id ?? "", action: row.action, memory_id: row.id, at: row.at };
}
