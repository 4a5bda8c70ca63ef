// Heat maps on a canvas: number under the pointer, keyboard, highlighted cells.

import { colour, make, short } from "./dom.js";

/** @param {string} hex */
function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

/** @param {number[]} from @param {number[]} to @param {number} share */
function mixed(from, to, share) {
  return from.map((each, channel) => Math.round(each + (to[channel] - each) * share));
}

/**
 * Return a function from a number to its colour: blue below 0, orange above, in both themes.
 * @param {number} low @param {number} high
 * @returns {(number: number | string | null) => number[]}
 */
export function scale(low, high) {
  const [cool, warm, zero] = ["cool", "warm", "zero"].map((name) => channels(colour(name)));
  const grey = channels(colour("faint"));
  const largest = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const base = low > 0 && low / high > 0.5 ? low : 0; // numbers far from 0 differ by little: show the differences
  return (number) => {
    if (typeof number !== "number") return number === "inf" ? warm : number === "-inf" ? cool : grey;
    const share = Math.min(1, Math.abs(number - base) / (largest - base || 1));
    return mixed(zero, number < base ? cool : warm, Math.pow(share, 0.8));
  };
}

/** @param {number[]} rgb */
function inkOn(rgb) {
  return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 140 ? "#14151a" : "#ffffff";
}

/**
 * A matrix to draw.
 * @typedef {{rows: number, columns: number, low: number, high: number, at: (row: number, column: number) => number | string | null,
 *   rowName: (row: number) => string, columnName: (column: number) => string, label: string,
 *   isMarked?: (row: number, column: number) => boolean}} Matrix
 */

/**
 * Draw a small picture without labels.
 * @param {Matrix} matrix @param {number} width @param {number} height
 */
export function thumbnail(matrix, width, height) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  canvas.width = Math.min(matrix.columns, width);
  canvas.height = Math.min(matrix.rows, height);
  const context = canvas.getContext("2d");
  const colourOf = scale(matrix.low, matrix.high);
  const image = context.createImageData(canvas.width, canvas.height);
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      const row = Math.floor((y * matrix.rows) / canvas.height);
      const column = Math.floor((x * matrix.columns) / canvas.width);
      image.data.set([...colourOf(matrix.at(row, column)), 255], 4 * (y * canvas.width + x));
    }
  }
  context.putImageData(image, 0, 0);
  const factor = Math.max(1, Math.min(8, width / canvas.width, height / canvas.height));
  canvas.style.width = `${Math.round(canvas.width * factor)}px`;
  canvas.style.height = `${Math.round(canvas.height * factor)}px`;
  canvas.style.imageRendering = "pixelated";
  return canvas;
}

/** A heat map that reports the cell under the pointer or the keyboard's cursor, and cells that are clicked. */
export class HeatMap {
  /**
   * @param {Matrix} matrix
   * @param {{width: number, most?: number, onHover?: (row: number, column: number) => void, onPick?: (row: number, column: number) => void}} options
   *   width in pixels that the map should fill; most: largest size of a cell
   */
  constructor(matrix, options) {
    this.matrix = matrix;
    this.options = options;
    /** @type {[number, number] | null} */
    this.cursor = null;
    /** @type {[number, number] | null} */
    this.picked = null;
    this.canvas = make("canvas", {
      tabindex: 0,
      role: "application",
      "aria-label": `${matrix.label}: ${matrix.rows} × ${matrix.columns}`,
      onpointermove: (/** @type {PointerEvent} */ event) => this.moveTo(this.cellAt(event)),
      onpointerleave: () => this.moveTo(null),
      onclick: (/** @type {PointerEvent} */ event) => this.pick(this.cellAt(event)),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    this.node = make("div", { class: "heat" }, this.canvas);
    this.left = this.top = this.cellWidth = this.cellHeight = this.width = this.height = 0;
    this.areSlanted = false;
    this.measure();
    this.draw();
  }

  measure() {
    const { matrix, options } = this;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    context.font = LABEL_FONT;
    const widest = Math.max(0, ...Array.from({ length: Math.min(matrix.rows, 400) }, (_, row) => context.measureText(matrix.rowName(row)).width));
    const names = Array.from({ length: Math.min(matrix.columns, 400) }, (_, column) => context.measureText(matrix.columnName(column)).width);
    this.left = Math.ceil(Math.min(widest, 110)) + 8;
    const room = (options.width - this.left - 2) / matrix.columns;
    this.cellWidth = Math.max(6, Math.min(options.most ?? 64, room));
    const areSlanted = Math.max(0, ...names) > this.cellWidth - 2;
    this.areSlanted = areSlanted && Math.max(0, ...names) > 24;
    this.top = this.areSlanted ? Math.min(84, Math.max(...names) * 0.71 + 14) : 18;
    this.cellHeight = Math.max(6, Math.min(26, this.cellWidth));
    this.width = this.left + this.cellWidth * matrix.columns + (this.areSlanted ? 40 : 2);
    this.height = this.top + this.cellHeight * matrix.rows + 2;
  }

  draw() {
    const { canvas, matrix, left, top, cellWidth, cellHeight } = this;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.ceil(this.width * ratio);
    canvas.height = Math.ceil(this.height * ratio);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    context.textBaseline = "middle";
    const colourOf = scale(matrix.low, matrix.high);
    const hasNumbers = cellWidth >= 38 && cellHeight >= 16;
    const gap = cellWidth > 10 ? 1 : 0;
    for (let row = 0; row < matrix.rows; row++) {
      for (let column = 0; column < matrix.columns; column++) {
        const number = matrix.at(row, column);
        const rgb = colourOf(number);
        const [x, y] = [left + column * cellWidth, top + row * cellHeight];
        context.fillStyle = `rgb(${rgb.join()})`;
        context.fillRect(x, y, cellWidth - gap, cellHeight - gap);
        if (hasNumbers) {
          context.font = NUMBER_FONT;
          context.fillStyle = inkOn(rgb);
          context.textAlign = "center";
          context.fillText(short(typeof number === "number" ? Number(number.toPrecision(3)) : number), x + cellWidth / 2, y + cellHeight / 2, cellWidth - 4);
        }
        if (matrix.isMarked?.(row, column)) this.frame(context, row, column, 2, colour("accent"));
      }
    }
    this.labels(context);
    if (this.picked) this.frame(context, ...this.picked, 3, colour("pick"));
    if (this.cursor) this.frame(context, ...this.cursor, 1.5, colour("pick"));
  }

  /** @param {CanvasRenderingContext2D} context */
  labels(context) {
    const { matrix, left, top, cellWidth, cellHeight } = this;
    context.font = LABEL_FONT;
    context.fillStyle = colour("soft");
    const everyRow = Math.ceil(12 / cellHeight);
    context.textAlign = "right";
    for (let row = 0; row < matrix.rows; row += everyRow) context.fillText(matrix.rowName(row), left - 5, top + (row + 0.5) * cellHeight, left - 6);
    const everyColumn = Math.ceil((this.areSlanted ? 12 : 20) / cellWidth);
    for (let column = 0; column < matrix.columns; column += everyColumn) {
      const x = left + (column + 0.5) * cellWidth;
      context.save();
      context.translate(x, top - 6);
      if (this.areSlanted) context.rotate(-Math.PI / 4);
      context.textAlign = this.areSlanted ? "left" : "center";
      context.fillText(matrix.columnName(column), 0, this.areSlanted ? 0 : -3);
      context.restore();
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} row @param {number} column @param {number} width @param {string} style */
  frame(context, row, column, width, style) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.strokeRect(this.left + column * this.cellWidth + 0.5, this.top + row * this.cellHeight + 0.5, this.cellWidth - 2, this.cellHeight - 2);
  }

  /** @param {PointerEvent} event @returns {[number, number] | null} */
  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - this.top) / this.cellHeight);
    const column = Math.floor((event.clientX - box.left - this.left) / this.cellWidth);
    const isInside = row >= 0 && column >= 0 && row < this.matrix.rows && column < this.matrix.columns;
    return isInside ? [row, column] : null;
  }

  /** @param {[number, number] | null} cell */
  moveTo(cell) {
    const isSame = cell && this.cursor && cell[0] === this.cursor[0] && cell[1] === this.cursor[1];
    if (isSame || (!cell && !this.cursor)) return;
    this.cursor = cell;
    this.draw();
    if (cell) this.options.onHover?.(...cell);
  }

  /** @param {[number, number] | null} cell */
  pick(cell) {
    if (!cell) return;
    this.picked = cell;
    this.draw();
    this.options.onPick?.(...cell);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const [row, column] = this.cursor ?? this.picked ?? [0, 0];
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (move) {
      const next = [row + move[0], column + move[1]];
      this.moveTo([Math.max(0, Math.min(this.matrix.rows - 1, next[0])), Math.max(0, Math.min(this.matrix.columns - 1, next[1]))]);
    } else if (event.key === "Enter" || event.key === " ") this.pick([row, column]);
    else return;
    event.preventDefault();
  }
}

const LABEL_FONT = "11px system-ui, 'Noto Sans CJK SC', sans-serif";
const NUMBER_FONT = "11px ui-monospace, 'DejaVu Sans Mono', monospace";

/** Draw the colour scale from `low` to `high`. @param {number | null} low @param {number | null} high */
export function legend(low, high) {
  const [from, to] = [low ?? 0, high ?? 0];
  const at = (/** @type {number} */ column) => from + ((to - from) * column) / 59;
  const bar = thumbnail({ rows: 1, columns: 60, low: from, high: to, at: (_, column) => at(column), rowName: String, columnName: String, label: "" }, 60, 8);
  bar.style.height = "8px";
  bar.style.width = "120px";
  return make("div", { class: "legend" }, make("span", { text: short(low) }), bar, make("span", { text: short(high) }));
}
