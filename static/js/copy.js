// data-copy="id" on a button copies the text of the field with that id. The button is hidden until this runs.
// data-copy-from on a link copies the text that its address answers with.
// Browsers that keep the clipboard from pages (plain HTTP, refused) get the text selected instead.

function say(text) {
  document.dispatchEvent(new CustomEvent("toast", { detail: { text, level: "success" } }));
}

async function copy(field) {
  field.focus();
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    say("Copied");
  } catch {
    say("Selected: press Ctrl+C to copy");
  }
}

async function copyFrom(link) {
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(answer.statusText);
    await navigator.clipboard.writeText(await answer.text());
    say("Copied");
  } catch {
    window.location.assign(link.href);
  }
}

function show(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  const field = button && document.getElementById(button.dataset.copy);
  if (field) copy(field);
  const link = event.target.closest?.("a[data-copy-from]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    copyFrom(link);
  }
});
document.addEventListener("htmx:load", (event) => show(event.detail.elt));
show(document);
