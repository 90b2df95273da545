/** One call from its request to its answer: what is sent, when it is tried again, and what an error means. */

import { MemoristError } from "./error.js";
import {
  BudgetSpent,
  ERRORS,
  Forbidden,
  IdempotencyInFlight,
  Invalid,
  InvalidField,
  InvalidId,
  InvalidSetting,
  LlmNotConfigured,
  PayloadTooLarge,
  ServerUnavailable,
  Unauthenticated,
} from "./generated/errors.js";

const DEFAULT_URL = "http://127.0.0.1:8377";
const TRY_AGAIN = new Set([429, 502, 503, 504]);
// Waiting does not help there.
const LASTING: ReadonlySet<unknown> = new Set([LlmNotConfigured.code, BudgetSpent.code]);
// For answers that are not Memorist's own, as those of a proxy.
const BY_STATUS: Readonly<Record<number, typeof MemoristError>> = {
  400: Invalid,
  401: Unauthenticated,
  403: Forbidden,
  413: PayloadTooLarge,
};
// The request never left: whatever it is, sending it once more is the first time.
const NEVER_SENT = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
const WHOLE = "application/vnd.memorist+json, application/json;q=0.9, */*;q=0.1";
const AFFINITY = "X-Memorist-Affinity";
// No other part of a path is as long.
const ID = /^[\x21-\x7e]{26,}$/;
const KEY = /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,255}$/u;
const IDENTIFIER = /^[^\p{White_Space}\p{Cc}\p{Cs}]{1,128}$/u;

/** How often a call is tried again, and how many milliseconds are waited in between: a random part of a span that
 * doubles, or as long as the server asks for. One that asks for more than `longest` is not waited for. */
export interface Retries {
  most?: number;
  first?: number;
  longest?: number;
}

/** What a client is made of. `url` and `api_key` default to MEMORIST_URL and MEMORIST_API_KEY where there is an
 * environment. `user`, `agent` and `session` are for whom a service key acts. */
export interface ClientOptions {
  url?: string;
  /** An API key, or a user's token: `mst_live_…`, `mst_user_…`. A function is asked before every request, so that a
   * page can renew its token. */
  api_key?: string | (() => string | Promise<string>);
  user?: string;
  agent?: string;
  session?: string;
  /** Milliseconds for each try. */
  timeout?: number;
  retries?: Retries;
  /** Where the runtime has none, or for tests. */
  fetch?: typeof fetch;
  /** Lets milliseconds pass; for tests. */
  sleep?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  /** Chooses between two numbers; for tests. */
  random?: (least: number, most: number) => number;
}

/** What every call can be told. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds for each try, instead of the client's. */
  timeout?: number;
}

/** What a write can be told. */
export interface WriteOptions extends CallOptions {
  /** A retry under the same key has no second effect. Absent: one is made for each call. */
  idempotency_key?: string;
}

/** `writes` is sent with an idempotency key; without `reads` or `writes` it is a write that the server knows no key for,
 * and is not sent a second time once it may have arrived. */
export interface Call<T> extends WriteOptions {
  method: string;
  path: string;
  query?: object;
  body?: unknown;
  headers?: Record<string, string | undefined>;
  accept?: string;
  reads?: boolean;
  writes?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: what a server says is read as what its description promises
  decode?: (answer: any) => T;
}

/** What came of a try: an answer with its body, or why there is none. */
interface Failure {
  error: unknown;
  never_sent: boolean;
}

export class Transport {
  readonly url: string;
  readonly retries: Required<Retries>;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly random: (least: number, most: number) => number;
  readonly timeout: number;
  // Private to the engine: neither a log nor an inspection shows it.
  readonly #key: () => string | Promise<string>;
  readonly #acting: Record<string, string>;
  readonly #fetch: typeof fetch;
  readonly #closing = new AbortController();
  // By which a proxy finds the server that has the user's index. Nothing but speed depends on it.
  #affinity: Record<string, string> = {};

  constructor(options: ClientOptions) {
    this.url = address(options.url ?? environment("MEMORIST_URL") ?? DEFAULT_URL);
    const key = options.api_key ?? environment("MEMORIST_API_KEY");
    if (!key) throw new Unauthenticated("An API key is needed: as api_key, or in MEMORIST_API_KEY.");
    if (typeof key === "string") bareKey(key);
    this.#key = typeof key === "string" ? () => key : key;
    this.#acting = acting(options);
    this.#fetch = options.fetch ?? ((...given) => fetch(...given));
    this.retries = retriesOf(options.retries ?? {});
    this.timeout = options.timeout ?? 30_000;
    this.sleep = options.sleep ?? pause;
    this.random = options.random ?? ((least, most) => least + Math.random() * (most - least));
  }

  /** The answer of a call. Throws the error that the server names, ServerUnavailable, or the signal's reason. */
  async call<T>(call: Call<T>): Promise<T> {
    const request = await this.#request(call);
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#try(call, request);
      if (outcome instanceof Response && outcome.ok) return this.#decoded(call, outcome);
      const wait = (await mayRepeat(call, outcome)) ? this.pauseAfter(attempt, outcome) : null;
      if (wait === null) throw await errorOf(outcome, this.url);
      await this.sleep(wait, call.signal);
    }
  }

  /** An answer as it comes, whatever its status. Throws what broke it. */
  async open(path: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
    const headers = { ...(await this.#headers()), ...(init.headers as Record<string, string>) };
    this.#closing.signal.throwIfAborted();
    const response = await this.#fetch(this.url + path, { redirect: "manual", ...init, headers });
    const affinity = response.headers.get(AFFINITY) ?? "";
    if (/^[0-9a-f]{16}$/.test(affinity)) this.#affinity = { [AFFINITY]: affinity };
    return response;
  }

  /** A signal that is raised by any of these, and when the client is closed; and how to let go of it. */
  link(...signals: (AbortSignal | undefined)[]): [AbortController, () => void] {
    const controller = new AbortController();
    const sources = [this.#closing.signal, ...signals.filter((one) => one !== undefined)];
    const undo = sources.map((source) => {
      const raise = () => controller.abort(source.reason);
      if (source.aborted) raise();
      else source.addEventListener("abort", raise, { once: true });
      return () => source.removeEventListener("abort", raise);
    });
    return [
      controller,
      () => {
        for (const one of undo) one();
      },
    ];
  }

  /** Milliseconds until the next try after the given one, counted from 0; null where there is to be none. */
  pauseAfter(attempt: number, outcome: Response | Failure | null): number | null {
    const { most, first, longest } = this.retries;
    if (attempt >= most) return null;
    const asked = outcome instanceof Response ? retryAfter(outcome) : null;
    if (asked === null) return this.random(0, Math.min(longest, first * 2 ** attempt));
    return asked > longest ? null : asked + this.random(0, first);
  }

  /** End whatever is under way. */
  close(): void {
    this.#closing.abort(new ServerUnavailable("The client was closed."));
  }

  async #request<T>(call: Call<T>): Promise<RequestInit & { url: string }> {
    const headers: Record<string, string> = call.accept ? { Accept: call.accept } : {};
    for (const [name, value] of Object.entries(call.headers ?? {})) if (value !== undefined) headers[name] = value;
    if (call.writes) headers["Idempotency-Key"] = keyHeader(call.idempotency_key);
    const url = call.path + queryOf(call.query ?? {});
    if (call.body === undefined) return { url, method: call.method, headers };
    headers["Content-Type"] = "application/json";
    return { url, method: call.method, headers, body: encode(call.body) };
  }

  async #headers(): Promise<Record<string, string>> {
    const key = bareKey(await this.#key());
    return { Authorization: `Bearer ${key}`, Accept: WHOLE, ...this.#acting, ...this.#affinity };
  }

  async #try<T>(call: Call<T>, request: RequestInit & { url: string }): Promise<Response | Failure> {
    const [controller, letGo] = this.link(call.signal);
    const limit = call.timeout ?? this.timeout;
    const timer = setTimeout(() => controller.abort(new TimedOut(limit)), limit);
    try {
      const response = await this.open(request.url, { ...request, signal: controller.signal });
      // Read within the time of the try: a body that breaks off is a try that failed.
      const body = [204, 205, 304].includes(response.status) || response.status === 0 ? null : await response.text();
      return restored(response, body);
    } catch (error) {
      call.signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      if (error instanceof MemoristError) throw error;
      return failure(error);
    } finally {
      clearTimeout(timer);
      letGo();
    }
  }

  async #decoded<T>(call: Call<T>, response: Response): Promise<T> {
    const text = await response.text();
    try {
      const answer = text === "" ? null : JSON.parse(text);
      return call.decode ? call.decode(answer) : answer;
    } catch {
      throw new ServerUnavailable(`${this.url}${call.path} answered something that Memorist does not.`);
    }
  }
}

/** Whether the same request may be answered otherwise in a moment. */
export async function isPassing(response: Response): Promise<boolean> {
  return TRY_AGAIN.has(response.status) && !LASTING.has((await problemOf(response)).code);
}

/** What an answer that is no success, or none at all, means in the one tree of errors. */
export async function errorOf(outcome: Response | Failure, url: string): Promise<MemoristError> {
  if (!(outcome instanceof Response)) {
    const told = `The server at ${url} did not answer: ${reasonOf(outcome.error)}. Check the address, and that it runs.`;
    return new ServerUnavailable(told, { cause: outcome.error });
  }
  const problem = await problemOf(outcome);
  const kind = ERRORS[String(problem.code)];
  if (kind === undefined) {
    const other = BY_STATUS[outcome.status] ?? ServerUnavailable;
    return new other(`The server answered ${outcome.status}, and not as Memorist does.`, { status: outcome.status });
  }
  const request_id = text(problem.request_id);
  const detail = text(problem.detail) ?? kind.meaning;
  const message = outcome.status >= 500 && request_id ? `${detail} [${request_id}]` : detail;
  return new kind(message, { field: text(problem.field), status: outcome.status, request_id });
}

export function failure(error: unknown): Failure {
  // Node tells it as the cause, Bun as the error itself.
  const told = error as { code?: unknown; cause?: { code?: unknown } } | null;
  const code = told?.cause?.code ?? told?.code;
  return { error, never_sent: typeof code === "string" && NEVER_SENT.has(code) };
}

/** An idempotency key as its header holds it, without spaces around it; a new one where none is given. Throws
 * InvalidField. */
export function keyHeader(given: string | undefined): string {
  const key = given === undefined ? newKey() : String(given).trim();
  if (KEY.test(key)) return inHeader(key);
  const field = "Idempotency-Key";
  throw new InvalidField(`${field} must be one line of 1 to 255 characters, without control characters.`, { field });
}

/** A header holds bytes: those of UTF-8, one character each. */
function inHeader(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** A key that nobody else has: pages without TLS have no `randomUUID`. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A part of a path. Names are their owner's words, and may hold what a path uses itself. Throws InvalidField. */
export function part(field: string, text: string): string {
  // An address leaves them out, however they are written.
  if (["", ".", ".."].includes(text)) {
    throw new InvalidField(`${field} must not be empty, nor a dot or two: no address can name that.`, { field });
  }
  try {
    return encodeURIComponent(text);
  } catch {
    throw new InvalidField(`${field} must be text in Unicode, without a lone surrogate.`, { field });
  }
}

/** An id as a part of a path. Throws InvalidId for what may be the name of another path. */
export function idPart(text: string): string {
  if (typeof text === "string" && ID.test(text)) return encodeURIComponent(text);
  throw new InvalidId();
}

/** The name of a user, agent or session. Throws InvalidField where it is none. */
export function identifier(field: string, value: string): string {
  if (typeof value === "string" && IDENTIFIER.test(value)) return value;
  throw new InvalidField(`${field} must be 1 to 128 characters without spaces or control characters.`, { field });
}

/** As JSON. Throws InvalidField for what JSON has no word for. */
export function encode(body: unknown): string {
  try {
    return JSON.stringify(body, plain);
  } catch (error) {
    if (error instanceof MemoristError) throw error;
    throw new InvalidField("What is sent must be plain JSON without NaN, infinity or cycles.");
  }
}

export function queryOf(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return "";
  const asText = (name: string, one: unknown) => (one instanceof Date ? moment(name, one).toISOString() : String(one));
  const pairs = given.flatMap(([name, value]) => [value].flat().map((one) => [name, asText(name, one)]));
  return `?${new URLSearchParams(pairs)}`;
}

/** A date that there is. */
function moment(field: string, value: Date): Date {
  if (Number.isNaN(value.getTime())) throw new InvalidField(`${field} must be a time.`, { field });
  return value;
}

function plain(this: Record<string, unknown>, name: string, value: unknown): unknown {
  // What comes as the value is what the date says of itself: null, where it is none.
  const given = this[name];
  if (given instanceof Date) moment(name, given);
  const isOdd = value instanceof Map || value instanceof Set || (typeof value === "number" && !Number.isFinite(value));
  if (isOdd || typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") {
    throw new InvalidField("What is sent must be plain JSON without NaN, infinity or cycles.");
  }
  return value;
}

class TimedOut extends Error {
  constructor(limit: number) {
    super(`nothing came for ${limit} milliseconds`);
  }
}

async function mayRepeat(call: Call<unknown>, outcome: Response | Failure): Promise<boolean> {
  if (!(outcome instanceof Response)) return outcome.never_sent || Boolean(call.reads || call.writes);
  if (!call.reads && !call.writes) return false;
  // The first try is still being worked on, and its answer will come under the same key.
  return (await isPassing(outcome)) || (await problemOf(outcome)).code === IdempotencyInFlight.code;
}

function restored(response: Response, body: string | null): Response {
  if (response.status < 200) return Response.error();
  return new Response(body, { status: response.status, headers: response.headers });
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  try {
    const body = await response.clone().json();
    return typeof body === "object" && body !== null && !Array.isArray(body) ? body : {};
  } catch {
    return {};
  }
}

/** Milliseconds that the server asks to wait: as a number of seconds, or as a date. */
function retryAfter(response: Response): number | null {
  const header = response.headers.get("retry-after")?.trim();
  if (!header) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const until = Date.parse(header);
  return Number.isNaN(until) ? null : Math.max(0, until - Date.now());
}

function address(url: string): string {
  if (!/^https?:\/\//.test(url)) {
    throw new InvalidSetting("The address of a server begins with http:// or https://.", { field: "url" });
  }
  // They would be in every message that names the address.
  if (/^https?:\/\/[^/]*@/.test(url)) {
    throw new InvalidSetting("The address of a server holds no name and no password.", { field: "url" });
  }
  return url.replace(/\/+$/, "");
}

/** A key without what surrounds it, as the end of the line of its file. */
function bareKey(given: unknown): string {
  const key = typeof given === "string" ? given.trim() : "";
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Unauthenticated("An API key is one word of plain characters.");
  return key;
}

/** What is named and undefined is what is left out. */
function retriesOf({ most = 3, first = 500, longest = 30_000 }: Retries): Required<Retries> {
  return { most, first, longest };
}

function acting(options: ClientOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of ["user", "agent", "session"] as const) {
    const value = options[name];
    if (value === undefined) continue;
    headers[`X-Memorist-${name.charAt(0).toUpperCase()}${name.slice(1)}`] = inHeader(identifier(name, value));
  }
  return headers;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno, where it may not be read.
  }
}

function reasonOf(error: unknown): string {
  const cause = (error as { cause?: { message?: string; code?: string } } | null)?.cause;
  return cause?.message || cause?.code || (error instanceof Error ? error.message : "") || "no reason was given";
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
