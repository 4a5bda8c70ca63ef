// The attention of every layer and head, and the chosen head in large.

import { make, say } from "./dom.js";
import { HeatMap, thumbnail } from "./heat.js";
import { card, label, panes, unpacked } from "./tokens.js";

/** @typedef {import("./tokens.js").ModelTrace} ModelTrace */
/** @typedef {import("./tokens.js").Choices} Choices */
/** @typedef {import("./live.js").Live} Live */

/** Return a card for each kind of attention. @param {ModelTrace[]} traces @param {Choices} choices @param {Live | null} live */
export function attentionCards(traces, choices, live) {
  const kinds = [...new Set(traces[0].attentions.map((each) => each.kind))];
  return kinds.map((kind) => {
    const { weights, num_kv_heads } = traces[0].attentions.find((each) => each.kind === kind) ?? traces[0].attentions[0];
    const note = num_kv_heads < weights.shape[0] ? say("grouped") : "";
    return card(say(`attention_${kind}`), note, panes(traces, (trace, index) => new AttentionPane(trace, kind, choices, index, live).node));
  });
}

class AttentionPane {
  /** @param {ModelTrace} trace @param {string} kind @param {Choices} choices @param {number} index @param {Live | null} live */
  constructor(trace, kind, choices, index, live) {
    this.trace = trace;
    this.kind = kind;
    this.choices = choices;
    this.index = index;
    this.live = kind === "self" ? live : null; // only these heads can be switched off
    this.layers = trace.attentions.filter((each) => each.kind === kind);
    this.numbers = this.layers.map((layer) => unpacked(layer.weights));
    this.keys = kind === "self" ? trace.tokens : trace.source;
    this.queries = kind === "encoder" ? trace.source : trace.tokens;
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.place = make("div");
    this.parts = make("p", { class: "parts" });
    /** @type {Map<string, HTMLElement>} */
    this.buttons = new Map();
    const grid = make("div", { class: "heads" }, ...this.layers.map((_, place) => this.layerRow(place)));
    this.node = make("div", { class: "split" }, grid, make("div", { class: "large" }, this.readout, this.place, this.parts));
    choices.onChange(() => this.draw());
  }

  /** The chosen layer, as its place among the stored ones, and head. */
  get chosen() {
    const { layer, head } = this.choices.heads.get(this.kind) ?? { layer: this.layers[0].layer, head: 0 };
    const place = this.layers.findIndex((each) => each.layer === layer);
    return { place: Math.max(place, 0), head };
  }

  /** @param {number} place @param {number} head @returns {import("./heat.js").Matrix} */
  matrix(place, head) {
    const [, rows, columns] = this.layers[place].weights.shape;
    return {
      rows,
      columns,
      low: 0,
      high: 1,
      at: (row, column) => this.numbers[place][(head * rows + row) * columns + column],
      rowName: (row) => label(this.queries[row]),
      columnName: (column) => label(this.keys[column]),
      label: say("layer_head", { layer: this.layers[place].layer, head }),
    };
  }

  /** @param {number} place */
  layerRow(place) {
    const { layer, num_kv_heads, weights } = this.layers[place];
    const group = weights.shape[0] / num_kv_heads;
    const row = make("div", { class: "layer" }, make("span", { class: "layername", text: String(layer) }));
    for (let kv = 0; kv < num_kv_heads; kv++) {
      const heads = Array.from({ length: group }, (_, each) => this.headButton(place, kv * group + each));
      row.append(make("span", { class: group > 1 ? "group" : "", title: group > 1 ? say("kv_head", { head: kv }) : "" }, ...heads));
    }
    return row;
  }

  /** @param {number} place @param {number} head */
  headButton(place, head) {
    const matrix = this.matrix(place, head);
    const { layer } = this.layers[place];
    const isOff = this.isOff(layer, -1) || this.isOff(layer, head);
    const name = isOff ? `${matrix.label}, ${say("off")}` : matrix.label;
    const choose = () => {
      this.choices.heads.set(this.kind, { layer, head });
      this.choices.changed();
    };
    const button = make("button", { type: "button", class: isOff ? "head gone" : "head", "aria-label": name, onclick: choose }, thumbnail(matrix, 48, 48));
    this.buttons.set(`${place} ${head}`, button);
    return button;
  }

  /** @param {number} layer @param {number} head -1 for the whole layer */
  isOff(layer, head) {
    return this.kind === "self" && this.trace.ablated.some((part) => part[0] === layer && part[1] === head);
  }

  draw() {
    const { place, head } = this.chosen;
    const { layer } = this.layers[place];
    for (const [key, button] of this.buttons) button.setAttribute("aria-pressed", String(key === `${place} ${head}`));
    const own = this.matrix(place, head);
    const read = (/** @type {number} */ row, /** @type {number} */ column) => {
      const number = Number(own.at(row, column));
      this.readout.replaceChildren(
        document.createTextNode(`${own.label}: ${own.rowName(row)} → ${own.columnName(column)} = `),
        make("span", { class: "number", "data-number": number, "data-index": [layer, head, row, column].join(), text: String(Number(number.toPrecision(6))) }),
      );
    };
    const width = Math.max(240, this.place.clientWidth);
    this.place.replaceChildren(new HeatMap(own, { width, most: 46, onHover: read, onPick: read }).node);
    this.readout.replaceChildren(make("span", { class: "note", text: `${own.label}. ${say("attention_note")}` }));
    if (this.live) this.parts.replaceChildren(this.toggle(layer, head), this.toggle(layer, -1));
  }

  /** Return the button that switches a part on or off. @param {number} layer @param {number} head */
  toggle(layer, head) {
    const key = this.isOff(layer, head) ? "switch_on" : "switch_off";
    const text = say(key, { part: head < 0 ? say("layer", { layer }) : say("layer_head", { layer, head }) });
    const id = `${head < 0 ? "layer" : "head"}-${this.index}`;
    return make("button", { type: "button", class: "plain", id, text, onclick: () => this.live?.toggle(this.index, layer, head) });
  }
}
