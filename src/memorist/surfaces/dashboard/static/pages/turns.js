// Follows a turn that runs: its answer grows as it comes, its steps are loaded anew, and at its end all of it is.
// The browser comes back by itself when the connection breaks, and says after which event to go on.
"use strict";

const STEPS = ["memory.injected", "context.compressed", "tool.called", "tool.completed", "agent.completed"];
const LAST = ["turn.completed", "turn.failed"];

function follow(story) {
  const answer = story.querySelector("[data-answer]");
  const state = story.querySelector("[data-live]");
  const source = new EventSource(story.dataset.turnEvents);
  const say = (words) => {
    if (state.textContent !== words) state.textContent = words;
  };
  source.addEventListener("answer.delta", (event) => {
    answer.append(JSON.parse(event.data).text ?? "");
  });
  const steps = story.querySelector("[data-steps]");
  for (const name of STEPS) source.addEventListener(name, () => htmx.trigger(steps, "step"));
  for (const name of LAST) {
    source.addEventListener(name, () => {
      source.close();
      htmx.trigger(story, "over");
    });
  }
  source.onopen = () => say(state.dataset.running);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) {
      // Over, or no longer allowed: either way the page as it is now tells, and goes on where it still runs.
      setTimeout(() => htmx.trigger(story, "over"), 1000);
    } else {
      say(state.dataset.reconnecting);
    }
  };
}

htmx.onLoad((loaded) => {
  const story = loaded.matches("[data-turn-events]") ? loaded : loaded.querySelector("[data-turn-events]");
  if (story) follow(story);
});
