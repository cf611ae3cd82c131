// Short messages. From the server: Django's messages, or the response header
//   HX-Trigger: {"toast": {"text": "saved", "level": "success", "action": {"label": "Undo", "url": "/…", "key": "u"}}}
// From a script: document.dispatchEvent(new CustomEvent("toast", {detail: {…}})). Errors and warnings stay until dismissed.

const TONES = { success: "ok", info: "info", warning: "warn", error: "bad" };
const ICONS = { success: "check-circle-fill", info: "info-circle-fill", warning: "exclamation-triangle-fill", error: "exclamation-octagon-fill" };
const SHOWN_MS = 7000;
const ONE_AT_A_TIME = () => document.querySelector(".review") !== null;
const region = document.getElementById("toasts");

function fadeLater(note) {
  if (note.dataset.tone === "bad" || note.dataset.tone === "warn") return;
  let timer = 0;
  const start = () => { timer = window.setTimeout(() => note.remove(), SHOWN_MS); };
  const stop = () => window.clearTimeout(timer);
  for (const name of ["pointerenter", "focusin"]) note.addEventListener(name, stop);
  for (const name of ["pointerleave", "focusout"]) note.addEventListener(name, () => { stop(); start(); });
  start();
}

function actionButton(action) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = action.url;
  const headers = document.body.getAttribute("hx-headers");
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = headers ? JSON.parse(headers)["X-CSRFToken"] : "";
  const button = document.createElement("button");
  button.className = "btn btn-secondary btn-sm";
  button.textContent = action.label;
  if (action.key) {
    button.dataset.key = action.key;
    const cap = document.createElement("kbd");
    cap.textContent = action.key.toUpperCase();
    button.append(" ", cap);
    button.dataset.keyLabel = action.label;
  }
  form.append(token, button);
  if (action.target && window.htmx) {
    form.setAttribute("hx-post", action.url);
    form.setAttribute("hx-target", action.target);
    form.setAttribute("hx-swap", action.swap || "outerHTML");
    form.addEventListener("htmx:afterRequest", () => form.closest(".toast-note")?.remove());
    window.htmx.process(form);
  }
  return form;
}

function show({ text, level = "info", action = null }) {
  const note = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
  note.dataset.tone = TONES[level] || "info";
  const picture = note.querySelector(".icon use");
  picture.setAttribute("href", `${picture.getAttribute("href").split("#")[0]}#${ICONS[level] || ICONS.info}`);
  note.querySelector("[data-toast-text]").textContent = text;
  if (action) note.querySelector("[data-toast-close]").before(actionButton(action));
  // What an act offered to undo is over with the next act; on an item's page one message has to do.
  for (const old of region.querySelectorAll(".toast-note")) {
    const isStale = old.querySelector("form") || (ONE_AT_A_TIME() && !["bad", "warn"].includes(old.dataset.tone));
    if (isStale || old.querySelector(":scope > span").textContent === text) old.remove();
  }
  region.append(note);
  fadeLater(note);
}

if (region) {
  region.querySelectorAll(".toast-note").forEach(fadeLater);
  document.addEventListener("toast", (event) => show(event.detail));
  document.addEventListener("click", (event) => event.target.closest("[data-toast-close]")?.closest(".toast-note").remove());
  document.addEventListener("htmx:sendError", () => show({ text: "The site cannot be reached. What you typed is still here; try again.", level: "error" }));
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    const text = status === 403 ? "Your session has ended or you do not have this right. Reload the page." : `The site returned error ${status}. Nothing was changed on this page.`;
    show({ text, level: "error" });
  });
}
