/** The root of all errors of Memorist. `code` is stable; the message says what is wrong and what to do. */
export class MemoristError extends Error {
  static readonly code: string = "internal";
  static readonly meaning: string =
    "Something went wrong inside Memorist. The log has the details under the request's id.";

  /** Stable, to be handled by programs. */
  readonly code: string;
  /** The field that was refused, where there is one. */
  readonly field: string | null;
  /** The status of the answer; null where there was none. */
  readonly status: number | null;
  /** The server's id of the request. */
  readonly request_id: string | null;

  constructor(
    message?: string | null,
    about: { field?: string | null; status?: number | null; request_id?: string | null; cause?: unknown } = {},
  ) {
    const kind = new.target;
    super(message || kind.meaning, about.cause === undefined ? undefined : { cause: about.cause });
    this.name = kind.name;
    this.code = kind.code;
    this.field = about.field ?? null;
    this.status = about.status ?? null;
    this.request_id = about.request_id ?? null;
  }
}
