// The page of a prompt's way through a model.

import { make, say, short } from "./dom.js";
import { HeatMap, legend, thumbnail } from "./heat.js";
import { distribution } from "./sampling.js";
import { data, show } from "./shell.js";

/** @typedef {{shape: number[], dtype: string, data: string}} Packed */
/** @typedef {{id: number, text: string, piece: string, bytes: string}} Token */

/** Return the number of a float16's bits. @param {number} bits */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** Return the numbers of a packed array. @param {Packed} packed @returns {Float64Array} */
function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (packed.dtype === "float16") return Float64Array.from({ length: bytes.length / 2 }, (_, index) => half(view.getUint16(2 * index, true)));
  return Float64Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(4 * index, true));
}

/** Return a token as a person reads it, with spaces and line ends visible. @param {Token} token */
function label(token) {
  const text = token.text === "" || token.text.includes("\ufffd") ? token.piece : token.text;
  return text.replace(/ /g, "·").replace(/\n/g, "↵").replace(/\t/g, "⇥") || `#${token.id}`;
}

/** @param {string} title @param {string} note @param {(Node | null)[]} children */
function card(title, note, ...children) {
  const body = make("div", { class: "body" }, note ? make("p", { class: "note", text: note }) : null, ...children);
  return make("section", { class: "card" }, make("h2", { text: title }), body);
}

/** @param {string} title @param {Token[]} tokens */
function tokensCard(title, tokens) {
  const chips = tokens.map((token, position) =>
    make(
      "span",
      { class: "token", title: `${token.piece}${token.bytes ? `\n${token.bytes}` : ""}` },
      make("span", { class: "place", text: String(position) }),
      make("span", { class: "mono", text: label(token) }),
      make("span", { class: "id", text: String(token.id) }),
      make("span", { class: "bytes mono", text: token.bytes }),
    ),
  );
  return card(title, say("tokens_note"), make("div", { class: "tokens" }, ...chips));
}

/** @param {any} trace */
function attentionCards(trace) {
  const kinds = [...new Set(trace.attentions.map((/** @type {any} */ each) => each.kind))];
  return kinds.map((kind) => attentionCard(trace, kind, trace.attentions.filter((/** @type {any} */ each) => each.kind === kind)));
}

/** @param {any} trace @param {string} kind @param {any[]} layers */
function attentionCard(trace, kind, layers) {
  const keys = kind === "self" ? trace.tokens : trace.source;
  const queries = kind === "encoder" ? trace.source : trace.tokens;
  const numbers = layers.map((layer) => unpacked(layer.weights));
  const [, rows, columns] = layers[0].weights.shape;
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const place = make("div");
  const grid = make("div", { class: "heads" });
  const matrix = (/** @type {number} */ layer, /** @type {number} */ head) => ({
    rows,
    columns,
    low: 0,
    high: 1,
    at: (/** @type {number} */ row, /** @type {number} */ column) => numbers[layer][(head * rows + row) * columns + column],
    rowName: (/** @type {number} */ row) => label(queries[row]),
    columnName: (/** @type {number} */ column) => label(keys[column]),
    label: say("layer_head", { layer, head }),
  });
  const choose = (/** @type {number} */ layer, /** @type {number} */ head, /** @type {HTMLElement} */ button) => {
    for (const other of grid.querySelectorAll("[aria-pressed='true']")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
    const own = matrix(layer, head);
    const read = (/** @type {number} */ row, /** @type {number} */ column) =>
      readout.replaceChildren(
        document.createTextNode(`${own.label}: ${label(queries[row])} → ${label(keys[column])} = `),
        make("span", { class: "number", "data-number": own.at(row, column), "data-index": [layer, head, row, column].join(), text: String(Number(own.at(row, column).toPrecision(6))) }),
      );
    const width = Math.max(240, place.clientWidth || (grid.parentElement?.clientWidth ?? 600) - 30);
    place.replaceChildren(new HeatMap(own, { width, most: 46, onHover: read, onPick: read }).node);
    readout.replaceChildren(make("span", { class: "note", text: `${own.label}. ${say("attention_note")}` }));
  };
  /** @type {HTMLElement | null} */
  let first = null;
  layers.forEach((layer, index) => {
    const heads = layer.weights.shape[0];
    const group = heads / layer.num_kv_heads;
    const row = make("div", { class: "layer" }, make("span", { class: "layername", text: String(index) }));
    for (let kv = 0; kv < layer.num_kv_heads; kv++) {
      const box = make("span", { class: group > 1 ? "group" : "", title: group > 1 ? say("kv_head", { head: kv }) : "" });
      for (let head = kv * group; head < (kv + 1) * group; head++) {
        const button = make("button", { type: "button", class: "head", "aria-pressed": "false", "aria-label": say("layer_head", { layer: index, head }), onclick: () => choose(index, head, button) }, thumbnail(matrix(index, head), 48, 48));
        first ??= button;
        box.append(button);
      }
      row.append(box);
    }
    grid.append(row);
  });
  requestAnimationFrame(() => first?.click());
  return card(say(`attention_${kind}`), layers[0].num_kv_heads < layers[0].weights.shape[0] ? say("grouped") : "", make("div", { class: "split" }, grid, make("div", { class: "large" }, readout, place)));
}

/** @param {any} trace */
function lensCard(trace) {
  const rows = trace.residuals.map((/** @type {any} */ _, /** @type {number} */ index) => trace.residuals.length - 1 - index);
  const detail = make("p", { class: "readout", "aria-live": "polite" }, make("span", { class: "note", text: say("hover_lens") }));
  const name = (/** @type {number} */ row) => (row === 0 ? say("embedding") : say("after_layer", { layer: row - 1 }));
  const head = make("tr", {}, make("td"), ...trace.tokens.map((/** @type {Token} */ token) => make("th", { class: "mono", scope: "col", text: label(token) })));
  const body = rows.map((/** @type {number} */ row) => {
    const cells = trace.residuals[row].guesses.map((/** @type {any} */ guesses, /** @type {number} */ position) => {
      const best = guesses[0];
      const read = () => detail.replaceChildren(document.createTextNode(`${name(row)}, ${label(trace.tokens[position])} → `), ...guesses.map((/** @type {any} */ each) => make("span", { class: "guess mono", text: `${label(each.token)} ${(100 * each.probability).toFixed(1)} %` })));
      const cell = make("td", { class: "mono", tabindex: 0, onpointerenter: read, onfocus: read, text: label(best.token) });
      cell.style.setProperty("--share", `${Math.round(100 * Math.sqrt(best.probability))}%`);
      return cell;
    });
    return make("tr", {}, make("th", { scope: "row", text: name(row) }), ...cells);
  });
  return card(say("lens"), say("lens_note"), detail, make("div", { class: "wide" }, make("table", { class: "lens" }, head, ...body)));
}

/** @param {any} trace */
function residualCard(trace) {
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const norms = trace.residuals.map((/** @type {any} */ each) => each.norms);
  const all = norms.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const name = (/** @type {number} */ row) => (row === 0 ? say("embedding") : say("after_layer", { layer: row - 1 }));
  const read = (/** @type {number} */ row, /** @type {number} */ column) =>
    readout.replaceChildren(document.createTextNode(`${name(row)}, ${label(trace.tokens[column])} = `), make("span", { class: "number", "data-number": norms[row][column], text: short(norms[row][column]) }));
  const place = make("div");
  const matrix = { rows: norms.length, columns: trace.tokens.length, low, high, at: (/** @type {number} */ row, /** @type {number} */ column) => norms[row][column], rowName: name, columnName: (/** @type {number} */ column) => label(trace.tokens[column]), label: say("residual") };
  requestAnimationFrame(() => place.replaceChildren(new HeatMap(matrix, { width: Math.max(240, place.clientWidth), most: 56, onHover: read, onPick: read }).node));
  return card(say("residual"), say("residual_note"), readout, place, legend(low, high));
}

const SHOWN_TOKENS = 20;

/** @param {any} trace */
function nextCard(trace) {
  const logits = unpacked(trace.logits);
  /** @type {{temperature: number, topK: number | null, topP: number | null, minP: number | null}} */
  const options = { temperature: 1, topK: null, topP: null, minP: null };
  const bars = make("div", { class: "bars" });
  const kept = make("p", { class: "note" });
  const draw = () => {
    const probabilities = distribution(logits, options);
    const largest = probabilities.reduce((most, each) => Math.max(most, each), 0);
    kept.textContent = say("kept", { count: probabilities.reduce((count, each) => count + Number(each > 0), 0), all: logits.length });
    bars.replaceChildren(
      ...trace.named.slice(0, SHOWN_TOKENS).map((/** @type {Token} */ token) => {
        const share = probabilities[token.id];
        const bar = make("div", { class: "bar" });
        bar.style.width = `${(100 * share) / largest}%`;
        return make("div", { class: `option${share ? "" : " out"}`, "data-id": token.id, "data-probability": share }, make("span", { class: "mono", text: label(token) }), make("div", { class: "track" }, bar), make("span", { class: "mono", text: share ? `${(100 * share).toFixed(share < 0.001 ? 4 : 2)} %` : "0" }));
      }),
    );
  };
  const slider = (/** @type {string} */ name, /** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ step, /** @type {number} */ start, /** @type {(value: number) => string} */ set) => {
    const shown = make("output", { class: "mono" });
    const input = make("input", { type: "range", id: `option-${name}`, min: low, max: high, step, value: start, oninput: () => { shown.textContent = set(Number(input.value)); draw(); } });
    shown.textContent = set(start);
    return make("label", {}, make("span", { class: "mono", text: name }), input, shown);
  };
  const off = say("off");
  const controls = make(
    "div",
    { class: "controls" },
    slider("temperature", 0, 2, 0.05, 1, (value) => ((options.temperature = value), value.toFixed(2))),
    slider("top_k", 0, 100, 1, 0, (value) => ((options.topK = value || null), value ? String(value) : off)),
    slider("top_p", 0.05, 1, 0.01, 1, (value) => ((options.topP = value < 1 ? value : null), value < 1 ? value.toFixed(2) : off)),
    slider("min_p", 0, 0.5, 0.01, 0, (value) => ((options.minP = value || null), value ? value.toFixed(2) : off)),
  );
  draw();
  return card(say("next", { token: label(trace.tokens[trace.position]) }), say("next_note"), controls, kept, bars);
}

show((app) => {
  const trace = data.trace;
  const main = make("main", { class: "model" });
  app.append(main);
  if (trace.source.length) main.append(tokensCard(say("source"), trace.source));
  main.append(tokensCard(trace.source.length ? say("written") : say("tokens"), trace.tokens));
  if (trace.logits) main.append(nextCard(trace));
  for (const each of attentionCards(trace)) main.append(each);
  if (trace.residuals[0].guesses.length) main.append(lensCard(trace));
  main.append(residualCard(trace));
  app.append(make("footer", { text: `${data.note ? data.note[document.documentElement.lang === "zh" ? "zh" : "en"] + " " : ""}${say("footer")}` }));
});
