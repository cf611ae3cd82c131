// Row selection. A form [data-select] holds checkboxes [data-select-row], perhaps one [data-select-all], and a bar
// [data-select-bar] with a [data-select-count]. data-select-max="2" allows two rows, buttons [data-select-needs="2"] want as many.
// Shift-click takes a range. Without JavaScript the boxes and the bar's buttons work as plain form controls.

const rowsOf = (form) => [...form.querySelectorAll("[data-select-row]")];
const lastBox = new WeakMap();

function update(form) {
  const boxes = rowsOf(form);
  const ticked = boxes.filter((box) => box.checked);
  const most = Number(form.dataset.selectMax) || Infinity;
  for (const box of boxes) {
    box.closest("tr")?.classList.toggle("is-selected", box.checked);
    box.disabled = !box.checked && ticked.length >= most;
  }
  const all = form.querySelector("[data-select-all]");
  if (all) {
    all.checked = boxes.length > 0 && ticked.length === boxes.length;
    all.indeterminate = ticked.length > 0 && ticked.length < boxes.length;
  }
  for (const bar of form.querySelectorAll("[data-select-bar]")) bar.hidden = ticked.length === 0;
  for (const count of form.querySelectorAll("[data-select-count]")) count.textContent = ticked.length;
  for (const button of form.querySelectorAll("[data-select-needs]")) button.disabled = ticked.length !== Number(button.dataset.selectNeeds);
}

document.addEventListener("click", (event) => {
  const form = event.target.closest("[data-select]");
  if (!form || !event.target.matches("[data-select-row]")) return;
  const boxes = rowsOf(form);
  const last = lastBox.get(form);
  if (event.shiftKey && last && boxes.includes(last) && !form.dataset.selectMax) {
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(event.target)].sort((a, b) => a - b);
    for (const box of boxes.slice(from, to + 1)) box.checked = event.target.checked;
  }
  lastBox.set(form, event.target);
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-select]");
  if (!form) return;
  if (event.target.matches("[data-select-all]")) {
    for (const box of rowsOf(form)) box.checked = event.target.checked;
  }
  update(form);
});

// A refreshed table keeps its ticks, found again by value.
let ticked = new Map();
document.addEventListener("htmx:beforeSwap", () => {
  ticked = new Map([...document.querySelectorAll("[data-select]")].map((form) => [form.id, rowsOf(form).filter((box) => box.checked).map((box) => box.value)]));
});
document.addEventListener("htmx:afterSettle", () => {
  for (const form of document.querySelectorAll("[data-select]")) {
    const values = ticked.get(form.id) || [];
    for (const box of rowsOf(form)) if (values.includes(box.value)) box.checked = true;
    update(form);
  }
});
document.querySelectorAll("[data-select]").forEach(update);
