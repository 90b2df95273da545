/** The site's own server: it has the page, and the key that makes tokens. `MEMORIST_API_KEY` is a service key.
 *
 * Here everybody is the user `ada`; a real site asks who is signed in.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Client } from "memorist";

const url = process.env.MEMORIST_URL ?? "http://127.0.0.1:8377";
const memorist = new Client({ url });
const packaged = new URL(".", import.meta.resolve("memorist"));
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript" };

async function answer(request, response) {
  const { pathname } = new URL(request.url, "http://site");
  if (pathname === "/token" && request.method === "POST") {
    const made = await memorist.createToken("ada");
    return send(response, "application/json", JSON.stringify({ ...made, url }));
  }
  const wanted = /^\/(memorist\/)?([\w/-]+\.js)$/.exec(pathname);
  const name = pathname === "/" ? "index.html" : wanted?.[2];
  if (name === undefined) return send(response, "text/plain", "There is nothing here.", 404);
  const file = new URL(name, wanted?.[1] ? packaged : import.meta.url);
  return send(response, TYPES[name.split(".").pop()], await readFile(file));
}

function send(response, type, body, status = 200) {
  // What a page of somebody else's would put in is not run, and the token is sent nowhere else.
  const policy = `default-src 'self'; connect-src 'self' ${url}; img-src data:`;
  response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": policy }).end(body);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => send(response, "text/plain", error.message, 500));
});
server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
