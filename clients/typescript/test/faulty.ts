/** A server that fails as it is told to: each request takes one step of the script. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

export type Step = (response: ServerResponse, request: IncomingMessage) => void;

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export class Faulty {
  script: Step[] = [];
  seen: Seen[] = [];
  pauses: number[] = [];
  url = "";

  /** What a client takes to have steady pauses, which take no time and are noted. */
  get options() {
    const sleep = async (milliseconds: number) => {
      this.pauses.push(milliseconds);
    };
    return { url: this.url, api_key: "mst_live_x", sleep, random: (_: number, most: number) => most };
  }

  begin(...script: Step[]): void {
    Object.assign(this, { script, seen: [], pauses: [] });
  }
}

export async function faultyServer(): Promise<Faulty> {
  const faulty = new Faulty();
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    faulty.seen.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
    faulty.script.shift()?.(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  faulty.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return faulty;
}

export const answer =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Step =>
  (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };

export const problem = (status: number, code: string, headers: Record<string, string> = {}): Step =>
  answer({ code, detail: `It is ${code}.`, field: "content", request_id: "req_1" }, status, headers);

/** The request arrived, and no answer ever will. */
export const hangUp: Step = (response) => response.destroy();

/** An answer that ends before it is complete. */
export const cut: Step = (response) => {
  response.writeHead(200, { "Content-Length": "1000" });
  response.write('{"tools": [', () => response.destroy());
};

export const silence: Step = () => {};

/** A stream of events that ends after these. */
export const events = (text: string): Step => answer(text, 200, { "Content-Type": "text/event-stream" });

/** An address where nobody listens. */
export async function nowhere(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
