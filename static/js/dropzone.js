// A label [data-dropzone] around a file input takes dropped files. data-dropzone="page" takes them anywhere on the page;
// data-dropzone-submit sends the form at once. Without JavaScript the file input is used as it is.

const zoneFor = (target) => target.closest?.("[data-dropzone]") || document.querySelector('[data-dropzone="page"]');
const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");

function showNames(zone) {
  const input = zone.querySelector("input[type=file]");
  const out = zone.querySelector(".dropzone-names");
  if (out) out.textContent = [...input.files].map((file) => `${file.name} (${sizeOf(file.size)})`).join(", ");
}

function sizeOf(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

let depth = 0;
function leave() {
  depth = 0;
  document.querySelectorAll(".is-over").forEach((zone) => zone.classList.remove("is-over"));
}

document.addEventListener("dragenter", (event) => {
  const zone = carriesFiles(event) && zoneFor(event.target);
  if (!zone) return;
  depth += 1;
  zone.classList.add("is-over");
});
document.addEventListener("dragleave", (event) => {
  if (!carriesFiles(event)) return;
  depth -= 1;
  if (depth <= 0) leave();
});
document.addEventListener("dragover", (event) => {
  if (carriesFiles(event) && zoneFor(event.target)) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const zone = carriesFiles(event) && zoneFor(event.target);
  leave();
  if (!zone) return;
  event.preventDefault();
  const input = zone.querySelector("input[type=file]");
  const files = new DataTransfer();
  const wanted = input.multiple ? event.dataTransfer.files : [event.dataTransfer.files[0]];
  for (const file of wanted) if (file) files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});
document.addEventListener("change", (event) => {
  const zone = event.target.matches("input[type=file]") && event.target.closest("[data-dropzone]");
  if (!zone) return;
  showNames(zone);
  if (zone.hasAttribute("data-dropzone-submit") && event.target.files.length) event.target.form.requestSubmit();
});
