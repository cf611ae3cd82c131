// The search of the whole site: Ctrl+K or the button opens the dialog, arrows choose an option, Enter opens it. The
// focus stays in the field, which names the chosen option; a dialog gives it back when it closes.

const dialog = document.getElementById("search-dialog");
const field = dialog?.querySelector("[role=combobox]");
const options = () => [...dialog.querySelectorAll("a[role=option]")];

function choose(option) {
  for (const other of options()) other.setAttribute("aria-selected", String(other === option));
  if (option) {
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else {
    field.removeAttribute("aria-activedescendant");
  }
}

function open() {
  if (!dialog.open) dialog.showModal();
  field.focus();
  field.select();
}

if (dialog) {
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
    if (!dialog.open && document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-search-open]");
    if (button && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      open();
    } else if (event.target === dialog) {
      dialog.close();
    }
  });
  field.addEventListener("keydown", (event) => {
    const all = options();
    const place = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (all.length) choose(all[place < 0 && step < 0 ? all.length - 1 : (place + step + all.length) % all.length]);
    } else if (event.key === "Escape") {
      event.preventDefault(); // a search field would only be emptied
      dialog.close();
    } else if (event.key === "Enter" && place >= 0) {
      event.preventDefault();
      all[place].click();
    }
  });
  field.addEventListener("input", () => choose(null));
  dialog.addEventListener("htmx:afterSwap", () => {
    const count = options().length;
    field.setAttribute("aria-expanded", String(count > 0));
    dialog.querySelector("[data-search-count]").textContent = count ? `${count} results` : "Nothing was found";
    choose(null);
  });
}
