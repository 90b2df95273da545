/** Following server-sent events over broken connections. */

import { encode, errorOf, failure, isPassing, keyHeader, type Transport } from "./transport.js";

const DEFAULT_MILLISECONDS = 2000;
// The server says something at least every 15 seconds.
const SILENCE_MILLISECONDS = 60_000;
// So much later than it should end by itself, a stream is ended here.
const SLACK_MILLISECONDS = 1000;

/** One event as the server sent it. */
export interface ServerSentEvent {
  id: string | null;
  event: string;
  data: string;
  /** Milliseconds that the server wants to be left alone after a cut. */
  retry: number | null;
}

/** What is followed, and until when. */
export interface Followed {
  path: string;
  /** The id of the last event that came. */
  after?: string | null | undefined;
  /** Events that end the stream. */
  ends?: readonly string[] | undefined;
  /**
   * Milliseconds without an event, on whichever connections, after which the server is asked to end the stream; one of an
   * earlier version does not, and it is ended here.
   */
  wait?: number | undefined;
  /** Asked for by POST until `begins` comes, whose data name the turn to go on with. */
  body?: unknown;
  begins?: string;
  idempotency_key?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The events of an address, each once: after a cut they go on after the last one that came. */
export async function* follow(transport: Transport, asked: Followed): AsyncGenerator<ServerSentEvent> {
  const state = new Following(transport, asked);
  while (!state.isOver) {
    const wait = yield* state.connection();
    if (!state.isOver) await transport.sleep(wait, asked.signal);
  }
}

class Following {
  isOver = false;
  readonly #transport: Transport;
  readonly #asked: Followed;
  #path: string;
  #lastId: string | null;
  #body: string | null;
  readonly #key: string;
  #milliseconds = DEFAULT_MILLISECONDS;
  #failures = 0;
  #heard = false;
  #saidAt: number | null = null;

  constructor(transport: Transport, asked: Followed) {
    this.#transport = transport;
    this.#asked = asked;
    this.#path = asked.path;
    this.#lastId = asked.after ?? null;
    this.#body = asked.body === undefined ? null : encode(asked.body);
    this.#key = keyHeader(asked.idempotency_key);
  }

  /** What one connection tells; returns how long to wait before the next. Throws what cannot be tried again. */
  async *connection(): AsyncGenerator<ServerSentEvent, number> {
    this.#heard = false;
    const [controller, letGo] = this.#transport.link(this.#asked.signal);
    const quiet = new Quiet(controller, SILENCE_MILLISECONDS);
    try {
      const response = await this.#transport.open(this.#address(), { ...this.#request(), signal: controller.signal });
      if (!response.ok) {
        const whole = new Response(await response.text(), {
          status: response.status || 599,
          headers: response.headers,
        });
        return await this.#afterRefusal(whole);
      }
      for await (const event of parse(response, () => quiet.begin())) {
        if (this.#hear(event)) yield event;
        if (this.isOver) return 0;
      }
      // One that has an end, and nothing more to tell, was over before. Others end when a server stops.
      this.isOver = Boolean(this.#asked.ends?.length) && !this.#heard;
      return this.#transport.random(this.#milliseconds / 2, this.#milliseconds);
    } catch (error) {
      this.#asked.signal?.throwIfAborted();
      return await this.#afterBreak(error);
    } finally {
      quiet.end();
      letGo();
      // An iterator that is dropped ends its connection, too.
      controller.abort();
    }
  }

  #address(): string {
    const { wait } = this.#asked;
    return wait === undefined ? this.#path : `${this.#path}?wait=${Math.max(0, wait - this.#quietFor()) / 1000}`;
  }

  #request(): RequestInit {
    if (this.#body === null) {
      return {
        headers: {
          Accept: "text/event-stream",
          ...(this.#lastId === null ? {} : { "Last-Event-ID": this.#lastId }),
        },
      };
    }
    const headers = {
      Accept: "text/event-stream",
      "Content-Type": "application/json",
      "Idempotency-Key": this.#key,
    };
    return { method: "POST", body: this.#body, headers };
  }

  /** Note what an event says about the stream. True where it says something to the reader too. */
  #hear(event: ServerSentEvent): boolean {
    this.#failures = 0;
    this.#heard = true;
    if (event.id) this.#lastId = event.id;
    if (event.retry !== null) this.#milliseconds = event.retry;
    // The time begins when the server answers: one that is away for a while is then asked for all of it.
    if (event.data || this.#saidAt === null) this.#saidAt = performance.now();
    if (this.#body !== null && event.event === this.#asked.begins) {
      this.#path += `/${encodeURIComponent(JSON.parse(event.data).turn_id)}/events`;
      this.#body = null;
    }
    // A stream begins with how to come back, and with what is waiting: it is quiet only after that.
    const isIdle = event.data === "" && event.retry === null;
    this.isOver = this.#asked.ends?.includes(event.event) || (isIdle && this.#isQuiet());
    return event.data !== "";
  }

  async #afterRefusal(response: Response): Promise<number> {
    if (!(await isPassing(response))) throw await errorOf(response, this.#transport.url);
    return this.#failed(this.#transport.pauseAfter(this.#failures, response), () =>
      errorOf(response, this.#transport.url),
    );
  }

  async #afterBreak(error: unknown): Promise<number> {
    if (error instanceof Error && "code" in error && "request_id" in error) throw error;
    return this.#failed(this.#transport.pauseAfter(this.#failures, null), () =>
      errorOf(failure(error), this.#transport.url),
    );
  }

  async #failed(wait: number | null, error: () => Promise<Error>): Promise<number> {
    if (wait === null) throw await error();
    this.#failures += 1;
    return wait;
  }

  #isQuiet(): boolean {
    const { wait } = this.#asked;
    return wait !== undefined && this.#quietFor() >= wait + SLACK_MILLISECONDS;
  }

  #quietFor(): number {
    return this.#saidAt === null ? 0 : performance.now() - this.#saidAt;
  }
}

/** Breaks a connection on which nothing comes. */
class Quiet {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly controller: AbortController,
    private readonly limit: number,
  ) {
    this.begin();
  }

  begin(): void {
    this.end();
    const reason = new Error(`nothing came for ${this.limit} milliseconds`);
    this.#timer = setTimeout(() => this.controller.abort(reason), this.limit);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The events of an answer. One that is cut in its middle is none. */
async function* parse(response: Response, onPiece: () => void): AsyncGenerator<ServerSentEvent> {
  let fields = new Fields();
  for await (const line of lines(response, /\r\n|\n|\r/, onPiece)) {
    if (line !== "") {
      fields.read(line);
      continue;
    }
    if (!fields.isEmpty) yield fields.event;
    fields = new Fields();
  }
}

class Fields {
  isEmpty = true;
  readonly #data: string[] = [];
  #id: string | null = null;
  #event = "message";
  #retry: number | null = null;

  read(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    this.isEmpty = false;
    if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "event") this.#event = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retry = Number(value);
  }

  get event(): ServerSentEvent {
    return { id: this.#id, event: this.#event, data: this.#data.join("\n"), retry: this.#retry };
  }
}

/** The lines of an answer that ends may tell apart; what comes after the last end is none. */
export async function* lines(response: Response, end: RegExp | string, onPiece = () => {}): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onPiece();
      rest += decoder.decode(value, { stream: true });
      // A carriage return at the end of a piece may be the first half of a line's end.
      const held = typeof end !== "string" && rest.endsWith("\r") ? "\r" : "";
      const complete = (held ? rest.slice(0, -1) : rest).split(end);
      rest = (complete.pop() ?? "") + held;
      yield* complete;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
