// Sets the colours before anything is painted. Loaded without defer, so it stays tiny.
(() => {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return localStorage.getItem("theme") || "system";
    } catch {
      return "system"; // storage is blocked: follow the system
    }
  };

  const apply = (choice) => {
    root.dataset.bsTheme = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
    root.classList.toggle("dark-mode", root.dataset.bsTheme === "dark"); // what the API's page asks for
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    }
  };

  root.dataset.js = "";
  apply(stored());
  dark.addEventListener("change", () => apply(stored()));
  window.addEventListener("storage", (event) => event.key === "theme" && apply(stored()));
  document.addEventListener("DOMContentLoaded", () => apply(stored()));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choice]");
    if (!button) return;
    try {
      localStorage.setItem("theme", button.dataset.themeChoice);
    } catch {
      // storage is blocked: the choice lasts as long as the page
    }
    apply(button.dataset.themeChoice);
  });
})();
