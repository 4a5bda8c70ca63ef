// The source of a call with the values of each statement.

import { make, say } from "./dom.js";
import { chip, isArray, shapeText } from "./values.js";

const TOKEN = /(#.*)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|return|if|else|elif|for|while|in|is|not|and|or|None|True|False|import|from|raise|class|with|as|lambda|yield|try|except|assert|pass)\b|\b(\d[\w.]*)|\b([A-Za-z_]\w*)(?=\()/g;
const KINDS = ["comment", "string", "keyword", "digit", "called"];

/** Return a line of Python with its words coloured. @param {string} text */
function code(text) {
  const node = make("div", { class: "code" });
  const margin = text.length - text.trimStart().length;
  let end = 0;
  node.style.marginLeft = `${margin}ch`;
  const line = text.trimStart();
  for (const match of line.matchAll(TOKEN)) {
    node.append(line.slice(end, match.index));
    const kind = KINDS[match.slice(1).findIndex((each) => each !== undefined)];
    node.append(make("span", { class: kind, text: match[0] }));
    end = (match.index ?? 0) + match[0].length;
  }
  node.append(line.slice(end));
  return node;
}

/**
 * @typedef {import("./values.js").Value} Value
 * @typedef {{line: number, values: Value[], calls: Call[], operands: import("./inspector.js").Operand[]}} Step
 * @typedef {{function: string, source: number, arguments: Value[], steps: Step[], returned: Value | null, num_omitted: number, error: string}} Call
 * @typedef {{call: Call, sources: {file: string, function: string, lines: [number, string][], equation: string, summary: string}[]}} Trace
 * @typedef {{title: {en: string, zh: string}, trace: Trace, differs: number | null}} Panel
 */

/** The rows of one panel; `choose` is called with an array, the arrays that its statement read, and its button. */
export class Listing {
  /** @param {Panel} panel @param {(value: Value, sources: import("./inspector.js").Source[], button: HTMLElement) => void} choose */
  constructor(panel, choose) {
    this.panel = panel;
    this.choose = choose;
    /** @type {(() => void) | null} */
    this.openBest = null;
    this.node = make("div", { class: "listing" }, ...this.call(panel.trace.call, true));
  }

  /** @param {Call} call @param {boolean} isOutermost */
  call(call, isOutermost) {
    const source = this.panel.trace.sources[call.source];
    const known = new Map(call.arguments.map((value) => [value.name, value]));
    /** @type {Map<number, Step[]>} */
    const runs = new Map();
    /** @type {Map<Step, Map<string, Value>>} */
    const before = new Map();
    for (const step of call.steps) {
      runs.set(step.line, [...(runs.get(step.line) ?? []), step]);
      before.set(step, new Map(known));
      for (const value of step.values) known.set(value.name, value);
    }
    const rows = [];
    if (call.arguments.length) rows.push(make("div", { class: "arguments" }, ...call.arguments.map((value) => this.chip(value, [], isOutermost))));
    for (const [number, text] of source.lines) {
      if (text.trim()) rows.push(this.row(number, text, runs.get(number) ?? [], before, isOutermost));
    }
    if (call.error) rows.push(make("p", { class: "note bad", text: call.error }));
    if (call.num_omitted) rows.push(make("p", { class: "note", text: say("omitted", { count: call.num_omitted }) }));
    return rows;
  }

  /** @param {number} number @param {string} text @param {Step[]} steps @param {Map<Step, Map<string, Value>>} before @param {boolean} isOutermost */
  row(number, text, steps, before, isOutermost) {
    const differs = isOutermost && this.panel.differs === number;
    const row = make("div", { class: `row${steps.length ? "" : " idle"}${differs ? " differs" : ""}`, "data-line": number });
    row.append(make("span", { class: "line", text: String(number) }), code(text));
    if (differs) row.append(make("div", { class: "difference", text: `▲ ${say("differs")}` }));
    if (!steps.length) return row;
    const made = make("div", { class: "made" });
    const fill = (/** @type {number} */ run) => made.replaceChildren(...this.made(steps[run], before.get(steps[run]) ?? new Map(), isOutermost));
    fill(0);
    if (steps.length > 1 && steps.some((step) => step.values.length)) row.append(make("div", { class: "made" }, this.runs(steps.length, fill)));
    if (made.childNodes.length) row.append(made);
    return row;
  }

  /** @param {number} count @param {(run: number) => void} fill */
  runs(count, fill) {
    const shown = make("span", { text: say("iteration", { number: 1, count }) });
    const slider = make("input", {
      type: "range",
      min: 0,
      max: count - 1,
      value: 0,
      "aria-label": say("iteration", { number: "", count }),
      oninput: () => {
        fill(Number(slider.value));
        shown.textContent = say("iteration", { number: Number(slider.value) + 1, count });
      },
    });
    return make("label", { class: "runs" }, slider, shown);
  }

  /** @param {Step} step @param {Map<string, Value>} before @param {boolean} isOutermost */
  made(step, before, isOutermost) {
    const nodes = step.values.map((value) => {
      const operands = step.operands.filter((each) => each.of === value.name && before.has(each.name));
      const sources = operands.map((operand) => ({ operand, value: /** @type {Value} */ (before.get(operand.name)) }));
      return this.chip(value, sources, isOutermost);
    });
    return [...nodes, ...step.calls.map((call) => this.inner(call))];
  }

  /** @param {Call} call */
  inner(call) {
    const result = call.returned?.shape ? ` → ${shapeText(call.returned)}` : "";
    const details = make("details", { class: "inner" }, make("summary", { class: "mono", text: `${call.function}${result}` }));
    details.addEventListener("toggle", () => {
      if (details.open && details.childNodes.length === 1) details.append(...this.call(call, false));
    });
    return details;
  }

  /** @param {Value} value @param {import("./inspector.js").Source[]} sources @param {boolean} isOutermost */
  chip(value, sources, isOutermost) {
    const button = chip(value, () => this.choose(value, sources, button));
    if (isOutermost && isArray(value) && (value.shape ?? []).length > 0) this.openBest = () => this.choose(value, sources, button);
    return button;
  }
}
