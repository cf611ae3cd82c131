// The menu on a phone, and what keeps the reader's place while fragments refresh.

document.addEventListener("click", (event) => {
  const toggle = event.target.closest("[data-rail-toggle]");
  if (!toggle) return;
  const open = document.getElementById("rail").classList.toggle("is-open");
  toggle.setAttribute("aria-expanded", String(open));
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

// <select data-autosubmit> and the like: filters that act at once, with a button for readers without JavaScript.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-autosubmit]")) event.target.form?.requestSubmit();
});

// A table that is wider than the screen can be scrolled with the arrow keys.
function reachTables() {
  for (const wrap of document.querySelectorAll(".table-wrap")) {
    if (wrap.scrollWidth <= wrap.clientWidth || wrap.hasAttribute("tabindex")) continue;
    wrap.tabIndex = 0;
    wrap.setAttribute("role", "group");
    if (!wrap.hasAttribute("aria-label")) wrap.setAttribute("aria-label", "Table, scrolls sideways");
  }
}
document.addEventListener("htmx:afterSettle", reachTables);
window.addEventListener("resize", reachTables);
reachTables();
