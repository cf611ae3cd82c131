// data-confirm="Cancel this run?" on a button, link or form asks first.
// data-confirm-text: what will happen; data-confirm-action and data-confirm-refusal: the words on the buttons.
// Works before htmx sees the event.
// Loaded without defer: on a slow line, nothing that asks first can be pressed before it listens.
(() => {
  "use strict";
  const dialog = document.createElement("dialog");
  dialog.className = "sheet";
  dialog.setAttribute("aria-labelledby", "confirm-title");
  const title = Object.assign(document.createElement("h2"), { id: "confirm-title" });
  const text = Object.assign(document.createElement("p"), { className: "muted mt-2 mb-0" });
  const actions = Object.assign(document.createElement("form"), { className: "sheet-actions", method: "dialog" });
  const refuse = Object.assign(document.createElement("button"), { className: "btn btn-secondary", value: "no" });
  const accept = Object.assign(document.createElement("button"), { className: "btn btn-primary", value: "yes" });
  actions.append(refuse, accept);
  dialog.append(title, text, actions);

  const confirmed = new WeakSet();

  function address(source) {
    return (source.form ?? source).getAttribute("action") ?? source.getAttribute("href");
  }

  // A fragment may have refreshed itself under the question: what stands in the same place now is meant.
  function standingIn(source) {
    if (source.isConnected) return source;
    const others = [...document.querySelectorAll("[data-confirm]")];
    return others.find((other) => other.dataset.confirm === source.dataset.confirm && address(other) === address(source));
  }

  function ask(source, proceed) {
    title.textContent = source.dataset.confirm;
    text.textContent = source.dataset.confirmText || "";
    refuse.textContent = source.dataset.confirmRefusal || "Cancel";
    accept.textContent = source.dataset.confirmAction || source.textContent.trim() || "Continue";
    dialog.returnValue = "no";
    dialog.addEventListener("close", () => {
      const current = standingIn(source);
      if (!current) return;
      if (dialog.returnValue !== "yes") {
        current.focus();
        return;
      }
      confirmed.add(current);
      proceed(current);
      confirmed.delete(current);
    }, { once: true });
    if (!dialog.isConnected) document.body.append(dialog);
    dialog.showModal();
    refuse.focus();
  }

  function hold(event, source, proceed) {
    if (!source || confirmed.has(source)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(source, proceed);
  }

  document.addEventListener("click", (event) => {
    const source = event.target.closest("[data-confirm]:not(form)");
    hold(event, source, (current) => current.click());
  }, true);

  document.addEventListener("submit", (event) => {
    const form = event.target;
    hold(event, form.matches("[data-confirm]") ? form : null, (current) => current.requestSubmit(current === form ? event.submitter : null));
  }, true);
})();
