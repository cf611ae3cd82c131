// The item page: the next item starts at its top with the focus on its place in the queue; a drawer that opens takes the
// focus.

function start(panel) {
  window.scrollTo({ top: 0 });
  panel.querySelector("[data-panel-focus]")?.focus({ preventScroll: true });
}

document.addEventListener("htmx:afterSettle", (event) => {
  const panel = document.getElementById("item-panel");
  if (panel && (event.detail.elt === panel || event.detail.target?.id === "item-panel")) start(panel);
});

// Time when nothing moves on the page, or the page is not seen, is not counted as work.
const GRACE_SECONDS = 30;
let movedAt = Date.now();
for (const sign of ["pointermove", "pointerdown", "keydown", "scroll", "input"]) {
  document.addEventListener(sign, () => { movedAt = Date.now(); }, { capture: true, passive: true });
}
document.addEventListener("htmx:configRequest", (event) => {
  if (!event.detail.elt.hasAttribute("data-heartbeat")) return;
  const still = (Date.now() - movedAt) / 1000;
  event.detail.parameters.idle = String(Math.round(still > GRACE_SECONDS ? still : 0));
});

document.addEventListener("toggle", (event) => {
  const opened = event.target;
  if (!opened.matches?.(".review-action") || !opened.open) return;
  for (const other of document.querySelectorAll(".review-action[open]")) if (other !== opened) other.open = false;
  opened.querySelector("button, input:not([type=hidden])")?.focus();
}, true);
