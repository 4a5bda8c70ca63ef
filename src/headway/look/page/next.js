// The distribution of the next token, with the options of sampling; of two prompts, the tokens that changed most.

import { make, say } from "./dom.js";
import { distribution, sampled } from "./sampling.js";
import { card, label, panes, unpacked } from "./tokens.js";

/** @typedef {import("./tokens.js").ModelTrace} ModelTrace */
/** @typedef {import("./tokens.js").Token} Token */
/** @typedef {import("./tokens.js").Choices} Choices */

const SHOWN_TOKENS = 20;
const SHOWN_CHANGES = 10;

/** @param {number} share */
function percent(share) {
  return share ? `${(100 * share).toFixed(share < 0.001 ? 4 : 2)} %` : "0";
}

/** Return the cards of the next token. @param {ModelTrace[]} traces @param {Choices} choices @param {import("./live.js").Live | null} live */
export function nextCards(traces, choices, live) {
  const logits = traces.map((trace) => unpacked(/** @type {import("./tokens.js").Packed} */ (trace.logits)));
  const pane = (/** @type {ModelTrace} */ trace, /** @type {number} */ index) => nextPane(trace, logits[index], choices, index, live);
  const title = traces.map((trace) => say("next", { token: label(trace.tokens[trace.position]) }));
  const first = card([...new Set(title)].join(" · "), say("next_note"), controls(choices), panes(traces, pane));
  return traces.length > 1 ? [first, changesCard(traces, logits, choices)] : [first];
}

/** @param {ModelTrace} trace @param {Float64Array<ArrayBuffer>} logits @param {Choices} choices @param {number} index @param {import("./live.js").Live | null} live */
function nextPane(trace, logits, choices, index, live) {
  const bars = make("div", { class: "bars" });
  const kept = make("p", { class: "note" });
  const isContinued = live !== null && trace.kind !== "encoder";
  const append = (/** @type {Token} */ token) => {
    const onclick = () => live?.append(index, token.id);
    return make("button", { type: "button", class: "plain", id: `append-${index}-${token.id}`, text: "+", "aria-label": say("append", { token: label(token) }), onclick });
  };
  choices.onChange(() => {
    const probabilities = distribution(logits, choices.options);
    const largest = probabilities.reduce((most, each) => Math.max(most, each), 0);
    kept.textContent = say("kept", { count: probabilities.reduce((count, each) => count + Number(each > 0), 0), all: logits.length });
    const rows = trace.named.slice(0, SHOWN_TOKENS).map((token) => {
      const share = probabilities[token.id];
      const bar = make("div", { class: "bar" });
      bar.style.width = `${(100 * share) / largest}%`;
      return make(
        "div",
        { class: `option${share ? "" : " out"}`, "data-id": token.id, "data-probability": share },
        make("span", { class: "mono", text: label(token) }),
        make("div", { class: "track" }, bar),
        make("span", { class: "mono", text: percent(share) }),
        isContinued ? append(token) : null,
      );
    });
    bars.replaceChildren(...rows);
  });
  const sample = () => live?.append(index, sampled(distribution(logits, choices.options), Math.random()));
  const button = isContinued ? make("button", { type: "button", class: "plain", id: `sample-${index}`, text: say("sample"), onclick: sample }) : null;
  return make("div", {}, button, kept, bars);
}

/** @param {Choices} choices */
function controls(choices) {
  const { options } = choices;
  const off = say("off");
  const slider = (/** @type {string} */ name, /** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ step, /** @type {number} */ start, /** @type {(value: number) => string} */ set) => {
    const shown = make("output", { class: "mono", text: set(start) });
    const change = () => {
      shown.textContent = set(Number(input.value));
      choices.changed();
    };
    const input = make("input", { type: "range", id: `option-${name}`, min: low, max: high, step, value: start, oninput: change });
    return make("label", {}, make("span", { class: "mono", text: name }), input, shown);
  };
  return make(
    "div",
    { class: "controls" },
    slider("temperature", 0, 2, 0.05, options.temperature, (value) => ((options.temperature = value), value.toFixed(2))),
    slider("top_k", 0, 100, 1, options.topK ?? 0, (value) => ((options.topK = value || null), value ? String(value) : off)),
    slider("top_p", 0.05, 1, 0.01, options.topP ?? 1, (value) => ((options.topP = value < 1 ? value : null), value < 1 ? value.toFixed(2) : off)),
    slider("min_p", 0, 0.5, 0.01, options.minP ?? 0, (value) => ((options.minP = value || null), value ? value.toFixed(2) : off)),
  );
}

/** @param {ModelTrace[]} traces @param {Float64Array<ArrayBuffer>[]} logits @param {Choices} choices */
function changesCard(traces, logits, choices) {
  const named = new Map(traces.flatMap((trace) => trace.named.map((token) => [token.id, token])));
  const body = make("tbody");
  choices.onChange(() => {
    const [first, second] = logits.map((each) => distribution(each, choices.options));
    const ids = [...named.keys()].sort((one, two) => Math.abs(second[two] - first[two]) - Math.abs(second[one] - first[one]) || one - two);
    const rows = ids.slice(0, SHOWN_CHANGES).map((id) => {
      const difference = second[id] - first[id];
      const texts = [percent(first[id]), percent(second[id]), `${difference > 0 ? "+" : ""}${(100 * difference).toFixed(2)}`];
      const cells = texts.map((text) => make("td", { class: "mono", text }));
      return make("tr", { "data-id": id, "data-difference": difference }, make("th", { scope: "row", class: "mono", text: label(/** @type {Token} */ (named.get(id))) }), ...cells);
    });
    body.replaceChildren(...rows);
  });
  const names = ["", say("first"), say("second"), say("difference")].map((text) => (text ? make("th", { scope: "col", text }) : make("td")));
  return card(say("changes"), "", make("div", { class: "wide" }, make("table", { class: "changes" }, make("thead", {}, make("tr", {}, ...names)), body)));
}
