// <form data-draft-key="item-12-ada" data-draft-url="/…"> keeps what is typed: in this browser at once, on the server
// (if a URL is given) a few seconds later. A draft goes when the form is accepted: the server answers with another key, or
// with data-draft-done. A field is restored only while it is still as the server sent it.

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

function restore(form) {
  const draft = store.read(form.dataset.draftKey);
  if (!draft || Date.now() - draft.at > KEPT_MS) return;
  let changed = false;
  for (const field of fieldsOf(form)) {
    if (!untouched(field)) continue;
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
    say(form, "Your draft is back");
    form.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

function say(form, words) {
  const out = form.querySelector("[data-draft-state]");
  if (out) out.textContent = words;
}

async function send(form) {
  if (!form.isConnected || !form.dataset.draftUrl) return;
  const headers = JSON.parse(document.body.getAttribute("hx-headers") || "{}");
  try {
    const answer = await fetch(form.dataset.draftUrl, { method: "POST", headers, body: new FormData(form), credentials: "same-origin", redirect: "error" });
    say(form, answer.ok ? "Draft saved" : "Draft kept in this browser only");
  } catch {
    say(form, "Draft kept in this browser only");
  }
}

function later(form, event) {
  if (!form?.dataset.draftKey || event.target.hasAttribute?.("data-draft-skip")) return;
  const running = timers.get(form) || {};
  const keep = () => { running.local = 0; store.write(form.dataset.draftKey, { at: Date.now(), values: valuesOf(form) }); };
  running.local ||= window.setTimeout(keep, LOCAL_MS);
  running.server ||= window.setTimeout(() => { running.server = 0; send(form); }, SERVER_MS); // who types on is not left waiting
  timers.set(form, running);
}

function stop(form) {
  const running = timers.get(form) || {};
  window.clearTimeout(running.local);
  window.clearTimeout(running.server);
  running.local = running.server = 0;
}

document.addEventListener("input", (event) => later(event.target.form, event));
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.draftKey) return;
  stop(form);
  store.write(form.dataset.draftKey, { at: Date.now(), values: valuesOf(form) }); // kept until the server has accepted it
});

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
