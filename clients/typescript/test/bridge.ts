/** Does verbs as it is told to, one a line, so that what tests the Python client tests this one, too. */

import { createInterface } from "node:readline";
import { Client, MemoristError } from "memorist";

interface Asked {
  url: string;
  api_key: string;
  verb: string;
  given: unknown[];
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line, revived))));
}

async function answer(asked: Asked): Promise<unknown> {
  try {
    const client = new Client({ url: asked.url, api_key: asked.api_key });
    const verb = client[asked.verb as keyof Client] as (...given: unknown[]) => unknown;
    return { answer: await settled(verb.apply(client, asked.given), asked.verb) };
  } catch (error) {
    if (error instanceof MemoristError) return { code: error.code, name: error.name };
    throw error;
  }
}

async function settled(found: unknown, verb: string): Promise<unknown> {
  const isStream = ["changes", "export", "iterate", "iterateDocuments", "turn", "turnEvents"].includes(verb);
  if (!isStream) return (await found) ?? null;
  const all = [];
  for await (const one of found as AsyncIterable<unknown>) all.push(one);
  return all;
}

/** What JSON has no word for comes wrapped. */
function revived(_: string, value: unknown): unknown {
  const odd = value as { $bytes?: string; $number?: string; $set?: boolean; $date?: string } | null;
  if (typeof odd?.$bytes === "string") return new Uint8Array(Buffer.from(odd.$bytes, "base64"));
  if (odd?.$number) return odd.$number === "inf" ? Number.POSITIVE_INFINITY : Number.NaN;
  if (odd?.$set) return new Set([1]);
  return value;
}
