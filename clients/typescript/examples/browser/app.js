/** Lists, adds and deletes one's own memories, with a token of one's own: no key of the tenant is in a page. */

import { Client, MemoristError } from "/memorist/index.js";

const form = document.querySelector("form");
const list = document.querySelector("ul");
const alert = document.querySelector("[role=alert]");

/** The token that the site's own server gave, until shortly before it is over. */
let given = await ask();

async function ask() {
  return (await fetch("/token", { method: "POST" })).json();
}

async function token() {
  if (Date.parse(given.expires_at) - Date.now() < 30_000) given = await ask();
  return given.token;
}

const { memory } = new Client({ url: given.url, api_key: token });

/** Does something, and shows what went wrong or how things stand now. */
async function show(doing) {
  alert.textContent = "";
  try {
    await doing();
    const items = [];
    for await (const entry of memory.list()) items.push(item(entry));
    list.replaceChildren(...items);
  } catch (error) {
    if (!(error instanceof MemoristError)) throw error;
    alert.textContent = error.message;
  }
}

function item(entry) {
  const row = document.createElement("li");
  const button = document.createElement("button");
  button.textContent = "Delete";
  button.setAttribute("aria-label", `Delete: ${entry.text}`);
  button.addEventListener("click", () => show(() => memory.delete(entry.id)));
  row.append(`${entry.text} (${entry.category}) `, button);
  return row;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { text, category } = Object.fromEntries(new FormData(form));
  show(() => memory.create({ text, category })).then(() => form.reset());
});

await show(() => {});
form.querySelector("button").disabled = false;
