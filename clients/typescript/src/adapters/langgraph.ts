/** LangGraph's long-term memory: a `BaseStore` that keeps its items as documents of one user.
 *
 * ```ts
 * const graph = builder.compile({ store: new MemoristStore(memory) });
 * ```
 *
 * An item is a document whose id is made of its namespace and key; its value is the text, so that recall finds it. The
 * Python adapter reads and writes the same items.
 */

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from "@langchain/langgraph";
import { Forbidden, InvalidJson, NotFound } from "../generated/errors.js";
import type { Document, Memory, Principal } from "../generated/schemas.js";
import type { Client } from "../verbs.js";
import { digest, questionOf } from "./shared.js";

const FOLDER = "langgraph/";
// How much of what recall finds is looked at for one search.
const SEARCHED_TOKENS = 50_000;

type SearchItem = Item & { score?: number };

/** An item in the list: where it is, without what it holds. */
interface Listed {
  id: string;
  namespace: string[];
  updated_at: string;
}

interface Stored {
  item: Item;
  isSearched: boolean;
}

/** A LangGraph store over a client. Everything is searched by words and by meaning, without an `index` of its own:
 * `index: false` puts an item after all that a query finds, without a score. */
export class MemoristStore extends BaseStore {
  readonly #memory: Client;
  #me: Principal | undefined;

  constructor(memory: Client) {
    super();
    this.#memory = memory;
  }

  /** Reads see the store as it was before the writes; of several writes of one item the last holds. Throws Forbidden
   * where the client acts for nobody. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    await this.#whose();
    const results: unknown[] = [];
    const puts = new Map<string, PutOperation>();
    for (const operation of operations) {
      if ("value" in operation) puts.set(place(operation.namespace, operation.key), operation);
      results.push("value" in operation ? undefined : await this.#read(operation));
    }
    for (const put of puts.values()) await this.#put(put);
    return results as OperationResults<Op>;
  }

  async #read(operation: Exclude<Operation, PutOperation>): Promise<unknown> {
    if ("key" in operation) return this.#get(operation);
    if ("namespacePrefix" in operation) return this.#search(operation);
    return this.#namespaces(operation as ListNamespacesOperation);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const document = await this.#document(await documentId(namespace, key));
    if (document === null) return null;
    const stored = decoded(document, [...namespace, key]);
    if (stored === "unreadable") {
      throw new InvalidJson(`The item ${document.title} cannot be read: it was changed outside of the store.`);
    }
    return stored?.item ?? null;
  }

  async #document(document_id: string): Promise<Document | null> {
    try {
      const document = await this.#memory.getDocument(document_id);
      return (await this.#owns(document)) ? document : null;
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  }

  /** Whether something is of this store. Anybody can give a shared document the id of an item. */
  async #owns({ user, agent }: Document | Memory): Promise<boolean> {
    const me = await this.#whose();
    return user === me.user && (user !== null || agent === me.agent);
  }

  /** Whom the store is of; asked once. Throws Forbidden where it would be everybody. */
  async #whose(): Promise<Principal> {
    this.#me ??= await this.#memory.principal();
    if (this.#me.user === null && this.#me.agent === null) {
      throw new Forbidden("The items of a store are one user's, and this key acts for nobody. Name the user.");
    }
    return this.#me;
  }

  async #put({ namespace, key, value, index }: PutOperation): Promise<void> {
    const document_id = await documentId(namespace, key);
    if (value === null) return this.#forget(document_id);
    const text = JSON.stringify(index === undefined ? { value } : { value, index });
    const written = await this.#memory.addDocument(place(namespace, key), text, { document_id, shared: false });
    if (written.was_new && written.document.title !== place(namespace, key)) {
      // Without its place, which was taken for a secret, no search would lead to it.
      await this.#forget(document_id);
      throw new Error("The namespace or the key holds a secret, which is not stored. Use a hash of it, for example.");
    }
  }

  async #forget(document_id: string): Promise<void> {
    if ((await this.#document(document_id)) === null) return;
    await this.#memory.forgetDocument(document_id).catch((error) => {
      if (!(error instanceof NotFound)) throw error;
    });
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter = {}, limit = 10, offset = 0, query } = operation;
    const scores = await this.#scores(questionOf(query ?? ""));
    const listed = await this.#list((namespace) => isBelow(namespace, namespacePrefix));
    const rank = (one: Listed) => scores.get(one.id) ?? -1;
    listed.sort((one, other) => rank(other) - rank(one) || other.updated_at.localeCompare(one.updated_at));
    const found: SearchItem[] = [];
    const unscored: SearchItem[] = [];
    for (const one of listed) {
      if (found.length >= offset + limit) break;
      const document = await this.#document(one.id);
      const stored = document && decoded(document);
      if (stored === null || stored === "unreadable") continue;
      if (!matches(stored.item.value, filter)) continue;
      const score = scores.get(one.id);
      if (score === undefined) found.push(stored.item);
      else if (stored.isSearched) found.push({ ...stored.item, score });
      else unscored.push(stored.item);
    }
    // What is not to be searched comes last, where there is room.
    return [...found, ...unscored].slice(offset, offset + limit);
  }

  /** How well each item answers, by the best of its parts. */
  async #scores(question: string): Promise<Map<string, number>> {
    if (question === "") return new Map();
    const { hits } = await this.#memory.recall(question, {
      source_kinds: ["document_chunk"],
      budget_tokens: SEARCHED_TOKENS,
      min_score: 0,
    });
    const scores = new Map<string, number>();
    for (const { memory, score } of hits) {
      const source = memory.source_ref ?? "";
      if (source.startsWith(FOLDER) && (await this.#owns(memory)))
        scores.set(source, Math.max(score, scores.get(source) ?? 0));
    }
    return scores;
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset } = operation;
    const listed = await this.#list((namespace) => matchConditions.every((one) => fits(one, namespace)));
    const found = new Set(listed.map((one) => JSON.stringify(one.namespace.slice(0, maxDepth))));
    return [...found]
      .sort()
      .map((one) => JSON.parse(one))
      .slice(offset, offset + limit);
  }

  async #list(isWanted: (namespace: string[]) => boolean): Promise<Listed[]> {
    const found: Listed[] = [];
    for await (const document of this.#memory.iterateDocuments()) {
      if (!document.id.startsWith(FOLDER) || !(await this.#owns(document))) continue;
      const namespace = placeOf(document)?.slice(0, -1);
      if (namespace && isWanted(namespace)) found.push({ ...document, namespace });
    }
    return found;
  }
}

/** The place in full, in the one line that a title is, written as Python does. */
function place(namespace: string[], key: string): string {
  const readable = `[${[...namespace, key].map((one) => JSON.stringify(one)).join(", ")}]`;
  return /[\x85\u2028\u2029]/.test(readable) ? plain(readable) : readable;
}

/** JSON in ASCII alone. */
function plain(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function documentId(namespace: string[], key: string): Promise<string> {
  return FOLDER + (await digest(plain(place(namespace, key))));
}

/** The namespace and, last, the key that a title tells; null where it tells none. */
function placeOf(document: Document): string[] | null {
  try {
    const found = JSON.parse(document.title);
    const isPlace = Array.isArray(found) && found.length > 0 && found.every((one) => typeof one === "string");
    return isPlace ? found : null;
  } catch {
    return null;
  }
}

/** The item of a document, under its own place or the one that it was asked for by: a title that was stored long ago may
 * have lost a secret. Null where its time, which Python's store gives it, is over. */
function decoded(document: Document, asked: string[] | null = placeOf(document)): Stored | "unreadable" | null {
  const key = asked?.at(-1);
  if (asked === null || key === undefined) return "unreadable";
  try {
    const { value, index, expires_at } = JSON.parse(document.content);
    if (typeof value !== "object" || value === null) return "unreadable";
    if (expires_at && Date.parse(expires_at) <= Date.now()) return null;
    const [createdAt, updatedAt] = [new Date(document.created_at), new Date(document.updated_at)];
    const item = { value, key, namespace: asked.slice(0, -1), createdAt, updatedAt };
    return { item, isSearched: index !== false };
  } catch {
    return "unreadable";
  }
}

function isBelow(namespace: string[], prefix: string[]): boolean {
  return prefix.every((label, index) => namespace[index] === label);
}

function fits({ matchType, path }: MatchCondition, namespace: string[]): boolean {
  if (namespace.length < path.length) return false;
  const part = matchType === "prefix" ? namespace.slice(0, path.length) : namespace.slice(-path.length || undefined);
  return path.every((wanted, index) => wanted === "*" || wanted === part[index]);
}

/** Whether a value is the one that a filter asks for: equal, as its operators say, or part by part. */
function matches(value: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return value === wanted;
  const names = Object.keys(wanted);
  if (names.some((name) => name.startsWith("$"))) {
    return Object.entries(wanted).every(([operator, operand]) => compares(value, operator, operand));
  }
  if (Array.isArray(wanted) && (!Array.isArray(value) || value.length !== wanted.length)) return false;
  const fields = Object(value) as Record<string, unknown>;
  return Object.entries(wanted).every(([name, one]) => matches(fields[name], one));
}

function compares(value: unknown, operator: string, operand: unknown): boolean {
  const [one, other] = [Number(value), Number(operand)];
  switch (operator) {
    case "$eq":
      return matches(value, operand);
    case "$ne":
      return !matches(value, operand);
    case "$gt":
      return one > other;
    case "$gte":
      return one >= other;
    case "$lt":
      return one < other;
    case "$lte":
      return one <= other;
    default:
      throw new Error(`There is no operator ${operator}.`);
  }
}
