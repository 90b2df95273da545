/** Memory for the Vercel AI SDK: tools that a model calls, and a middleware that tells it what is remembered.
 *
 * ```ts
 * const model = wrapLanguageModel({ model: anthropic("…"), middleware: memoryMiddleware(memory, { session: "chat-1" }) });
 * await generateText({ model, tools: await memoryTools(memory), prompt: "Where do I live?" });
 * ```
 */

import { jsonSchema, type LanguageModelMiddleware, type ToolSet, tool } from "ai";
import type { NewMessage } from "../generated/schemas.js";
import type { Client } from "../verbs.js";
import { remembered, serverTools } from "./shared.js";

type Parameters = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["transformParams"]>>>;
type Prompt = Parameters["prompt"];

export interface MiddlewareOptions {
  /** The conversation that the messages are stored in. Absent: nothing is stored. */
  session?: string;
  /** How many memories are recalled for what the user said last. */
  top_k?: number;
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
        execute: (given, { toolCallId, abortSignal }) =>
          memory.runTool(name, given, { idempotency_key: toolCallId, ...(abortSignal && { signal: abortSignal }) }),
      }),
    ]),
  );
}

/** Tells the model what is remembered for what the user said last, and stores what both say, where there is a session. */
export function memoryMiddleware(memory: Client, options: MiddlewareOptions = {}): LanguageModelMiddleware {
  const { session, top_k = 5 } = options;
  const store = async (prompt: Prompt, answer: string): Promise<void> => {
    const question = lastOfUser(prompt);
    // A step that follows a tool's call ends with what the tool returned, not with the user.
    if (session === undefined || prompt.at(-1)?.role !== "user") return storeAnswer(answer);
    await memory.addMessages(session, [{ role: "user", content: question }, ...said(answer)]);
  };
  const storeAnswer = async (answer: string): Promise<void> => {
    const messages = said(answer);
    if (session !== undefined && messages.length > 0) await memory.addMessages(session, messages);
  };
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => {
      const text = await remembered(memory, lastOfUser(params.prompt), top_k);
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

function said(answer: string): NewMessage[] {
  return answer.trim() === "" ? [] : [{ role: "assistant", content: answer }];
}

function lastOfUser(prompt: Prompt): string {
  const message = prompt.filter((one) => one.role === "user").at(-1);
  const parts = message?.content ?? [];
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
