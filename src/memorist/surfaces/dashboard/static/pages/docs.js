// The reference: finding a call, and trying one. A key that is typed here stays in this tab, and is sent as a header only.
"use strict";

document.querySelectorAll("[data-scripted]").forEach((part) => (part.hidden = false));

// Behind a proxy the server does not know the address that the reader came by.
document.querySelectorAll("[data-server]").forEach((part) => {
  if (part.dataset.server !== location.origin)
    part.textContent = part.textContent.replaceAll(part.dataset.server, location.origin);
});

// A link of the drawer that stays on the page shows what it leads to.
const drawer = document.getElementById("menu");
drawer.addEventListener("click", (event) => event.target.closest("a") && drawer.hidePopover());

// Finding

const find = document.querySelector("[data-find]");

function showFound() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  document.querySelectorAll(".group").forEach((group) => {
    const rows = [...group.querySelectorAll("li")];
    rows.forEach((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) count += 1;
    });
    group.hidden = rows.every((row) => row.hidden);
  });
  document.querySelector("[data-found]").textContent = words.length ? `${count} found` : "";
}

find?.addEventListener("input", showFound);
find?.form.addEventListener("submit", (event) => {
  event.preventDefault();
  document.querySelector(".calls li:not([hidden]) a")?.click();
});

// Trying

const KEPT = "memorist.reference.key";
const form = document.querySelector("[data-try]");

if (form) {
  const part = (name) => form.querySelector(`[data-${name}]`);
  const key = part("key");
  const [status, answer, stop] = [part("status"), part("answer"), part("stop")];
  let running = null;

  if (key) {
    key.value = sessionStorage.getItem(KEPT) ?? "";
    key.addEventListener("input", () => sessionStorage.setItem(KEPT, key.value));
    part("forget").addEventListener("click", () => {
      sessionStorage.removeItem(KEPT);
      key.value = "";
      key.focus();
    });
  }
  stop.addEventListener("click", () => running?.abort());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });

  function call() {
    let path = form.dataset.path;
    const query = new URLSearchParams();
    const headers = {};
    if (key) headers.Authorization = `Bearer ${key.value.trim()}`;
    form.querySelectorAll("[data-name]").forEach(({ value, dataset: { name, place } }) => {
      if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (value && place === "query") query.set(name, value);
      else if (value) headers[name] = value;
    });
    const body = part("body")?.value;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return [query.size ? `${path}?${query}` : path, { method: form.dataset.method, headers, body }];
  }

  async function send() {
    running?.abort();
    const mine = (running = new AbortController());
    stop.hidden = false;
    answer.hidden = false;
    answer.textContent = "";
    status.textContent = "…";
    const began = performance.now();
    try {
      const [address, options] = call();
      // The dashboard's cookie has no say here: what the key may not do is refused.
      const response = await fetch(address, { ...options, signal: mine.signal, credentials: "omit", cache: "no-store" });
      status.textContent = `${response.status} ${response.statusText}, ${Math.round(performance.now() - began)} ms`;
      await show(response);
    } catch (error) {
      status.textContent = mine.signal.aborted ? `${status.textContent} stopped` : String(error.message);
    } finally {
      if (running === mine) stop.hidden = true;
    }
  }

  async function show(response) {
    // Piece by piece: a stream does not end.
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader.read())
      answer.textContent += piece.value;
    if (/^application\/([\w.]+\+)?json\b/.test(response.headers.get("content-type") ?? ""))
      answer.textContent = JSON.stringify(JSON.parse(answer.textContent), null, 2);
    if (!answer.textContent) answer.textContent = "(no content)";
  }
}
