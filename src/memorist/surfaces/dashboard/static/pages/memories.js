// What to narrow down by is folded on a small screen and open beside the list on a large one.
"use strict";

const large = matchMedia("(min-width: 60.01rem)");
const unfold = () => {
  const narrowing = document.getElementById("narrowing");
  if (narrowing) narrowing.open = large.matches;
};

large.addEventListener("change", unfold);
unfold();

// Rows come and go without a change of any box.
document.addEventListener("htmx:afterRequest", () => showSelection());

// What was typed was searched as it was typed. Leaving the field tells of it once more: the list would be put in anew while
// somebody is clicking on it.
document.getElementById("q").addEventListener("change", (event) => event.stopPropagation());

// Enter in a field does what the button after it says; the form has other buttons.
document.addEventListener("keydown", (event) => {
  const button = event.key === "Enter" && !event.isComposing && event.target.dataset.enter;
  if (!button) return;
  event.preventDefault();
  document.getElementById(button).click();
});

// The panel beside the list: opened by a row, closed by Escape, and then the row has the focus again.
const panel = document.getElementById("panel");
let openedBy = null;
const closePanel = () => {
  panel.replaceChildren();
  openedBy?.focus();
};
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target !== panel) return;
  openedBy = event.detail.requestConfig.elt;
  panel.focus();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-panel]")) closePanel();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && panel.hasChildNodes() && !document.querySelector("dialog[open]")) closePanel();
});
