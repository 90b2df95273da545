// What the pages need beyond htmx: keys, copying, dialogs, toasts and selecting. Nothing here reads or writes memories.
"use strict";

// Boxes and buttons to choose by take no letters.
const isTyping = (element) =>
  element.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") !== null;

// Keys

let waitingForGo = false;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (waitingForGo) {
    waitingForGo = false;
    const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
    return;
  }
  if (event.key === "g") {
    waitingForGo = true;
    setTimeout(() => (waitingForGo = false), 1500);
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  } else if (event.key === "?") {
    document.getElementById("keys")?.showModal();
  } else if (event.key === "j" || event.key === "k") {
    moveInList(event.key === "j" ? 1 : -1);
  } else if (event.key === "x") {
    const box = document.activeElement?.closest("[data-item]")?.querySelector("input[type=checkbox]");
    if (box) box.click();
  }
});

function moveInList(step) {
  const items = [...document.querySelectorAll("[data-item]")];
  if (items.length === 0) return;
  const here = items.indexOf(document.activeElement?.closest("[data-item]"));
  const next = items[Math.min(items.length - 1, Math.max(0, here + step))];
  (next.querySelector("a") ?? next).focus();
  next.scrollIntoView({ block: "nearest" });
}

// Clicks

document.addEventListener("click", (event) => {
  const button = event.target.closest("button, [data-select-all]");
  if (!button) return;
  if (button.hasAttribute("data-copy")) copy(button);
  if (button.dataset.open) document.getElementById(button.dataset.open)?.showModal();
  if (button.hasAttribute("data-close")) button.closest("dialog")?.close();
  if (button.hasAttribute("data-dismiss")) button.closest("[data-toast]")?.remove();
});

async function copy(button) {
  const text = button.closest(".copyable").querySelector("pre, code, input, textarea");
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text.value ?? text.textContent);
    button.textContent = button.dataset.copied;
  } catch {
    // Without permission, as on plain http from another machine: select it, so that one key copies it.
    getSelection().selectAllChildren(text);
    button.textContent = button.dataset.selected;
  }
  setTimeout(() => (button.textContent = before), 1500);
}

// Selecting: boxes named by data-selectable, counted and acted on by a bar with data-selection.

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-select-all]")) {
    document.querySelectorAll("[data-selectable]").forEach((box) => (box.checked = event.target.checked));
  }
  if (event.target.matches("[data-select-all], [data-selectable]")) showSelection();
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

function showSelection() {
  const boxes = [...document.querySelectorAll("[data-selectable]")];
  const chosen = boxes.filter((box) => box.checked).length;
  // Rows come and go: it is ticked while all that are shown are.
  document.querySelectorAll("[data-select-all]").forEach((all) => (all.checked = chosen > 0 && chosen === boxes.length));
  document.querySelectorAll("[data-selection]").forEach((bar) => {
    bar.hidden = chosen === 0;
    const count = bar.querySelector("[data-selection-count]");
    if (count) count.textContent = chosen;
  });
}

document.addEventListener("htmx:afterSettle", showSelection);

// A choice that leads back leads to the page as it is now: htmx may have changed its address.

const addressShown = location.pathname + location.search;
function leadBack(element) {
  const now = location.pathname + location.search;
  if (now === addressShown) return;
  if (element.href) element.href = `${element.pathname}?back=${encodeURIComponent(now)}`;
  else element.value = now;
}
document.addEventListener("submit", (event) => event.target.querySelectorAll("[data-here]").forEach(leadBack));
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-here]");
  if (link) leadBack(link);
});

// Toasts go by themselves; one with a button stays long enough to be reached.

function age(toast) {
  if (toast.dataset.aging) return;
  toast.dataset.aging = "1";
  const stay = () => toast.matches(":hover, :focus-within");
  const end = () => (stay() ? setTimeout(end, 2000) : toast.remove());
  setTimeout(end, toast.querySelector("form") ? 15000 : 6000);
}

const toasts = document.getElementById("toasts");
if (toasts) {
  const ageAll = () => toasts.querySelectorAll("[data-toast]").forEach(age);
  new MutationObserver(ageAll).observe(toasts, { childList: true, subtree: true });
  ageAll();
}

// The palette: Ctrl-K anywhere, arrows through what is found, Enter takes the first.

const palette = document.getElementById("palette");
document.addEventListener("keydown", (event) => {
  if (palette && (event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    if (!palette.open) palette.showModal();
    htmx.trigger("#palette-q", "open");
  }
});
palette?.addEventListener("keydown", (event) => {
  const links = [...palette.querySelectorAll("a")];
  const here = links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    (links[here + step] ?? document.getElementById("palette-q")).focus();
  } else if (event.key === "Enter" && here < 0) {
    event.preventDefault();
    goesToFirst = true;
    goToFirst();
  }
});

// What is found may be of fewer letters than were typed: then the first of the next answer is meant.
let goesToFirst = false;
function goToFirst() {
  const typed = document.getElementById("palette-q").value.trim().replace(/\s+/g, " ");
  const found = document.getElementById("palette-found");
  if (!goesToFirst || found.dataset.asked !== typed) return;
  goesToFirst = false;
  found.querySelector("a")?.click();
}
document.addEventListener("htmx:afterSettle", () => palette?.open && goToFirst());

// A server that does not answer: a banner, nothing that was typed is lost, and trying again does what was asked for.

const away = document.getElementById("away");
const unanswered = new Map();
const setAway = (is) => {
  if (away) away.hidden = !is;
  document.body.classList.toggle("stale", is);
};
const keep = (what, { part, again }) => {
  unanswered.set(what, { part, again, at: performance.now() });
  setAway(true);
};
const answers = () => fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(5000) }).then((answer) => answer.ok, () => false);

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    const { elt, requestConfig: asked } = event.detail;
    // Of what writes or leaves the page, the last that was asked for.
    const field = asked.triggeringEvent?.target;
    const part = field instanceof Element && elt.contains(field) ? field : elt;
    keep(asked.verb === "get" ? elt : document, { part, again: () => ask(elt, asked.verb, asked.path) });
  });
}
document.addEventListener("htmx:beforeSend", ({ detail }) => (detail.requestConfig.at = performance.now()));
document.addEventListener("htmx:afterOnLoad", ({ detail }) => {
  // What somebody asked for after something failed gives that up, and each part what it asked for itself. An answer from
  // before does not, however late it comes, nor does what a page loads by itself.
  const { at: askedAt, triggeringEvent } = detail.requestConfig;
  for (const [what, { at }] of unanswered) {
    if (at < askedAt && (triggeringEvent || what === detail.elt)) unanswered.delete(what);
  }
  setAway(unanswered.size > 0);
});
document.addEventListener("htmx:beforeRequest", (event) => event.detail.target.classList.remove("failed"));
document.addEventListener("click", async (event) => {
  if (!event.target.closest("[data-retry]") || !(await answers())) return;
  setAway(false);
  const all = [...unanswered.values()];
  unanswered.clear();
  all.forEach(({ again }) => again());
  focusOn(all.find(({ part }) => part?.isConnected)?.part ?? document.getElementById("main"));
});

// The button is gone with what it was for: the focus is on what was asked for again, also where that is replaced.
let retried = "";
function focusOn(part) {
  if (!part.matches("a, button, input, select, textarea, [tabindex]")) part.tabIndex = -1;
  part.focus({ preventScroll: true });
  retried = part.id;
}
document.addEventListener("htmx:afterSettle", () => {
  const part = document.activeElement === document.body && retried && document.getElementById(retried);
  if (part) focusOn(part);
  retried = "";
});

// As it was asked before: what a page loads by itself listens to nothing that comes again.
function ask(element, verb, path) {
  element.classList.remove("failed");
  if (element.isConnected) htmx.ajax(verb, path, { source: element }).catch(() => {});
}

// A part of a page that did not come says so in its place.
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError", "refused"]) {
  document.addEventListener(name, (event) => event.detail.elt.classList.add("failed"));
}
document.addEventListener("click", (event) => {
  const part = event.target.closest("[data-again]")?.closest("[hx-get]");
  if (!part) return;
  ask(part, "get", part.getAttribute("hx-get"));
  focusOn(part);
});

// A form or a link that leaves the page is followed once the server is known to answer; a link, where that loses words.
const leave = async (event, go) => {
  event.preventDefault();
  if (await answers()) return go();
  keep(document, { again: go });
};
// What is too large for a form is not sent: the page, and what was typed, would be gone for an error.
const isTooLarge = (form) => {
  const sent = new URLSearchParams(new FormData(form)).toString().replaceAll("%0A", "%0D%0A");
  return form.method === "post" && sent.length > Number(document.body.dataset.most);
};
document.addEventListener("submit", (event) => {
  if (!isTooLarge(event.target)) return;
  event.preventDefault();
  toasts.append(document.getElementById("too-large").content.cloneNode(true));
});
document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  const isPlain = form.method !== "dialog" && ![form, submitter].some((one) => one?.matches("[hx-post], [hx-get]"));
  if (!away || !isPlain || event.defaultPrevented || form.dataset.answered) return;
  leave(event, () => {
    form.dataset.answered = "1";
    form.requestSubmit(submitter);
    delete form.dataset.answered;
  });
});

const isChanged = (field) =>
  /^(text|textarea)$/.test(field.type) && field.value !== field.defaultValue && !field.closest("#palette");
document.addEventListener("click", (event) => {
  const link = linkThatLeaves(event);
  const isAtStake = away && (!away.hidden || [...document.querySelectorAll("input, textarea")].some(isChanged));
  if (!link || !isAtStake) return;
  leave(event, () => {
    showThatItComes();
    location.assign(link.href);
  });
});

// A page that takes long shows that it comes.

function linkThatLeaves(event) {
  const link = event.target.closest("a[href^='/dashboard']:not([hx-get], [download], [target])");
  const isElsewhere = event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
  const stays = link?.hash && link.pathname + link.search === location.pathname + location.search;
  return isElsewhere || stays ? null : link;
}

let waiting = 0;
const showThatItComes = () => {
  waiting = setTimeout(() => document.getElementById("main")?.classList.add("waiting"), 400);
};
document.addEventListener("click", (event) => linkThatLeaves(event) && showThatItComes());
addEventListener("pageshow", () => {
  clearTimeout(waiting);
  document.getElementById("main")?.classList.remove("waiting");
});
