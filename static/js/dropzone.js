// A label [data-dropzone] around a file input takes dropped files. data-dropzone="page" takes them anywhere on the page;
// data-dropzone-submit sends the form at once. A folder is taken with all files in it, dropped or chosen with an input
// [data-folder-picker]; the paths go into a hidden field `paths`, since a form sends names only. Without JavaScript the
// file input is used as it is.

const zoneFor = (target) => target.closest?.("[data-dropzone]") || document.querySelector('[data-dropzone="page"]');
const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");

function showNames(zone) {
  const input = zone.querySelector("input[type=file]");
  const listed = [...input.files].slice(0, 20).map((file) => `${file.name} (${sizeOf(file.size)})`);
  const more = input.files.length - listed.length;
  say(zone, listed.join(", ") + (more > 0 ? ` and ${more} more` : ""));
}

function sizeOf(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1048576 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1048576).toFixed(1)} MB`;
}

const MOST_FILES = 5000;

// Put files into the zone's input; `paths` are theirs in a folder, in the same order, or nothing.
function setFiles(zone, files, paths) {
  const input = zone.querySelector("input[type=file]");
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  input.files = transfer.files;
  setPaths(input.form, paths);
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

function setPaths(form, paths) {
  let field = form.querySelector("input[name=paths]");
  if (!field) {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = "paths";
    form.append(field);
  }
  field.value = paths ? JSON.stringify(paths) : "";
}

const isHidden = (path) => path.split("/").some((part) => part.startsWith(".") || part === "__pycache__");

async function entriesOf(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...some);
  }
}

// Read every file below the dropped files and folders.
async function filesBelow(entries) {
  const found = [];
  const waiting = entries.map((entry) => [entry, entry.name]);
  while (waiting.length) {
    const [entry, path] = waiting.shift();
    if (isHidden(path)) continue;
    if (entry.isDirectory) {
      for (const child of await entriesOf(entry)) waiting.push([child, `${path}/${child.name}`]);
    } else {
      found.push([path, await new Promise((resolve, reject) => entry.file(resolve, reject))]);
    }
    if (found.length > MOST_FILES) throw new Error("too many files");
  }
  return found;
}

function setPathsAndFiles(zone, found) {
  if (found.length > MOST_FILES) return say(zone, `The folder has more than ${MOST_FILES} files. Pack it as a ZIP.`);
  if (!found.length) return say(zone, "The folder contains no files.");
  setFiles(zone, found.map(([, file]) => file), found.map(([path]) => path));
}

function say(zone, text) {
  const out = zone.querySelector(".dropzone-names");
  if (out) out.textContent = text;
}

async function takeEntries(zone, entries) {
  try {
    setPathsAndFiles(zone, await filesBelow(entries));
  } catch (failure) {
    say(zone, `The folder cannot be read (${failure.message}). Pack it as a ZIP.`);
  }
}

for (const picker of document.querySelectorAll("[data-folder-picker]")) picker.hidden = false;

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
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const takesMany = zone.querySelector("input[type=file]").multiple;
  if (entries.some((entry) => entry.isDirectory)) {
    if (takesMany) takeEntries(zone, entries);
    else say(zone, "Choose one file, not a folder.");
    return;
  }
  const files = [...event.dataTransfer.files];
  setFiles(zone, takesMany ? files : files.slice(0, 1));
});
document.addEventListener("change", (event) => {
  const picker = event.target.closest("[data-folder-picker]");
  if (picker) {
    const zone = picker.closest("form").querySelector("[data-dropzone]");
    const found = [...event.target.files].map((file) => [file.webkitRelativePath, file]);
    setPathsAndFiles(zone, found.filter(([path]) => !isHidden(path)));
    return;
  }
  const zone = event.target.matches("input[type=file]") && event.target.closest("[data-dropzone]");
  if (!zone) return;
  if (event.isTrusted) setPaths(event.target.form);
  showNames(zone);
  if (zone.hasAttribute("data-dropzone-submit") && event.target.files.length) event.target.form.requestSubmit();
});
