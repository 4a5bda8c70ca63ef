// System prompt, sampling and the settings that the browser remembers.

import { text } from "./texts.js";

const SLIDERS = [
  { name: "temperature", min: 0, max: 2, step: 0.05, start: 0.7 },
  { name: "top_p", min: 0.05, max: 1, step: 0.05, start: 0.95 },
  { name: "min_p", min: 0, max: 1, step: 0.05, start: 0.05 },
  { name: "max_tokens", min: 16, max: 4096, step: 16, start: 512, initial: 512 },
];

const STORAGE = "headway";

/** Return a value that the browser remembers; null if there is none, or storage is forbidden. */
export function remembered(name) {
  try {
    return JSON.parse(localStorage.getItem(`${STORAGE}.${name}`));
  } catch {
    return null;
  }
}

/** Remember a value, if the browser allows it. */
export function remember(name, value) {
  try {
    localStorage.setItem(`${STORAGE}.${name}`, JSON.stringify(value));
  } catch {
    // Private windows may forbid storage; the setting then lasts until the page is closed.
  }
}

/** The panel. A slider without a value leaves the choice to the model's files. */
export class Settings {
  #values = {};
  #controls = {};

  constructor() {
    const saved = remembered("sampling") ?? {};
    for (const slider of SLIDERS) this.#add(slider, saved[slider.name] ?? slider.initial ?? null);
    for (const id of ["system", "seed"]) {
      const field = document.getElementById(id);
      field.value = remembered(id) ?? "";
      field.addEventListener("change", () => remember(id, field.value));
    }
    const box = document.getElementById("log-probs");
    box.checked = remembered("log-probs") ?? false;
    box.addEventListener("change", () => remember("log-probs", box.checked));
  }

  /** The fields of a request. */
  get fields() {
    const seed = document.getElementById("seed").value;
    return {
      ...this.#values,
      ...(seed === "" ? {} : { seed: Number(seed) }),
      ...(document.getElementById("log-probs").checked ? { logprobs: true, top_logprobs: 5 } : {}),
    };
  }

  /** The system message, in a list; [] for none. */
  get system() {
    const content = document.getElementById("system").value.trim();
    return content ? [{ role: "system", content }] : [];
  }

  /** Show the values again, in another language. */
  translate() {
    for (const slider of SLIDERS) this.#show(slider.name);
  }

  #add(slider, value) {
    const { name, min, max, step } = slider;
    const box = document.createElement("div");
    box.className = "slider";
    const label = document.createElement("label");
    label.htmlFor = name;
    const caption = document.createElement("span");
    const output = document.createElement("output");
    output.htmlFor = name;
    label.append(caption, ": ", output);
    const row = document.createElement("div");
    row.className = "row";
    const input = Object.assign(document.createElement("input"), { type: "range", id: name, min, max, step });
    const reset = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
    row.append(input, reset);
    box.append(label, row);
    document.getElementById("sliders").append(box);
    this.#controls[name] = { box, caption, output, input, reset, start: slider.start };
    if (value !== null) this.#values[name] = value;
    input.addEventListener("input", () => this.#set(name, Number(input.value)));
    reset.addEventListener("click", () => { this.#set(name, null); input.focus(); });
    this.#show(name);
  }

  #set(name, value) {
    if (value === null) delete this.#values[name];
    else this.#values[name] = value;
    remember("sampling", this.#values);
    this.#show(name);
  }

  #show(name) {
    const { box, caption, output, input, reset, start } = this.#controls[name];
    const value = this.#values[name];
    caption.textContent = text(name);
    output.textContent = value === undefined ? text("modelDefault") : String(value);
    input.value = value ?? start;
    input.setAttribute("aria-valuetext", output.textContent);
    box.classList.toggle("unset", value === undefined);
    reset.hidden = value === undefined;
    reset.setAttribute("aria-label", `${text("reset")}: ${text(name)}`);
  }
}
