// The playground: what is asked about is brought into view, and a choice of scope or reranker asks again at once.
"use strict";

document.addEventListener("change", (event) => {
  const form = event.target.closest("form.ask");
  if (form && event.target.matches(".segments input") && form.elements.q.value.trim()) form.requestSubmit();
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "answer") return;
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) document.title = `${asked.slice(0, 60)} · ${document.title.split(" · ").slice(-2).join(" · ")}`;
  document.getElementById("verdict")?.scrollIntoView({ block: "center" });
});
