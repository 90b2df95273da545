// Files that are dropped or chosen go to the server one after the other, each with its progress and what became of it.
"use strict";

const drop = document.getElementById("drop");
const uploads = document.getElementById("uploads");
const queue = [];
let isSending = false;

function take(files) {
  for (const file of files) {
    const line = document.createElement("li");
    const name = document.createElement("b");
    const told = document.createElement("div");
    const progress = document.createElement("progress");
    name.textContent = file.name;
    progress.setAttribute("aria-label", drop.dataset.sending.replace("{name}", () => file.name));
    progress.max = 1;
    progress.value = 0;
    told.append(progress);
    line.append(name, told);
    uploads.append(line);
    if (file.size <= Number(drop.dataset.most)) queue.push({ file, told, progress });
    else fail(told, drop.dataset.large);
  }
  send();
}

function fail(told, words) {
  told.textContent = words;
  told.className = "invalid";
}

function send() {
  const next = isSending ? undefined : queue.shift();
  if (!next) return;
  isSending = true;
  const request = new XMLHttpRequest();
  const query = new URLSearchParams({ name: next.file.name });
  // What else is said about the file: a box that is ticked, a choice that is made.
  for (const field of drop.querySelectorAll("[data-along]")) {
    if (field.type !== "checkbox" || field.checked) query.set(field.id, field.value);
  }
  request.open("POST", `${drop.dataset.to}?${query}`);
  request.setRequestHeader("X-CSRF-Token", drop.dataset.csrf);
  request.setRequestHeader("HX-Request", "true");
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = (event) => {
    // What is sent is then read and cut: how long that takes is not known.
    if (event.loaded < event.total) next.progress.value = event.loaded / event.total;
    else next.progress.removeAttribute("value");
  };
  request.onloadend = () => {
    const isTold = request.getResponseHeader("content-type")?.startsWith("text/html") && request.status !== 401;
    if (isTold) next.told.textContent = "";
    else fail(next.told, request.status === 413 ? drop.dataset.large : drop.dataset.failed);
    // What the server wrote is put in by htmx, as everywhere.
    if (isTold) htmx.swap(next.told, request.responseText, { swapStyle: "beforeend", swapDelay: 0, settleDelay: 0 });
    isSending = false;
    if (queue.length === 0) htmx.trigger(drop, "uploaded");
    send();
  };
  request.send(next.file);
}

if (drop) {
  document.getElementById("files").addEventListener("change", (event) => {
    take(event.target.files);
    event.target.value = "";
  });
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}
