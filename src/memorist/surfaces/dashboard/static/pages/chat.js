// The chat: Enter sends, one answer at a time, and what was not answered is in the box again.
"use strict";

const form = document.getElementById("chat-form");
const note = document.getElementById("chat-note");
const isComing = () => document.querySelector(".reply[data-turn-events]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "message" || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

form?.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target !== form) return;
  note.textContent = isComing() ? form.dataset.wait : "";
  if (isComing()) event.preventDefault();
});

htmx.onLoad((loaded) => {
  if (loaded.matches(".exchange")) {
    loaded.scrollIntoView({ block: "start" });
    document.getElementById("message").focus({ preventScroll: true });
  }
  if (!form || isComing()) return;
  note.textContent = "";
  const last = [...document.querySelectorAll(".exchange")].at(-1);
  const box = document.getElementById("message");
  const isNew = loaded === document.body || last?.contains(loaded);
  if (isNew && last?.querySelector("[data-unanswered]") && !box.value) {
    box.value = last.querySelector("[data-asked]").textContent;
  }
});
