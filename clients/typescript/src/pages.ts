/** Lists that come page by page: awaited they are one page, iterated they are every item of all pages. */

import { Lazy } from "./lazy.js";

const LARGEST = 100;

export interface PageOptions {
  limit?: number | undefined;
  cursor?: string | null | undefined;
}

/** One page of a list. Iterated, it goes on through the pages after it. */
export class Page<T> implements AsyncIterable<T> {
  readonly #next: (cursor: string) => Promise<Page<T>>;

  constructor(
    readonly items: readonly T[],
    readonly next_cursor: string | null,
    next: (cursor: string) => Promise<Page<T>>,
  ) {
    this.#next = next;
  }

  /** The page after this one; null where there is none. */
  async next(): Promise<Page<T> | null> {
    return this.next_cursor === null ? null : this.#next(this.next_cursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (let page: Page<T> | null = this; page !== null; page = await page.next()) yield* page.items;
  }
}

/** A page as the companion's document shows it. */
export class EntryPage<T> implements AsyncIterable<T> {
  readonly #page: Page<T>;
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;

  constructor(page: Page<T>) {
    this.#page = page;
    this.data = page.items;
    this.next_cursor = page.next_cursor;
    this.has_more = page.next_cursor !== null;
  }

  [Symbol.asyncIterator](): AsyncGenerator<T> {
    return this.#page[Symbol.asyncIterator]();
  }
}

/** A list that is yet to be asked for: `await` brings one page, `for await` every item. */
export class Listing<P extends AsyncIterable<T>, T> extends Lazy<P> implements AsyncIterable<T> {
  readonly #all: () => Promise<P>;

  constructor(ask: (options: PageOptions) => Promise<P>, options: PageOptions) {
    super(() => ask(options));
    this.#all = () => ask({ ...options, limit: options.limit ?? LARGEST });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* await this.#all();
  }
}
