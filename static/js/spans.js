// Marking parts of a text: <div data-spans data-seal="14#1a2b3c4d"> holds the text, a button for each label, and the field with
// the marks as the server reads them: "14#1a2b3c4d,3-7:minor". Offsets are code points. The text can be selected with the keyboard
// since it is editable, but nothing changes it; keys are those of the page, and press the buttons.

const selected = new WeakMap(); // of each text, the part that was selected last: buttons take the selection away on phones
const tapped = new WeakMap(); // of each text, from the first tap on
const textOf = (box) => box.querySelector("[data-spans-text]");
const fieldOf = (box) => box.querySelector("input");
const lengthOf = (text) => [...text].length;

function marksIn(box) {
  return fieldOf(box).value.split(",").map((word) => /^(\d+)-(\d+):(.+)$/.exec(word.trim())).filter(Boolean)
    .map(([, start, end, label]) => ({ start: Number(start), end: Number(end), label }));
}

function offsetOf(text, node, offset) {
  const range = document.createRange();
  range.setStart(text, 0);
  range.setEnd(node, offset);
  return lengthOf(range.toString());
}

function selectionIn(text) {
  const selection = getSelection();
  if (!selection.rangeCount || !text.contains(selection.anchorNode) || !text.contains(selection.focusNode)) return null;
  const range = selection.getRangeAt(0);
  return { start: offsetOf(text, range.startContainer, range.startOffset), end: offsetOf(text, range.endContainer, range.endOffset) };
}

function select(text, { start, end }) {
  const range = document.createRange();
  range.selectNodeContents(text);
  let before = 0;
  for (const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT); walker.nextNode();) {
    const characters = [...walker.currentNode.data];
    for (const [set, place] of [["setStart", start], ["setEnd", end]]) {
      if (place >= before && place <= before + characters.length) range[set](walker.currentNode, characters.slice(0, place - before).join("").length);
    }
    before += characters.length;
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

function show(box) {
  const text = textOf(box);
  const characters = [...text.textContent];
  const slice = (start, end) => characters.slice(start, end).join("");
  const numbers = Object.fromEntries([...box.querySelectorAll("[data-mark-label]")].map((button) => [button.dataset.markLabel, button.dataset.number]));
  const parts = [];
  const marks = marksIn(box);
  let done = 0;
  for (const { start, end, label } of marks) {
    const mark = document.createElement("mark");
    Object.assign(mark.dataset, { number: numbers[label], label });
    mark.textContent = slice(start, end);
    parts.push(slice(done, start), mark);
    done = end;
  }
  text.replaceChildren(...[...parts, slice(done)].filter((part) => part !== ""));
  const said = marks.map(({ start, end, label }) => `${label}: “${slice(start, end)}”`).join(", ");
  const none = fieldOf(box).value ? "Nothing is marked." : "";
  box.querySelector("[data-spans-said]").textContent = said ? `Marked: ${said}` : none;
}

function store(box, marks) {
  const field = fieldOf(box);
  const words = marks.sort((a, b) => a.start - b.start).map(({ start, end, label }) => `${start}-${end}:${label}`);
  field.value = [box.dataset.seal, ...words].join(",");
  show(box);
  for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
}

// What a new mark covers of others is taken from them.
function without(marks, { start, end }) {
  return marks.flatMap((mark) => {
    if (mark.end <= start || mark.start >= end) return [mark];
    return [{ ...mark, end: start }, { ...mark, start: end }].filter((rest) => rest.start < rest.end);
  });
}

const touching = (marks, { start, end }) => marks.filter((mark) => mark.start <= end && mark.end >= start && (start < end ? mark.start < end && mark.end > start : true));

function press(button) {
  const box = button.closest("[data-spans]");
  const text = textOf(box);
  const part = selectionIn(text) || selected.get(text);
  const marks = marksIn(box);
  if (button.matches("[data-mark-nothing]")) {
    store(box, []);
  } else if (part && button.matches("[data-mark-remove]")) {
    const gone = touching(marks, part);
    if (gone.length) store(box, marks.filter((mark) => !gone.includes(mark)));
  } else if (part && button.matches("[data-mark-label]")) {
    const [at] = part.start < part.end ? [part] : touching(marks, part); // the mark at the cursor gets another label
    if (at) store(box, [...without(marks, at), { start: at.start, end: at.end, label: button.dataset.markLabel }]);
  }
  const place = { start: part ? part.end : 0, end: part ? part.end : 0 };
  selected.set(text, place);
  tapped.delete(text);
  text.focus({ preventScroll: true });
  select(text, place);
}

// A tap selects a word, a second one all from there on.
function tap(text, event) {
  const place = document.caretPositionFromPoint?.(event.clientX, event.clientY);
  const caret = place ? [place.offsetNode, place.offset] : (({ startContainer, startOffset }) => [startContainer, startOffset])(document.caretRangeFromPoint(event.clientX, event.clientY));
  if (!text.contains(caret[0])) return;
  const at = offsetOf(text, ...caret);
  const characters = [...text.textContent];
  let [start, end] = [at, at];
  while (start > 0 && /\S/.test(characters[start - 1])) start -= 1;
  while (end < characters.length && /\S/.test(characters[end])) end += 1;
  const before = tapped.get(text) || { start, end };
  [start, end] = [Math.min(start, before.start), Math.max(end, before.end)];
  tapped.set(text, { start, end });
  select(text, { start, end });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-mark-label], [data-mark-remove], [data-mark-nothing]");
  if (button) press(button);
  const text = event.target.closest("[data-spans-text]");
  if (text && event.pointerType === "touch") tap(text, event);
});
document.addEventListener("selectionchange", () => {
  for (const text of document.querySelectorAll("[data-spans-text]")) {
    const part = selectionIn(text);
    if (part) selected.set(text, part);
  }
});
document.addEventListener("beforeinput", (event) => { if (event.target.closest?.("[data-spans-text]")) event.preventDefault(); });
document.addEventListener("focusin", (event) => { if (event.target.matches(".spans-value")) textOf(event.target.closest("[data-spans]")).focus(); });
document.addEventListener("change", (event) => {
  for (const box of event.target.matches?.("form") ? event.target.querySelectorAll("[data-spans]") : []) show(box); // a draft was put back
});

function start() {
  for (const box of document.querySelectorAll("[data-spans]")) {
    fieldOf(box).setAttribute("aria-hidden", "true"); // what it holds is said in words
    show(box);
  }
}

start();
document.addEventListener("htmx:afterSettle", start);
