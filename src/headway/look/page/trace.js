// The page of a trace: one listing, or the learner's and the definition's next to each other.

import { inLanguage, make, say } from "./dom.js";
import { Inspector } from "./inspector.js";
import { Listing } from "./listing.js";
import { data, show } from "./shell.js";

show((app) => {
  const inspector = new Inspector();
  const choose = (/** @type {any} */ value, /** @type {any} */ sources, /** @type {HTMLElement} */ button) => {
    for (const other of app.querySelectorAll(".chip[aria-pressed='true']")) other.setAttribute("aria-pressed", "false");
    for (const other of app.querySelectorAll(".row.chosen")) other.classList.remove("chosen");
    button.setAttribute("aria-pressed", "true");
    button.closest(".row")?.classList.add("chosen");
    inspector.show(value, sources);
  };
  const listings = data.panels.map((/** @type {any} */ panel) => new Listing(panel, choose));
  const isAlone = listings.length === 1;
  if (data.verdict) app.append(make("pre", { class: `verdict mono${data.verdict.is_correct ? " good" : ""}`, text: inLanguage(data.verdict.text) }));
  if (data.equation) app.append(make("div", { class: "equation mono", text: data.equation }));
  const cards = listings.map((/** @type {any} */ listing, /** @type {number} */ place) =>
    make("section", { class: "card" }, make("h2", { text: inLanguage(data.panels[place].title) }), listing.node),
  );
  app.append(make("main", { class: isAlone ? "one" : "two" }, ...cards, inspector.node));
  if (data.note) app.append(make("footer", { text: inLanguage(data.note) }));
  else app.append(make("footer", { text: say("footer") }));
  listings[0].openBest?.();
});
