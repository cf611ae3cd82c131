// <form data-draft-key="item-12-ada" data-draft-url="/…" data-draft-at="…" data-draft-page="…"> keeps what is typed: in this
// browser at once, on the server (if a URL is given) a few seconds later and when the page goes away. A draft goes when the
// form is accepted: the server answers with another key, or with data-draft-done. A field is restored only while it is
// still as the server sent it, and what is restored is sent to the server as if it were typed.

const PREFIX = "draft:";
const LOCAL_MS = 400;
const SERVER_MS = 4000;
const KEPT_MS = 14 * 86400 * 1000;
const timers = new WeakMap();

const store = {
  read: (key) => { try { return JSON.parse(localStorage.getItem(PREFIX + key)); } catch { return null; } },
  write: (key, value) => { try { localStorage.setItem(PREFIX + key, JSON.stringify(value)); } catch { /* storage is full or blocked: the server's copy remains */ } },
  drop: (key) => { try { localStorage.removeItem(PREFIX + key); } catch { /* nothing was kept */ } },
};

function fieldsOf(form) {
  const skip = ["hidden", "file", "password", "submit", "button"];
  return [...form.elements].filter((field) => field.name && !skip.includes(field.type) && !field.hasAttribute("data-draft-skip"));
}

function valuesOf(form) {
  const values = {};
  for (const field of fieldsOf(form)) {
    if (field.type === "checkbox" || field.type === "radio") {
      if (field.checked) (values[field.name] ||= []).push(field.value);
    } else {
      values[field.name] = [field.value];
    }
  }
  return values;
}

function untouched(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked === field.defaultChecked;
  if (field.options) return true;
  return field.value === field.defaultValue;
}

// A browser's own copy follows from the server's draft if this page, or the page that wrote the copy, began with that draft
// or wrote it. Else newer text was saved elsewhere: the copy is offered, never put in its place.
function follows(form, draft) {
  const { draftAt = "", draftPage = "" } = form.dataset;
  return (draft.seen || "") === draftAt || (draft.page !== undefined && draft.page === draftPage);
}

function fill(form, draft, isWanted) {
  let changed = false;
  for (const field of fieldsOf(form)) {
    if (!isWanted(field)) continue;
    const values = draft.values[field.name] || [];
    if (field.type === "checkbox" || field.type === "radio") {
      changed ||= field.checked !== values.includes(field.value);
      field.checked = values.includes(field.value);
    } else if (values.length && field.value !== values[0]) {
      field.value = values[0];
      changed = true;
    }
  }
  if (changed) {
    form.dispatchEvent(new Event("change", { bubbles: true }));
    if (form.dataset.draftKey) later(form);
  }
  return changed;
}

function differs(form, draft) {
  return fieldsOf(form).some((field) => {
    const values = draft.values[field.name] || [];
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== values.includes(field.value);
    return values.length > 0 && values[0] !== "" && field.value !== values[0];
  });
}

function restore(form) {
  const draft = store.read(form.dataset.draftKey);
  if (!draft || Date.now() - draft.at > KEPT_MS) return;
  if (follows(form, draft)) {
    if (draft.page) pages.set(form, draft.page); // what the old page sent on its way out may arrive after this one was read
    if (fill(form, draft, untouched)) say(form, "Draft restored");
  } else if (differs(form, draft)) {
    offer(form, draft);
  }
}

function offer(form, draft) {
  const out = form.querySelector("[data-draft-state]");
  if (!out) return;
  say(form, "Newer text from another device is shown. ");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-secondary btn-sm";
  button.textContent = "Use the text of this browser";
  button.addEventListener("click", () => {
    fill(form, draft, () => true);
    say(form, "Text of this browser restored");
  });
  out.append(button);
}

function say(form, words) {
  const out = form.querySelector("[data-draft-state]");
  if (out) out.textContent = words;
}

const SAID = { 412: "Newer text was saved from another page. Reload to see it. This text is stored in this browser only." };

async function send(form, { leaving = false } = {}) {
  if (!form.isConnected || !form.dataset.draftUrl) return;
  const headers = JSON.parse(document.body.getAttribute("hx-headers") || "{}");
  const body = new FormData(form);
  body.set("draft_page", pageOf(form));
  body.set("draft_at", form.dataset.draftAt || "");
  try {
    const answer = await fetch(form.dataset.draftUrl, { method: "POST", headers, body, credentials: "same-origin", redirect: "error", keepalive: leaving });
    say(form, answer.ok ? "Draft saved" : SAID[answer.status] || "Draft stored in this browser only");
  } catch {
    say(form, "Draft stored in this browser only");
  }
}

const pages = new WeakMap(); // what each form calls itself, so that the server knows whose draft it holds
function pageOf(form) {
  if (!pages.has(form)) pages.set(form, [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  return pages.get(form);
}

function keep(form) {
  store.write(form.dataset.draftKey, { at: Date.now(), values: valuesOf(form), seen: form.dataset.draftAt || "", page: pageOf(form) });
}

function later(form) {
  const running = timers.get(form) || {};
  running.local ||= window.setTimeout(() => { running.local = 0; keep(form); }, LOCAL_MS);
  running.server ||= window.setTimeout(() => { running.server = 0; send(form); }, SERVER_MS); // who types on is not left waiting
  timers.set(form, running);
}

// The page goes away, or the phone puts it to sleep: what the timers still hold is kept now.
function leave() {
  for (const form of document.querySelectorAll("form[data-draft-key]")) {
    const running = timers.get(form) || {};
    if (!running.local && !running.server) continue;
    keep(form);
    if (running.server) send(form, { leaving: true });
    stop(form);
  }
}

function stop(form) {
  const running = timers.get(form) || {};
  window.clearTimeout(running.local);
  window.clearTimeout(running.server);
  running.local = running.server = 0;
}

function typed(event) {
  const form = event.target.form;
  if (form?.dataset.draftKey && !event.target.hasAttribute("data-draft-skip")) later(form);
}

document.addEventListener("input", typed);
window.addEventListener("pagehide", leave);
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") leave(); });
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.draftKey) return;
  stop(form);
  keep(form); // until the server has accepted it
});

for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, (event) => { if (event.detail.elt.dataset?.draftKey) later(event.detail.elt); });
}

const known = new WeakSet();
function meet() {
  for (const done of document.querySelectorAll("[data-draft-done]")) store.drop(done.dataset.draftDone);
  for (const form of document.querySelectorAll("form[data-draft-key]")) {
    if (known.has(form)) continue;
    known.add(form);
    restore(form);
  }
}
function dropOld() {
  let keys = [];
  try { keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX)); } catch { /* storage is blocked: nothing to drop */ }
  for (const key of keys.map((one) => one.slice(PREFIX.length))) {
    const draft = store.read(key);
    if (!draft || Date.now() - draft.at > KEPT_MS) store.drop(key);
  }
}

document.addEventListener("htmx:afterSettle", meet);
dropOld();
meet();

// What is typed into any other form goes with its page, unless the session had ended: it is put back after the sign-in.
const TYPED = "typed";
const { person } = document.body.dataset;
const pathOf = (form) => new URL(form.getAttribute("action") || "", location.href).pathname;
const plainForms = () => [...document.querySelectorAll("form[method=post]:not([data-draft-key])")];

function putBack() {
  let typed = null;
  try {
    typed = JSON.parse(sessionStorage.getItem(TYPED));
    if (person) sessionStorage.removeItem(TYPED);
    else if (typed) sessionStorage.setItem(TYPED, JSON.stringify({ ...typed, isLost: true }));
  } catch { /* storage is blocked: nothing was kept */ }
  if (!typed?.isLost || typed.person !== person) return;
  const filled = plainForms().filter((form) => pathOf(form) in typed.forms && fill(form, { values: typed.forms[pathOf(form)] }, untouched));
  if (filled.length) document.dispatchEvent(new CustomEvent("toast", { detail: { text: "What you had typed is back, but for files. It is not sent yet.", level: "info" } }));
}

window.addEventListener("pagehide", () => {
  const touched = person ? plainForms().filter((form) => !fieldsOf(form).every(untouched)) : [];
  const forms = Object.fromEntries(touched.map((form) => [pathOf(form), valuesOf(form)]));
  try { if (touched.length) sessionStorage.setItem(TYPED, JSON.stringify({ person, forms })); } catch { /* storage is full or blocked */ }
});
putBack();
