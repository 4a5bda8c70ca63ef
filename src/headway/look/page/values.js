// Values of a trace: their numbers by index, as matrices, and their description.

import { make, short } from "./dom.js";
import { thumbnail } from "./heat.js";

/**
 * @typedef {{name: string, text: string, shape: number[] | null, axes: string[], dtype: string, minimum: number | null,
 *   maximum: number | null, num_nan: number, numbers: (number | string)[], kept: number[][]}} Value
 */

/** Return the stored length of each axis. @param {Value} value */
export function lengths(value) {
  return value.kept.length ? value.kept.map((each) => each.length) : value.shape ?? [];
}

/** Return the number at stored places along each axis. @param {Value} value @param {number[]} places */
export function numberAt(value, places) {
  let offset = 0;
  lengths(value).forEach((length, axis) => (offset = offset * length + places[axis]));
  return value.numbers[offset] ?? null;
}

/** Return the true index of a stored place. @param {Value} value @param {number} axis @param {number} place */
export function indexOf(value, axis, place) {
  return value.kept.length ? value.kept[axis][place] : place;
}

/** Return smallest and largest finite number. @param {Value} value */
export function range(value) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of value.numbers) {
    if (typeof each !== "number") continue;
    low = Math.min(low, each);
    high = Math.max(high, each);
  }
  return low > high ? [0, 0] : [low, high];
}

/**
 * Return the last two axes of an array as a matrix, at the places of its leading axes.
 * @param {Value} value @param {number[]} leading
 * @returns {import("./heat.js").Matrix}
 */
export function matrixOf(value, leading) {
  const own = lengths(value);
  const isFlat = own.length < 2;
  const [low, high] = range(value);
  const last = own.length - 1;
  return {
    rows: isFlat ? 1 : own[last - 1],
    columns: own.length ? own[last] : 1,
    low,
    high,
    at: (row, column) => numberAt(value, isFlat ? (own.length ? [column] : []) : [...leading, row, column]),
    rowName: (row) => (isFlat ? "" : String(indexOf(value, last - 1, row))),
    columnName: (column) => (own.length ? String(indexOf(value, last, column)) : ""),
    label: value.name,
  };
}

/** @param {Value} value */
export function shapeText(value) {
  const parts = (value.shape ?? []).map((size, axis) => (value.axes[axis] ? `${value.axes[axis]}=${size}` : String(size)));
  return `(${parts.join(", ")})`;
}

/** True for an array with numbers to show. @param {Value} value */
export function isArray(value) {
  return value.shape !== null && value.numbers.length > 0;
}

/**
 * Return a button for an array, or a text for another value.
 * @param {Value} value @param {() => void} onChoose
 */
export function chip(value, onChoose) {
  const name = make("span", { class: "name", text: value.name });
  if (value.shape === null) return make("span", { class: "chip text" }, name, make("span", { class: "mono", text: `= ${value.text}` }));
  const isNumber = value.shape.length === 0;
  const button = make("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: onChoose }, name);
  if (isNumber) button.append(make("span", { class: "mono", text: `= ${short(value.minimum)}` }));
  else button.append(make("span", { class: "shape", text: shapeText(value) }));
  button.append(make("span", { class: "range", text: value.dtype }));
  if (!isNumber && value.minimum !== null) button.append(make("span", { class: "range", text: `${short(value.minimum)} … ${short(value.maximum)}` }));
  if (value.num_nan) button.append(make("span", { class: "bad", text: `NaN × ${value.num_nan}` }));
  if (value.numbers.length > 1) button.append(thumbnail(matrixOf(value, (value.shape ?? []).slice(2).map(() => 0)), 72, 36));
  return button;
}
