/** What the types say, checked by the compiler: a file that compiles passes. */

import type { Client, Entry, EntryPage, Hit, Memory, Page, Recalled, Remembered, TurnEvent, TurnRow } from "memorist";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Answer<F extends (...given: never[]) => unknown> = Awaited<ReturnType<F>>;
type Items<T> = T extends AsyncIterable<infer I> ? I : never;

export const TRUE: true[] = [
  true satisfies Equal<Answer<Client["remember"]>, Remembered>,
  true satisfies Equal<Answer<Client["recall"]>, Recalled>,
  true satisfies Equal<Recalled["hits"][number], Hit>,
  true satisfies Equal<Answer<Client["list"]>, Page<Memory>>,
  true satisfies Equal<Items<ReturnType<Client["list"]>>, Memory>,
  true satisfies Equal<Answer<Client["memory"]["list"]>, EntryPage<Entry>>,
  true satisfies Equal<Answer<Client["memory"]["create"]>, Entry>,
  true satisfies Equal<Answer<Client["memory"]["delete"]>, void>,
  true satisfies Equal<Answer<Client["turns"]["create"]>, TurnRow>,
  true satisfies Equal<Items<ReturnType<Client["turns"]["create"]>>, TurnEvent>,
  true satisfies Equal<Memory["status"], "active" | "archived" | "soft_deleted" | "hard_delete_pending" | "purged">,
];

export function refused(client: Client): void {
  // @ts-expect-error: a kind that there is not
  client.remember("A text.", { kind: "dream" });
  // @ts-expect-error: an option that there is not
  client.recall("A question?", { topK: 3 });
  // @ts-expect-error: a category that there is not
  client.memory.create({ text: "A text.", category: "dream" });
  // @ts-expect-error: a token of nobody
  client.createToken();
  // @ts-expect-error: a question without its role
  client.turns.create({ messages: [{ content: "Hello" }] });
}
