// The page of a prompt's way through a model, or of two prompts next to each other.

import { attentionCards } from "./attention.js";
import { inLanguage, make, say } from "./dom.js";
import { Live, ablatedParts } from "./live.js";
import { nextCards } from "./next.js";
import { lensCard, residualCard } from "./residuals.js";
import { data, show } from "./shell.js";
import { Choices, card, panes, tokenChips } from "./tokens.js";

/** @type {import("./tokens.js").ModelTrace[]} */
const traces = data.traces;
const choices = new Choices();
/** @type {Live | null} */
const live = data.live ? new Live(data.live, traces, () => redraw()) : null;

function tokensCards() {
  const [{ source }] = traces;
  const pane = (/** @type {import("./tokens.js").ModelTrace} */ trace, /** @type {number} */ index) =>
    make("div", {}, live?.field(index), tokenChips(source.length ? trace.source : trace.tokens), ablatedParts(trace, index, live));
  const first = card(say(source.length ? "source" : "tokens"), say("tokens_note"), panes(traces, pane), live?.status, live?.error);
  return source.length ? [first, card(say("written"), "", panes(traces, (trace) => tokenChips(trace.tokens)))] : [first];
}

const redraw = show((app) => {
  choices.listeners = [];
  const main = make("main", { class: "model" });
  app.append(main);
  if (!traces.length && live) {
    main.append(card(say("first"), "", live.field(0), live.status, live.error));
    return;
  }
  main.append(...tokensCards());
  if (traces[0].logits) main.append(...nextCards(traces, choices, live));
  main.append(...attentionCards(traces, choices, live));
  if (traces[0].residuals[0].guesses.length) main.append(lensCard(traces));
  main.append(residualCard(traces, choices));
  const note = data.note ? inLanguage(data.note) : (live?.note ?? "");
  app.append(make("footer", { text: `${note} ${say("footer")}`.trim() }));
  choices.changed(); // maps are drawn once the page has its width
});

if (live?.drafts[0]) live.edit(0);
