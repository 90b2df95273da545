// What to narrow down by is folded on a small screen and open beside the list on a large one.
"use strict";

const large = matchMedia("(min-width: 60.01rem)");
const unfold = () => {
  const narrowing = document.getElementById("narrowing");
  if (narrowing && large.matches) narrowing.open = true;
};

large.addEventListener("change", unfold);
unfold();

// Rows come and go without a change of any box.
document.addEventListener("htmx:afterRequest", () => showSelection());

// What was typed was searched as it was typed. Leaving the field tells of it once more: the list would be put in anew while
// somebody is clicking on it.
document.getElementById("q").addEventListener("change", (event) => event.stopPropagation());
