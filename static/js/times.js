// Keeps <time data-relative> fresh in the words the server uses.

const UNITS = [["minute", 60, 3600], ["hour", 3600, 86400], ["day", 86400, 30 * 86400]];

function inWords(moment) {
  const seconds = (Date.now() - moment) / 1000;
  const size = Math.abs(seconds);
  if (size < 45) return seconds > -10 ? "just now" : "in a moment";
  for (const [unit, length, limit] of UNITS) {
    if (size >= limit - length / 2) continue;
    const count = Math.max(1, Math.round(size / length));
    const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
    return seconds > 0 ? `${words} ago` : `in ${words}`;
  }
  return null; // older: the server wrote the date
}

function refresh() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const words = inWords(Date.parse(time.dateTime));
    if (words && time.textContent !== words) time.textContent = words;
  }
}

window.setInterval(refresh, 30000);
document.addEventListener("htmx:afterSettle", refresh);
document.addEventListener("visibilitychange", () => document.hidden || refresh());
