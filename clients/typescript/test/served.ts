/** A real server for a file of tests: the one that pytest names, or `python -m tests.typescript.serve`, which ends with
 * its input. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, type ClientOptions } from "memorist";

// Compiled to dist/tested/test.
const REPOSITORY = fileURLToPath(new URL("../../../../../", import.meta.url));
const PYTHON = process.env.MEMORIST_TEST_PYTHON ?? `${REPOSITORY}.venv/bin/python`;

export interface Served {
  url: string;
  keys: Record<"admin" | "user" | "reader" | "service", string>;
  /** A client of somebody whom no other test knows. */
  somebody(options?: ClientOptions): Client;
}

export async function serve(): Promise<Served> {
  const { url, keys } = JSON.parse(process.env.MEMORIST_TEST_SERVED ?? (await start()));
  const somebody = (options: ClientOptions = {}) =>
    new Client({ url, api_key: keys.service, user: `user-${crypto.randomUUID()}`, ...options });
  return { url, keys, somebody };
}

async function start(): Promise<string> {
  const server = spawn(PYTHON, ["-m", "tests.typescript.serve"], {
    cwd: REPOSITORY,
    stdio: ["pipe", "pipe", "inherit"],
  });
  after(() => server.stdin.end());
  for await (const line of createInterface({ input: server.stdout })) {
    return line;
  }
  throw new Error("The server did not start.");
}

/** Everything that comes. */
export async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of found) items.push(item);
  return items;
}
