/** Long-term memory for AI agents: the client of a Memorist server.
 *
 * ```ts
 * const memory = new Client({ url: "http://127.0.0.1:8377", api_key: "mst_live_…" });
 * await memory.remember("Deploys happen on Fridays only.");
 * for (const hit of (await memory.recall("when do we deploy?")).hits) console.log(hit.excerpt);
 * ```
 */

export type { Change, ChangesOptions } from "./changes.js";
export type { MemoryApi, TurnsApi } from "./companion.js";
export { MemoristError } from "./error.js";
export * from "./generated/errors.js";
export type * from "./generated/schemas.js";
export { EntryPage, Listing, Page } from "./pages.js";
export type { ServerSentEvent } from "./streams.js";
export type { CallOptions, ClientOptions, Retries, WriteOptions } from "./transport.js";
export { type TurnEvent, TurnRun } from "./turns.js";
export {
  type Category,
  Client,
  type DocumentOptions,
  type EntriesOptions,
  type ExportOptions,
  type ListOptions,
  type RecallOptions,
  type RememberOptions,
  type ToolFormat,
  type VersionOptions,
} from "./verbs.js";
