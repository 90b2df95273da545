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
import { serverTools } from "./shared.js";

const ITEM = "openai_item";
// Stands in the note beside a message whose text is the whole item, which is too large for the note.
const IN_CONTENT = "content";
const LARGEST_NOTE = 62_000;

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

  /** Store items after those that are there, all or none. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length > 0) await this.#memory.addMessages(this.sessionId, items.map(messageOf));
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
  const fields = item as unknown as Record<string, unknown>;
  const role = typeof fields.role === "string" ? fields.role : "output" in fields ? "tool" : "assistant";
  const whole = JSON.stringify(item);
  if (new TextEncoder().encode(whole).length > LARGEST_NOTE) {
    return { role, content: whole, meta: { [ITEM]: IN_CONTENT } };
  }
  const text = textOf(fields);
  return { role, content: text.trim() ? text : whole, meta: { [ITEM]: fields } };
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
