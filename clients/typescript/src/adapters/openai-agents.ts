/** Memory for the OpenAI Agents SDK: a session whose items are messages that Memorist keeps, and the agent's tools.
 *
 * ```ts
 * const agent = new Agent({ name: "Amy", tools: await memoryTools(memory) });
 * await run(agent, "Hello", { session: new MemoristSession(memory, "chat-1") });
 * ```
 */

import { type AgentInputItem, type FunctionTool, type Session, tool } from "@openai/agents";
import { NotFound } from "../generated/errors.js";
import type { Memory, NewMessage } from "../generated/schemas.js";
import type { Client } from "../verbs.js";
import { isStorable, serverTools } from "./shared.js";

const ITEM = "openai_item";
// Stands in the note beside a message whose text is the whole item, which the note cannot hold.
const IN_CONTENT = "content";
// A little of the note's room, and one of its levels, are for what else stands there.
const LARGEST_NOTE = 62_000;
const DEEPEST_NOTE = 31;
// What a server takes at once, and well below it.
const MESSAGES_AT_ONCE = 1000;
const CHARACTERS_AT_ONCE = 250_000;

/** The agent's tools, or those that are named. */
export async function memoryTools(memory: Client, names?: readonly string[]): Promise<FunctionTool[]> {
  const found = await serverTools(memory, names);
  return found.map(({ name, description, inputSchema }) =>
    tool({
      name,
      description,
      strict: false,
      // biome-ignore lint/suspicious/noExplicitAny: the server's schema, which is one of an object
      parameters: { ...inputSchema, additionalProperties: true } as any,
      execute: async (given: unknown) => JSON.stringify(await memory.runTool(name, (given ?? {}) as object)),
    }),
  );
}

/** The history of one conversation, in full. What was said is recalled in the user's other conversations too. */
export class MemoristSession implements Session {
  readonly #memory: Client;

  constructor(
    memory: Client,
    readonly sessionId: string,
  ) {
    this.#memory = memory;
  }

  async getSessionId(): Promise<string> {
    return this.sessionId;
  }

  /** The items in their order; with a limit, the latest so many. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const newest: AgentInputItem[] = [];
    if (limit !== undefined && limit <= 0) return newest;
    for await (const memory of this.#newestFirst()) {
      newest.push(itemOf(memory));
      if (newest.length === limit) break;
    }
    return newest.reverse();
  }

  /** Store items after those that are there: all or none of up to 1,000 items or 250,000 characters, and so on. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const all = items.map(messageOf);
    for (const some of batches(all)) await this.#memory.addMessages(this.sessionId, some);
  }

  /** Remove the latest item and return it. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for await (const memory of this.#newestFirst()) {
      try {
        await this.#memory.forget(memory.id);
      } catch (error) {
        if (error instanceof NotFound) continue; // Another one took it at the same time.
        throw error;
      }
      return itemOf(memory);
    }
    return undefined;
  }

  /** Remove every item. They can be restored one by one until they are purged. */
  async clearSession(): Promise<void> {
    while ((await this.popItem()) !== undefined) {
      // One after the other, the latest first.
    }
  }

  #newestFirst(): AsyncIterable<Memory> {
    return this.#memory.iterate({ session: this.sessionId, kind: "chat_message" });
  }
}

/** The item as a message: its text is what recall searches, the item itself stands beside it. */
function messageOf(item: AgentInputItem): NewMessage {
  const whole = JSON.stringify(item);
  const fields: Record<string, unknown> = JSON.parse(whole);
  const role = typeof fields.role === "string" ? fields.role : "output" in fields ? "tool" : "assistant";
  if (!fitsNote(fields, whole)) return { role, content: whole, meta: { [ITEM]: IN_CONTENT } };
  const text = textOf(fields);
  return { role, content: text.trim() ? text : whole, meta: { [ITEM]: fields } };
}

/** Whether a note can hold an item, measured as the server does. As text in JSON anything can be stored. */
function fitsNote(item: object, whole: string): boolean {
  let size = new TextEncoder().encode(whole).length;
  const pending: [unknown, number][] = [[item, 1]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [value, depth] = next;
    if (depth > DEEPEST_NOTE || size > LARGEST_NOTE) return false;
    if (typeof value === "string" && !isStorable(value)) return false;
    if (typeof value !== "object" || value === null) continue;
    const names = Array.isArray(value) ? [] : Object.keys(value);
    if (!names.every(isStorable)) return false;
    const inside: unknown[] = Object.values(value);
    // The server writes a space after every comma and colon.
    size += Math.max(0, inside.length - 1) + names.length;
    pending.push(...inside.map((one): [unknown, number] => [one, depth + 1]));
  }
  return size <= LARGEST_NOTE;
}

/** The messages in their order, as many at once as a server takes. */
function* batches(messages: readonly NewMessage[]): Generator<NewMessage[]> {
  let some: NewMessage[] = [];
  let size = 0;
  for (const message of messages) {
    const length = JSON.stringify(message).length;
    if (some.length === MESSAGES_AT_ONCE || (some.length > 0 && size + length > CHARACTERS_AT_ONCE)) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(message);
    size += length;
  }
  if (some.length > 0) yield some;
}

function itemOf(memory: Memory): AgentInputItem {
  const kept = memory.meta?.[ITEM];
  if (kept === IN_CONTENT) return JSON.parse(memory.content);
  // A message that came another way has no item beside it.
  return (kept ?? { role: memory.meta?.role ?? "user", content: memory.content }) as AgentInputItem;
}

/** What an item says, of whichever kind: a message, a call of a tool or what it returned. */
function textOf(item: Record<string, unknown>): string {
  const content = item.content ?? item.output ?? item.arguments ?? item.summary;
  if (typeof content === "string") return "arguments" in item ? `${item.name}(${content})` : content;
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts.map((part) => (part as { text?: unknown } | null)?.text ?? "").join("\n");
}
