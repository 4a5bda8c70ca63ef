// Theme and language, shared by the pages: the header, and the data in the document.

import { make, say, words } from "./dom.js";

/** @type {any} */
export const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");

function preferred() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  return {
    theme: wanted.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
    language: wanted.get("lang") ?? data.language ?? "en",
  };
}

/**
 * Show a page, and again whenever the theme, the language or the width changes. Return the function that shows it again.
 * @param {(app: HTMLElement) => void} draw
 */
export function show(draw) {
  const state = preferred();
  words.texts = data.texts;
  const app = /** @type {HTMLElement} */ (document.getElementById("app"));
  const redraw = () => {
    document.documentElement.dataset.theme = state.theme;
    document.documentElement.lang = state.language;
    words.language = state.language;
    const [focused, top] = [document.activeElement?.id, window.scrollY];
    app.replaceChildren(header(state, redraw));
    draw(app);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    window.scrollTo(0, top);
  };
  redraw();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (Math.abs(window.innerWidth - width) < 40) return; // a scroll bar that appears must not reset the page
    redraw();
    width = window.innerWidth;
  });
  return redraw;
}

/** @param {{theme: string, language: string}} state @param {() => void} redraw */
function header(state, redraw) {
  const title = data.title[state.language === "zh" ? "zh" : "en"];
  const summary = data.summary ? data.summary[state.language === "zh" ? "zh" : "en"] : "";
  document.title = title;
  const theme = make("button", {
    type: "button",
    id: "theme",
    "aria-label": say("theme"),
    title: say("theme"),
    text: state.theme === "dark" ? "☀" : "☾",
    onclick: () => {
      state.theme = state.theme === "dark" ? "light" : "dark";
      redraw();
    },
  });
  const language = make("button", {
    type: "button",
    id: "language",
    text: state.language === "zh" ? "English" : "中文",
    onclick: () => {
      state.language = state.language === "zh" ? "en" : "zh";
      redraw();
    },
  });
  return make("header", {}, make("h1", { text: title }), make("p", { text: summary }), make("div", { class: "tools" }, theme, language));
}
