/** A promise whose work begins when somebody waits for it. */
export class Lazy<T> implements Promise<T> {
  readonly #begin: () => Promise<T>;
  #begun: Promise<T> | undefined;

  constructor(begin: () => Promise<T>) {
    this.#begin = begin;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise
  then<A = T, B = never>(
    onDone?: ((value: T) => A | PromiseLike<A>) | null,
    onFailed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#begun ??= this.#begin();
    return this.#begun.then(onDone, onFailed);
  }

  catch<B = never>(onFailed?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(null, onFailed);
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.then().finally(onEnd);
  }

  get [Symbol.toStringTag](): string {
    return "Promise";
  }
}
