// The chosen array in large: slices, numbers under the pointer, and the operands' elements that made a clicked element.

import { make, say, short } from "./dom.js";
import { HeatMap, legend } from "./heat.js";
import { indexOf, lengths, matrixOf, numberAt, range, shapeText } from "./values.js";

/**
 * @typedef {import("./values.js").Value} Value
 * @typedef {{name: string, of: string, fixed: [number, number, number][]}} Operand
 * @typedef {{value: Value, operand: Operand}} Source
 */

export class Inspector {
  constructor() {
    this.body = make("div", { class: "body" });
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.place = make("div");
    this.from = make("div");
    this.title = make("h2", { text: say("values") });
    this.node = make("section", { class: "card inspector", "aria-label": say("values") }, this.title, this.body);
    this.body.append(make("p", { class: "note", text: say("choose") }));
  }

  /**
   * Show an array.
   * @param {Value} value @param {Source[]} sources arrays that its statement reads
   */
  show(value, sources) {
    this.value = value;
    this.sources = sources;
    this.title.replaceChildren(make("span", { class: "name", text: value.name }), document.createTextNode(` ${shapeText(value)} ${value.dtype}`));
    this.leading = lengths(value).slice(0, -2).map(() => 0);
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.place = make("div");
    this.from = make("div");
    this.body.replaceChildren();
    if (value.kept.length) {
      const stored = lengths(value).join(" × ");
      this.body.append(make("p", { class: "note", text: say("sampled", { shown: stored, whole: (value.shape ?? []).join(" × ") }) }));
    }
    const [low, high] = range(value);
    this.body.append(this.slices(), this.readout, this.place, legend(low, high), this.from);
    this.draw();
  }

  slices() {
    const { value, leading } = /** @type {{value: Value, leading: number[]}} */ (this);
    const own = lengths(value);
    const controls = leading.map((_, axis) => {
      const shown = make("span", { class: "number", text: String(indexOf(value, axis, 0)) });
      const slider = make("input", {
        type: "range",
        min: 0,
        max: own[axis] - 1,
        value: 0,
        "aria-label": value.axes[axis] || say("axis", { number: axis }),
        oninput: () => {
          leading[axis] = Number(slider.value);
          shown.textContent = String(indexOf(value, axis, leading[axis]));
          this.draw();
        },
      });
      return make("label", {}, make("span", { text: value.axes[axis] || say("axis", { number: axis }) }), slider, shown);
    });
    return make("div", { class: "slices" }, ...controls);
  }

  draw() {
    const { value, leading } = /** @type {{value: Value, leading: number[]}} */ (this);
    const matrix = matrixOf(value, leading);
    const places = (/** @type {number} */ row, /** @type {number} */ column) =>
      lengths(value).length < 2 ? [column].slice(0, lengths(value).length) : [...leading, row, column];
    const map = new HeatMap(matrix, {
      width: Math.max(240, this.body.clientWidth - 4),
      onHover: (row, column) => this.read(places(row, column)),
      onPick: (row, column) => {
        this.read(places(row, column));
        this.explain(places(row, column));
      },
    });
    this.place.replaceChildren(axesNote(value), map.node);
    const hint = this.sources?.length ? say("click") : say("hover");
    this.readout.replaceChildren(make("span", { class: "note", text: hint }));
    this.from.replaceChildren();
  }

  /** @param {number[]} places */
  read(places) {
    const value = /** @type {Value} */ (this.value);
    const number = numberAt(value, places);
    const where = places.map((place, axis) => `${value.axes[axis] ? `${value.axes[axis]}=` : ""}${indexOf(value, axis, place)}`).join(", ");
    this.readout.replaceChildren(
      document.createTextNode(`${value.name}[${where}] = `),
      make("span", { class: "number", "data-number": number, text: typeof number === "number" ? String(number) : short(number) }),
    );
  }

  /** Show what made an element. @param {number[]} places */
  explain(places) {
    const { sources } = /** @type {{sources: Source[]}} */ (this);
    this.from.replaceChildren();
    if (!sources.length) return;
    this.from.className = "from";
    this.from.append(make("strong", { text: say("made_from") }));
    for (const source of sources) this.from.append(...operandView(source.value, source.operand, places, this.body.clientWidth));
  }
}

/** Return the names of the axes that run down and across. @param {Value} value */
function axesNote(value) {
  const [down, across] = value.axes.length < 2 ? ["", value.axes[0]] : value.axes.slice(-2);
  const text = [down && `${down} ↓`, across && `${across} →`].filter(Boolean).join("   ");
  return text ? make("p", { class: "note", text }) : make("span");
}

/**
 * Return the name and the heat map of an operand, with the elements marked that an element of the result depends on.
 * @param {Value} value @param {Operand} operand @param {number[]} places @param {number} width
 */
function operandView(value, operand, places, width) {
  const own = lengths(value);
  /** @type {(number | null)[]} */
  const index = own.map(() => null);
  for (const [axis, of, divisor] of operand.fixed) index[axis] = Math.floor(places[of] / divisor);
  const leading = own.slice(0, -2).map((_, axis) => index[axis] ?? 0);
  const [row, column] = own.length < 2 ? [0, index[0]] : index.slice(-2);
  const matrix = {
    ...matrixOf(value, leading),
    isMarked: (/** @type {number} */ y, /** @type {number} */ x) => (row === null || row === undefined || y === row) && (column === null || column === undefined || x === column),
  };
  const text = `${value.name}[${index.map((each) => (each === null ? ":" : each)).join(", ")}]`;
  return [make("h3", { class: "mono operand", text }), new HeatMap(matrix, { width: Math.max(220, width - 4), most: 44 }).node];
}
