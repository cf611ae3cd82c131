// Walking through a debate: buttons with data-walk go to the next or previous statement, or to the next change of mind.
// A statement that is reached unfolds. Links of the stance strip unfold what they point to.

const statements = () => [...document.querySelectorAll("[data-statement]")];

const handle = (statement) => statement.querySelector(":scope > summary");

function show(statement) {
  statement.open = true;
  statement.scrollIntoView({ block: "start", behavior: "instant" });
  handle(statement).focus({ preventScroll: true });
}

function current(all) {
  return all.findIndex((one) => one.contains(document.activeElement));
}

function walk(way) {
  const all = statements();
  const at = current(all);
  if (way === "change") {
    const changes = all.filter((one) => one.hasAttribute("data-change"));
    const next = changes.find((one) => all.indexOf(one) > at) || changes[0];
    if (next) show(next);
    return;
  }
  const next = all[way === "next" ? at + 1 : Math.max(0, at - 1)];
  if (next) show(next);
}

function unfoldAll() {
  const all = statements();
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
}

let last = null; // what had the focus before a button of the bar took it: the bar must not lose the reader's place
document.addEventListener("focusin", (event) => {
  const statement = event.target.closest("[data-statement]");
  if (statement) last = statement;
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-walk]");
  if (button) {
    const before = last?.isConnected ? last : last?.id && document.getElementById(last.id);
    if (before && !before.contains(document.activeElement)) handle(before).focus({ preventScroll: true });
    walk(button.dataset.walk);
  } else if (event.target.closest("[data-unfold]")) {
    unfoldAll();
  } else {
    const link = event.target.closest(".stance-link");
    const target = link && document.getElementById(link.hash.slice(1));
    if (!target) return;
    event.preventDefault();
    history.replaceState(null, "", link.hash);
    show(target);
  }
});

const linked = location.hash && document.getElementById(location.hash.slice(1));
if (linked && linked.matches("[data-statement]")) show(linked);
