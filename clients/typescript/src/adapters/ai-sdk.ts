/** Memory for the Vercel AI SDK: tools that a model calls, and a middleware that tells it what is remembered.
 *
 * ```ts
 * const model = wrapLanguageModel({ model: anthropic("…"), middleware: memoryMiddleware(memory, { session: "chat-1" }) });
 * await generateText({ model, tools: await memoryTools(memory), prompt: "Where do I live?" });
 * ```
 */

import { jsonSchema, type LanguageModelMiddleware, type ToolSet, tool } from "ai";
import { MemoristError } from "../error.js";
import { ServerUnavailable } from "../generated/errors.js";
import type { NewMessage } from "../generated/schemas.js";
import { identifier } from "../transport.js";
import type { Client } from "../verbs.js";
import { digest, remembered, serverTools, storable } from "./shared.js";

type Parameters = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["transformParams"]>>>;
type Prompt = Parameters["prompt"];

export interface MiddlewareOptions {
  /** The conversation that the messages are stored in. Absent: nothing is stored. */
  session?: string;
  /** How many memories are recalled for what the user said last. */
  top_k?: number;
  /** Told what the memory could not do, so that the call goes on without it. Absent: only what a server that cannot be
   * reached would have told is done without, and everything else is thrown. */
  onError?: (error: MemoristError) => void;
}

/** The agent's tools, or those that are named, as `tools` takes them. */
export async function memoryTools(memory: Client, names?: readonly string[]): Promise<ToolSet> {
  const found = await serverTools(memory, names);
  return Object.fromEntries(
    found.map(({ name, description, inputSchema }) => [
      name,
      tool({
        description,
        inputSchema: jsonSchema<Record<string, unknown>>(inputSchema),
        execute: async (given, { toolCallId, messages = [], abortSignal }) => {
          // Some models count their calls anew in every conversation: the id alone does not tell which call it is.
          const said = messages.map(({ role, content }) => [role, textOf(content)]);
          const idempotency_key = await digest(JSON.stringify([toolCallId, name, given, said]));
          return memory.runTool(name, given, { idempotency_key, ...(abortSignal && { signal: abortSignal }) });
        },
      }),
    ]),
  );
}

/** Tells the model what is remembered for what the user said last, and stores what both say, where there is a session.
 * Throws InvalidField where that is no session's name. */
export function memoryMiddleware(memory: Client, options: MiddlewareOptions = {}): LanguageModelMiddleware {
  const { session, top_k = 5, onError } = options;
  if (session !== undefined) identifier("session", session);
  const told = async (prompt: Prompt): Promise<string> => {
    try {
      return await remembered(memory, lastOfUser(prompt), top_k);
    } catch (error) {
      if (!(error instanceof MemoristError) || !(onError || isAway(error))) throw error;
      onError?.(error);
      return "";
    }
  };
  const store = async (prompt: Prompt, answer: string): Promise<void> => {
    // A step that follows a tool's call ends with what the tool returned, not with the user.
    const question = prompt.at(-1)?.role === "user" ? lastOfUser(prompt) : "";
    const messages = [...said("user", question), ...said("assistant", answer)];
    if (session === undefined || messages.length === 0) return;
    try {
      await memory.addMessages(session, messages);
    } catch (error) {
      if (!(error instanceof MemoristError) || !onError) throw error;
      onError(error);
    }
  };
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => {
      const text = await told(params.prompt);
      return text === "" ? params : { ...params, prompt: [{ role: "system", content: text }, ...params.prompt] };
    },
    wrapGenerate: async ({ doGenerate, params }) => {
      const result = await doGenerate();
      const answer = result.content.map((one) => (one.type === "text" ? one.text : "")).join("");
      await store(params.prompt, answer);
      return result;
    },
    wrapStream: async ({ doStream, params }) => {
      const { stream, ...rest } = await doStream();
      type Piece = typeof stream extends ReadableStream<infer P> ? P : never;
      let answer = "";
      const noting = new TransformStream<Piece, Piece>({
        transform(piece, controller) {
          if (piece.type === "text-delta") answer += piece.delta;
          controller.enqueue(piece);
        },
        flush: () => store(params.prompt, answer),
      });
      return { stream: stream.pipeThrough(noting), ...rest };
    },
  };
}

/** Whether the server cannot be reached, or cannot answer for the moment. */
function isAway(error: MemoristError): boolean {
  return error instanceof ServerUnavailable || error.status === 429 || (error.status ?? 0) >= 500;
}

/** A message to store; none where it holds no text, but a picture for example. */
function said(role: "user" | "assistant", text: string): NewMessage[] {
  const content = storable(text);
  return content.trim() === "" ? [] : [{ role, content }];
}

function lastOfUser(prompt: Prompt): string {
  return textOf(prompt.filter((one) => one.role === "user").at(-1)?.content ?? []);
}

function textOf(content: string | readonly { type: string }[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => ("text" in part && part.type === "text" ? part.text : "")).join("\n");
}
