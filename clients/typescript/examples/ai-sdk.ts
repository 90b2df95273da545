/** A chat with the Vercel AI SDK that remembers: the middleware tells the model what is known, the tools let it ask. */

import { generateText, type LanguageModel, stepCountIs, wrapLanguageModel } from "ai";
import type { Client } from "memorist";
import { memoryMiddleware, memoryTools } from "memorist/ai-sdk";

export async function ask(memory: Client, model: Exclude<LanguageModel, string>, prompt: string): Promise<string> {
  const remembering = wrapLanguageModel({
    model: model as Parameters<typeof wrapLanguageModel>[0]["model"],
    middleware: memoryMiddleware(memory, { session: "chat-1" }),
  });
  const tools = await memoryTools(memory, ["recall", "remember_fact"]);
  const { text } = await generateText({ model: remembering, tools, prompt, stopWhen: stepCountIs(5) });
  return text;
}
