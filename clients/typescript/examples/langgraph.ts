/** A graph of LangGraph that keeps what it learns of the user in Memorist, and finds it again. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type LangGraphRunnableConfig, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Client } from "memorist";
import { MemoristStore } from "memorist/langgraph";

export function graphOf(memory: Client, model: BaseChatModel) {
  const answer = async (state: typeof MessagesAnnotation.State, { store }: LangGraphRunnableConfig) => {
    const question = String(state.messages.at(-1)?.content);
    const known = (await store?.search(["facts"], { query: question, limit: 3 })) ?? [];
    const told = `What is known: ${known.map(({ value }) => value.text).join(" ")}`;
    const message = await model.invoke([{ role: "system", content: told }, ...state.messages]);
    await store?.put(["facts"], crypto.randomUUID(), { text: question });
    return { messages: [message] };
  };
  const builder = new StateGraph(MessagesAnnotation).addNode("answer", answer).addEdge(START, "answer");
  return builder.compile({ store: new MemoristStore(memory) });
}
