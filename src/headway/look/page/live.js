// A page with a server: prompts to edit, tokens to append, and parts of the model to switch off.

import { inLanguage, make, say } from "./dom.js";
import { partName } from "./tokens.js";

/** @typedef {import("./tokens.js").ModelTrace} ModelTrace */
/** @typedef {{prompt: string | number[], target?: number[], ablate: string[]}} TraceRequest */

/** The parts that are switched off, as the server names them. @param {ModelTrace | undefined} trace */
function parts(trace) {
  return (trace?.ablated ?? []).map(([layer, head]) => (head < 0 ? String(layer) : `${layer}.${head}`));
}

/** Requests that replace traces, and the controls for them. */
export class Live {
  /** @param {{model: string, prompt: string, url: string}} options @param {ModelTrace[]} traces @param {() => void} redraw */
  constructor(options, traces, redraw) {
    const wanted = new URLSearchParams(location.hash.slice(1));
    this.url = options.url;
    this.model = wanted.get("model");
    this.traces = traces;
    this.redraw = redraw;
    /** @type {string[]} */
    this.drafts = [wanted.get("prompt") ?? options.prompt];
    /** @type {({en: string, zh: string} | null)[]} */
    this.notes = [null, null];
    this.isBusy = false;
    this.status = make("p", { class: "readout", role: "status" });
    this.error = make("p", { class: "readout bad", role: "alert" });
  }

  /** Trace a prompt in place of one of the traces. @param {number} index @param {TraceRequest} request */
  async run(index, request) {
    if (this.isBusy) return;
    this.isBusy = true;
    this.error.textContent = "";
    this.status.textContent = say("computing");
    try {
      const answer = await this.answer(request);
      this.traces[index] = answer.trace;
      this.notes[index] = answer.note;
      this.drafts[index] = answer.trace.prompt;
    } catch (error) {
      this.error.textContent = error instanceof TypeError ? say("unreachable") : String(/** @type {Error} */ (error).message);
    }
    this.isBusy = false;
    this.status.textContent = "";
    this.redraw();
  }

  /** @param {TraceRequest} request */
  async answer(request) {
    const key = sessionStorage.getItem("headway.key"); // of the page that this one was opened from, if its server asks for one
    const headers = { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
    const body = JSON.stringify(this.model ? { ...request, model: this.model } : request);
    const reply = await fetch(this.url, { method: "POST", headers, body });
    const answer = await reply.json();
    if (!reply.ok) throw new Error(answer.error?.message ?? answer.error);
    return answer;
  }

  /** Return the request that gives a trace again, with other parts switched off. @param {number} index @param {string[]} ablate @returns {TraceRequest} */
  again(index, ablate) {
    const { source, tokens } = this.traces[index];
    const ids = tokens.map((each) => each.id);
    return source.length ? { prompt: source.map((each) => each.id), target: ids.slice(1), ablate } : { prompt: ids, ablate };
  }

  /** Trace the text of a field. @param {number} index */
  edit(index) {
    return this.run(index, { prompt: this.drafts[index], ablate: parts(this.traces[index]) });
  }

  /** @param {number} index @param {number} token */
  append(index, token) {
    const request = this.again(index, parts(this.traces[index]));
    if (request.target) request.target.push(token);
    else /** @type {number[]} */ (request.prompt).push(token);
    return this.run(index, request);
  }

  /** Switch a part on or off. @param {number} index @param {number} layer @param {number} head -1 for the whole layer */
  toggle(index, layer, head) {
    const part = head < 0 ? String(layer) : `${layer}.${head}`;
    const off = parts(this.traces[index]);
    return this.run(index, this.again(index, off.includes(part) ? off.filter((each) => each !== part) : [...off, part]));
  }

  /** Show the same prompt twice, or one prompt again. */
  compare() {
    if (this.traces.length > 1) this.traces.pop();
    else {
      this.traces.push(this.traces[0]);
      [this.drafts[1], this.notes[1]] = [this.traces[0].prompt, this.notes[0]];
    }
    this.redraw();
  }

  /** Return the field of a prompt. @param {number} index */
  field(index) {
    const text = make("textarea", { id: `prompt-${index}`, rows: 2, "aria-label": say(index ? "second" : "first") });
    text.value = this.drafts[index];
    text.addEventListener("input", () => (this.drafts[index] = text.value));
    text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.edit(index);
    });
    const run = make("button", { type: "button", class: "plain", id: `run-${index}`, text: say("run"), onclick: () => this.edit(index) });
    const hasTrace = this.traces.length > 0;
    const compared = say(this.traces.length > 1 ? "stop_comparing" : "compare");
    const compare = make("button", { type: "button", class: "plain", id: "compare", text: compared, onclick: () => this.compare() });
    return make("div", { class: "prompt" }, text, run, hasTrace && !index ? compare : null);
  }

  /** Return the notes about what the server left out. */
  get note() {
    return this.notes.slice(0, this.traces.length).map((each) => (each ? inLanguage(each) : "")).join(" ");
  }
}

/** Return the parts that are switched off, with a button for each to switch it on. @param {ModelTrace} trace @param {number} index @param {Live | null} live */
export function ablatedParts(trace, index, live) {
  if (!trace.ablated.length) return null;
  const chips = trace.ablated.map((part, place) => {
    if (!live) return make("span", { class: "part", text: partName(part) });
    const text = `${partName(part)} ×`;
    return make("button", { type: "button", class: "part plain", id: `on-${index}-${place}`, "aria-label": say("switch_on", { part: partName(part) }), text, onclick: () => live.toggle(index, ...part) });
  });
  return make("p", { class: "parts" }, make("span", { class: "note", text: say("switched_off") }), ...chips);
}
