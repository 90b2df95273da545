/** An agent of the OpenAI Agents SDK whose conversation is kept by Memorist, and whose tools are those of its memory. */

import { Agent, type Model, Runner } from "@openai/agents";
import type { Client } from "memorist";
import { MemoristSession, memoryTools } from "memorist/openai-agents";

export async function ask(memory: Client, model: Model, question: string): Promise<string> {
  const agent = new Agent({ name: "Amy", model, tools: await memoryTools(memory, ["recall", "remember_fact"]) });
  const runner = new Runner({ tracingDisabled: true });
  const result = await runner.run(agent, question, { session: new MemoristSession(memory, "chat-1") });
  return String(result.finalOutput);
}
