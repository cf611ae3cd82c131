// The menu on a phone, and what keeps the reader's place while fragments refresh.

document.addEventListener("click", (event) => {
  const toggle = event.target.closest("[data-rail-toggle]");
  if (!toggle) return;
  const open = document.getElementById("rail").classList.toggle("is-open");
  toggle.setAttribute("aria-expanded", String(open));
});
document.addEventListener("keydown", (event) => {
  const toggle = event.target.closest("#rail.is-open")?.querySelector("[data-rail-toggle]");
  if (event.key !== "Escape" || !toggle) return;
  toggle.click();
  toggle.focus();
});

// A refreshed fragment keeps its scroll offsets and unfolded details, found again by id.
let kept = null;

document.addEventListener("htmx:beforeSwap", (event) => {
  const target = event.detail.target;
  if (!(target instanceof Element)) return;
  const all = [target, ...target.querySelectorAll("[id]")].filter((one) => one.id);
  kept = {
    scrolled: all.filter((one) => one.scrollTop || one.scrollLeft).map((one) => [one.id, one.scrollTop, one.scrollLeft]),
    details: all.filter((one) => one.matches("details[data-keep-open]")).map((one) => [one.id, one.open]),
  };
});

document.addEventListener("htmx:afterSwap", () => { // before the next paint, so nothing is seen to jump
  if (!kept) return;
  for (const [id, open] of kept.details) {
    const element = document.getElementById(id);
    if (element) element.open = open;
  }
  for (const [id, top, left] of kept.scrolled) {
    const element = document.getElementById(id);
    if (element && !element.hasAttribute("data-scroll-reset")) element.scrollTo({ top, left, behavior: "instant" });
  }
  kept = null;
});

// <button data-copy="#id"> copies the text of an element.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  if (!source) return;
  let detail = { text: "Copied", level: "success" };
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
  } catch {
    detail = { text: "The browser did not allow copying; select the text and press Ctrl+C.", level: "warning" };
  }
  document.dispatchEvent(new CustomEvent("toast", { detail }));
});

// Back and Forward: the browser fills filters in as they were left, not as the page was made.
addEventListener("pageshow", (event) => {
  if (!event.persisted && performance.getEntriesByType("navigation")[0]?.type !== "back_forward") return;
  for (const form of document.querySelectorAll("form[method=get]")) form.reset();
});

// Filters act at once: every choice in a <form data-autosubmit>, or one <select data-autosubmit>. The form's button is for
// readers without JavaScript and for words that are being typed.
document.addEventListener("change", (event) => {
  const control = event.target;
  const chosen = control.matches("select, [type=checkbox], [type=radio], [type=date]") && control.closest("form[data-autosubmit]");
  if (chosen || control.matches("[data-autosubmit]")) control.form?.requestSubmit();
});

// What is sent acts once, however often its button is clicked before the answer comes. A file that comes leaves the page
// as it is, so after a while it can be sent again. On the window, since others hold a form back before it is sent.
const WAIT = 5000; // ms
let sent = new WeakMap();
addEventListener("submit", (event) => {
  const by = event.submitter ?? event.target;
  if (event.defaultPrevented || !event.target.matches("form[method=post]")) return;
  if (event.timeStamp - (sent.get(by) ?? -WAIT) < WAIT) event.preventDefault();
  else sent.set(by, event.timeStamp);
});
addEventListener("pageshow", () => { sent = new WeakMap(); });

// On a phone a table.cards shows each row as a card; its cells are named by their columns' headers. A header's own name
// for it stands in data-label; cells that need none, such as a status, have data-label="" in the page.
function nameOf(head) {
  const ends = [...head.querySelectorAll(".axis-ends > *")].map((end) => end.textContent); // of an axis
  return head.dataset.label ?? (ends.length ? `${ends[0]} to ${ends.at(-1)}` : head.textContent.trim());
}

function nameCells() {
  for (const table of document.querySelectorAll("table.cards")) {
    const names = [...table.tHead.rows[0].cells].map(nameOf);
    for (const row of [...table.tBodies].flatMap((body) => [...body.rows])) {
      for (const [place, cell] of [...row.cells].entries()) {
        if (cell.colSpan === 1) cell.dataset.label ??= names[place] ?? "";
      }
    }
  }
}
document.addEventListener("htmx:afterSettle", nameCells);
nameCells();

// What is wider than its place can be scrolled with the arrow keys.
const WIDE = { ".table-wrap": "Table", ".prose pre": "Code", ".math-block": "Formula" };
function reachWideParts() {
  for (const [selector, name] of Object.entries(WIDE)) {
    for (const part of document.querySelectorAll(selector)) {
      part.toggleAttribute("data-scrolls", part.scrollWidth > part.clientWidth);
      if (!part.hasAttribute("data-scrolls") || part.hasAttribute("tabindex")) continue;
      part.tabIndex = 0;
      part.setAttribute("role", "group");
      if (!part.hasAttribute("aria-label")) part.setAttribute("aria-label", `${name}, scrolls sideways`);
    }
  }
}
document.addEventListener("htmx:afterSettle", reachWideParts);
document.addEventListener("toggle", reachWideParts, true); // what unfolds is measured only now
window.addEventListener("resize", reachWideParts);
reachWideParts();
