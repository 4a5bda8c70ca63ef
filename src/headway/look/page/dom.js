// Building of elements. Text is always set as text, never parsed as HTML.

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] attributes; `class`, `text`, and handlers such as `onclick`
 * @param {(Node | null | undefined)[]} children
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

/** @type {{language: string, texts: Record<string, {en: string, zh: string}>}} */
export const words = { language: "en", texts: {} };

/**
 * Return a sentence in the current language.
 * @param {string} key
 * @param {Record<string, any>} [values] values of its placeholders
 */
export function say(key, values = {}) {
  const text = (words.texts[key] ?? { en: key, zh: key })[words.language === "zh" ? "zh" : "en"];
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** @param {{en: string, zh: string}} message */
export function inLanguage(message) {
  return words.language === "zh" ? message.zh : message.en;
}

/** @param {number | string | null} number A number, or "nan", "inf" or "-inf". */
export function short(number) {
  if (number === null) return "–";
  if (typeof number === "string") return number;
  if (Number.isInteger(number) && Math.abs(number) < 1e6) return String(number);
  return String(Number(number.toPrecision(4)));
}

/** @param {string} name */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
