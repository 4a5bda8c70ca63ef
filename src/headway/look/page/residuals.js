// The residual stream: what the model would predict after each layer, and the length of its vectors.

import { make, say, short } from "./dom.js";
import { HeatMap, legend } from "./heat.js";
import { card, label, panes } from "./tokens.js";

/** @typedef {import("./tokens.js").ModelTrace} ModelTrace */

/** @param {number} row */
function rowName(row) {
  return row === 0 ? say("embedding") : say("after_layer", { layer: row - 1 });
}

/** @param {ModelTrace[]} traces */
export function lensCard(traces) {
  return card(say("lens"), say("lens_note"), panes(traces, lens));
}

/** @param {ModelTrace} trace */
function lens(trace) {
  const detail = make("p", { class: "readout", "aria-live": "polite" }, make("span", { class: "note", text: say("hover_lens") }));
  const head = make("tr", {}, make("td"), ...trace.tokens.map((token) => make("th", { class: "mono", scope: "col", text: label(token) })));
  const body = trace.residuals.map((residual, row) => {
    const cells = residual.guesses.map((guesses, position) => {
      const chances = () => guesses.map((each) => make("span", { class: "guess mono", text: `${label(each.token)} ${(100 * each.probability).toFixed(1)} %` }));
      const read = () => detail.replaceChildren(document.createTextNode(`${rowName(row)}, ${label(trace.tokens[position])} → `), ...chances());
      const cell = make("td", { class: "mono", tabindex: 0, onpointerenter: read, onfocus: read, text: label(guesses[0].token) });
      cell.style.setProperty("--share", `${Math.round(100 * Math.sqrt(guesses[0].probability))}%`);
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row", text: rowName(row) }), ...cells);
  });
  return make("div", {}, detail, make("div", { class: "wide" }, make("table", { class: "lens" }, head, ...body.reverse())));
}

/** @param {ModelTrace[]} traces @param {import("./tokens.js").Choices} choices */
export function residualCard(traces, choices) {
  const all = traces.flatMap((trace) => trace.residuals.flatMap((each) => each.norms));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const pane = (/** @type {ModelTrace} */ trace) => norms(trace, low, high, choices);
  return card(say("residual"), say("residual_note"), panes(traces, pane), legend(low, high));
}

/** @param {ModelTrace} trace @param {number} low @param {number} high @param {import("./tokens.js").Choices} choices */
function norms(trace, low, high, choices) {
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const place = make("div");
  const at = (/** @type {number} */ row, /** @type {number} */ column) => trace.residuals[row].norms[column];
  const columnName = (/** @type {number} */ column) => label(trace.tokens[column]);
  const read = (/** @type {number} */ row, /** @type {number} */ column) =>
    readout.replaceChildren(document.createTextNode(`${rowName(row)}, ${columnName(column)} = `), make("span", { class: "number", "data-number": at(row, column), text: short(at(row, column)) }));
  const matrix = { rows: trace.residuals.length, columns: trace.tokens.length, low, high, at, rowName, columnName, label: say("residual") };
  const draw = () => {
    if (place.childNodes.length) return; // it does not depend on the choices, but on the width of the page
    place.replaceChildren(new HeatMap(matrix, { width: Math.max(240, place.clientWidth), most: 56, onHover: read, onPick: read }).node);
  };
  choices.onChange(draw);
  return make("div", {}, readout, place);
}
