// Keyboard shortcuts, declared on the page itself: data-key="j" (or "j ArrowDown") presses or focuses the element;
// what it unfolds is ready to be written in.
// While somebody types, Ctrl+Enter presses the button of that form which has the key Enter, and Escape leaves the field;
// in what a key unfolded, Escape folds it again.
// Keys are dead while someone types, while a dialog is open, while the element's own part of the page is being
// replaced, and until the new part has been painted. The keys of a form's current question come before all others. The sheet behind `?` is built from what is on the page.

const TYPING = "input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=file]), textarea, select, [contenteditable=true]";
const PRESSES = "a[href], button, summary, label, input, [role=button], [role=tab]";
const UNFOLDED = "details[open]:has(> summary[data-key])";
const ENTER = '[data-key~="Enter"], [data-key~="Control+Enter"]';
const NAMES = { "Control+Enter": "Ctrl Enter ↵", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "Enter ↵", Escape: "Esc", " ": "Space" };
const sheet = document.getElementById("help-sheet");

const keysOf = (element) => element.dataset.key.split(/\s+/).filter(Boolean);
const sameKey = (wanted, pressed) => (wanted.length === 1 ? wanted.toLowerCase() === pressed.toLowerCase() : wanted === pressed);
const enabled = () => {
  try {
    return localStorage.getItem("keys") !== "off";
  } catch {
    return true; // storage is blocked: shortcuts stay on
  }
};
const dialogOpen = () => document.querySelector("dialog[open], .modal.show, .dropdown-menu.show") !== null;
const usable = (element) =>
  element.checkVisibility() &&
  !element.disabled &&
  element.getAttribute("aria-disabled") !== "true" &&
  !element.closest("[inert], [aria-busy=true], .htmx-request, .htmx-swapping, .htmx-settling");

function belongsToFocus(event) {
  const focus = event.target;
  if (focus.matches("[data-current] input[type=number]")) return !/^[a-df-z]$/i.test(event.key); // no number has these letters
  if (focus.closest(TYPING)) return true;
  if (event.key === "Enter" || event.key === " ") return focus.closest("a[href], button, summary, [role=button]") !== null;
  if (event.key.startsWith("Arrow")) return focus.closest("input[type=radio], [role=tab], [role=slider], [role=separator], [role=textbox]") !== null;
  return false;
}

function press(element) {
  if (element.matches(TYPING)) {
    element.focus();
  } else if (element.matches(PRESSES)) {
    element.click();
    if (element.matches("summary") && element.parentElement.open) element.parentElement.querySelector("textarea")?.focus();
  } else {
    if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
    element.focus();
  }
}

function submitsBy(event) {
  const form = event.target.closest(TYPING)?.form;
  const button = (form || document).querySelector(ENTER) || form?.querySelector(".review-action button:not([type=button])");
  return button && usable(button) ? button : null;
}

// Returns whether the key was one of those that work while typing.
function pressWhileTyping(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    const button = submitsBy(event);
    if (button) {
      event.preventDefault();
      button.click();
    }
    return true;
  }
  if (event.key === "Escape" && event.target.closest(TYPING)) {
    event.target.blur();
    event.target.closest(UNFOLDED)?.querySelector("summary").focus();
    return true;
  }
  return false;
}

function foldAround(focus) {
  const unfolded = focus.closest(UNFOLDED);
  if (!unfolded) return;
  unfolded.open = false;
  unfolded.querySelector("summary").focus();
}

let waitingForPaint = false;
document.addEventListener("htmx:afterSwap", (event) => {
  const part = event.detail.target;
  if (!(part instanceof Element)) return;
  if (!part.matches("[data-key]") && !part.querySelector("[data-key]")) return;
  waitingForPaint = true;
  requestAnimationFrame(() => requestAnimationFrame(() => { waitingForPaint = false; }));
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.repeat || waitingForPaint || dialogOpen()) return;
  if (pressWhileTyping(event)) return;
  if (event.key === "Escape") foldAround(event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || belongsToFocus(event)) return;
  if (!enabled() && event.key !== "?") return;
  const all = [...document.querySelectorAll("[data-current] [data-key]"), ...document.querySelectorAll("[data-key]")];
  const found = all.find((element) => keysOf(element).some((key) => sameKey(key, event.key)) && usable(element));
  if (!found) return;
  event.preventDefault();
  press(found);
});

function labelOf(element) {
  return element.dataset.keyLabel || element.getAttribute("aria-label") || element.textContent.trim().replace(/\s+/g, " ");
}

function addRow(list, keys, label) {
  const term = document.createElement("dt");
  for (const key of keys) {
    const cap = document.createElement("kbd");
    cap.textContent = NAMES[key] || (key.length === 1 ? key.toUpperCase() : key);
    term.append(cap, " ");
  }
  const meaning = document.createElement("dd");
  meaning.textContent = label;
  list.append(term, meaning);
}

function fillSheet() {
  const list = sheet.querySelector("[data-key-list]");
  const rows = new Map();
  const hasEnter = document.querySelector('[data-key~="Enter"]') !== null;
  for (const element of document.querySelectorAll("[data-key]")) {
    if (element.checkVisibility() && !rows.has(element.dataset.key)) rows.set(element.dataset.key, element);
  }
  list.replaceChildren();
  for (const [keys, element] of rows) addRow(list, keys.split(/\s+/), labelOf(element));
  if (hasEnter) {
    addRow(list, ["Control+Enter"], "Submit while typing");
    addRow(list, ["Escape"], "Exit the field, then close what was opened");
  }
  sheet.querySelector("[data-keys-enabled]").checked = enabled();
}

if (sheet) {
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help-open]")) {
      fillSheet();
      sheet.showModal();
    } else if (event.target === sheet) {
      sheet.close();
    }
  });
  sheet.querySelector("[data-keys-enabled]").addEventListener("change", (event) => {
    try {
      localStorage.setItem("keys", event.target.checked ? "on" : "off");
    } catch {
      event.target.checked = true; // storage is blocked: the choice cannot be kept
    }
  });
}
