// Traces of prompts: their types, tokens as a person reads them, packed numbers, and cards.

import { make, say } from "./dom.js";

/** @typedef {{shape: number[], dtype: string, data: string}} Packed */
/** @typedef {{id: number, text: string, piece: string, bytes: string}} Token */
/** @typedef {{kind: string, layer: number, num_kv_heads: number, weights: Packed}} Attention */
/** @typedef {{norms: number[], guesses: {token: Token, probability: number}[][]}} Residual */
/**
 * @typedef {{model: string, kind: string, prompt: string, tokens: Token[], source: Token[], attentions: Attention[], residuals: Residual[],
 *   position: number, logits: Packed | null, named: Token[], ablated: [number, number][]}} ModelTrace
 */

/** Return the number of a float16's bits. @param {number} bits */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** Return the numbers of a packed array. @param {Packed} packed @returns {Float64Array<ArrayBuffer>} */
export function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (packed.dtype === "float16") return Float64Array.from({ length: bytes.length / 2 }, (_, index) => half(view.getUint16(2 * index, true)));
  return Float64Array.from({ length: bytes.length / 4 }, (_, index) => view.getFloat32(4 * index, true));
}

/** Return a token as a person reads it, with spaces and line ends visible. @param {Token} token */
export function label(token) {
  const text = token.text === "" || token.text.includes("\ufffd") ? token.piece : token.text;
  return text.replace(/ /g, "·").replace(/\n/g, "↵").replace(/\t/g, "⇥") || `#${token.id}`;
}

/** @param {string} title @param {string} note @param {(Node | null)[]} children */
export function card(title, note, ...children) {
  const body = make("div", { class: "body" }, note ? make("p", { class: "note", text: note }) : null, ...children);
  return make("section", { class: "card" }, make("h2", { text: title }), body);
}

/** Return one pane for each trace, next to each other. @param {ModelTrace[]} traces @param {(trace: ModelTrace, index: number) => Node} pane */
export function panes(traces, pane) {
  if (traces.length === 1) return pane(traces[0], 0);
  const named = traces.map((trace, index) =>
    make("div", { class: "pane" }, make("h3", { text: say(index ? "second" : "first") }), pane(trace, index)),
  );
  return make("div", { class: "pair" }, ...named);
}

/** @param {Token[]} tokens */
export function tokenChips(tokens) {
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
  return make("div", { class: "tokens" }, ...chips);
}

/** Return the name of a part that is switched off. @param {[number, number]} part layer and head; head -1 is the whole layer */
export function partName([layer, head]) {
  return head < 0 ? say("layer", { layer }) : say("layer_head", { layer, head });
}

/** What the panes have in common: the chosen head of each kind of attention, and the options of sampling. */
export class Choices {
  constructor() {
    /** @type {Map<string, {layer: number, head: number}>} */
    this.heads = new Map();
    /** @type {import("./sampling.js").SamplingOptions} */
    this.options = { temperature: 1, topK: null, topP: null, minP: null };
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** Call a function after every change. @param {() => void} listener */
  onChange(listener) {
    this.listeners.push(listener);
  }

  changed() {
    for (const each of this.listeners) each();
  }
}
