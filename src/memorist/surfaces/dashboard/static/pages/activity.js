// Follows what happens: entries come as they are, and are put before the others. Reading can be paused and resumed.
// The browser comes back by itself when the connection breaks, and says after which entry to go on.
"use strict";

const MOST = 200;
const live = document.querySelector("[data-events]");
const feed = document.getElementById("feed");
const state = live.querySelector("[data-state]");
const button = live.querySelector("[data-pause]");
const pause = button.textContent;
let after = live.dataset.after;
let source = null;

function say(name) {
  state.textContent = state.dataset[name];
  state.className = `state ${name}`;
}

function put({ id, html }) {
  if (document.getElementById(id)) return;
  htmx.swap(feed, html, { swapStyle: "afterbegin", swapDelay: 0, settleDelay: 0 });
  document.getElementById("nothing")?.remove();
  while (feed.children.length > MOST) feed.lastElementChild.remove();
}

function follow() {
  say("wait");
  source = new EventSource(`${live.dataset.events}&after=${encodeURIComponent(after)}`);
  source.onopen = () => say("live");
  source.onerror = () => say(source.readyState === EventSource.CLOSED ? "over" : "lost");
  source.addEventListener("happening", (event) => {
    after = event.lastEventId || after;
    put(JSON.parse(event.data));
  });
  source.addEventListener("cut", (event) => {
    after = event.lastEventId;
    say("cut");
  });
}

button.addEventListener("click", () => {
  const isPaused = source === null;
  button.textContent = isPaused ? pause : button.dataset.resume;
  if (isPaused) return follow();
  source.close();
  source = null;
  say("paused");
});

live.hidden = false;
follow();
