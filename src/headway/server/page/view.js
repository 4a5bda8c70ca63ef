// Messages on the page, and the probabilities of their tokens.

import { text } from "./texts.js";

const log = document.getElementById("log");
const tooltip = document.getElementById("tooltip");

/** A message on the page. */
export class MessageView {
  #article = document.createElement("article");
  #heading = document.createElement("h2");
  #body = document.createElement("div");
  #footer = document.createElement("footer");
  #content = "";
  #shown = 0;
  #waiting = [];
  #decoder = new TextDecoder();

  constructor(role, content = "") {
    this.role = role;
    this.#article.className = role;
    this.#body.className = "text";
    this.#article.append(this.#heading, this.#body);
    if (role === "assistant") this.#article.append(this.#footer);
    this.#body.addEventListener("keydown", moveAmongTokens);
    log.append(this.#article);
    this.translate();
    this.#write(content);
  }

  get content() {
    return this.#content;
  }

  translate() {
    this.#heading.textContent = text(this.role === "user" ? "you" : "assistant");
  }

  remove() {
    this.#article.remove();
  }

  set isBusy(value) {
    this.#article.setAttribute("aria-busy", String(value));
    if (!value) this.#flush();
  }

  /** Append the text of a chunk; `tokens` are the entries of its logprobs. */
  append(content, tokens = []) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    this.#write(content, tokens);
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  /** Show notes and buttons below the message. */
  setFooter(notes, buttons) {
    this.#footer.replaceChildren(...buttons, ...notes.map((note) => Object.assign(document.createElement("span"), { textContent: note })));
  }

  #write(content, tokens = []) {
    this.#content += content;
    this.#waiting.push(...tokens);
    if (!this.#waiting.length) {
      if (!tokens.length) this.#show(this.#content.slice(this.#shown));
      return;
    }
    // The server keeps text back that may be the start of a stop string; a token is shown with its whole text.
    while (this.#waiting.length) {
      const entry = this.#waiting[0];
      entry.text ??= this.#decoder.decode(new Uint8Array(entry.bytes ?? []), { stream: true });
      const rest = this.#content.slice(this.#shown);
      const own = rest.startsWith(entry.text) ? entry.text : this.#shown === 0 && rest.startsWith(entry.text.trimStart()) ? entry.text.trimStart() : null;
      if (own === null) break;
      this.#waiting.shift();
      if (own) this.#show(own, entry);
    }
  }

  #flush() {
    this.#waiting = [];
    this.#show(this.#content.slice(this.#shown));
  }

  #show(part, entry = null) {
    if (!part) return;
    this.#shown += part.length;
    this.#body.append(entry ? tokenElement(part, entry, !this.#body.querySelector(".token")) : part);
  }
}

function tokenElement(part, entry, isFirst) {
  const element = document.createElement("span");
  const probability = Math.exp(entry.logprob);
  element.className = `token ${probability < 0.1 ? "d3" : probability < 0.4 ? "d2" : probability < 0.8 ? "d1" : ""}`;
  element.textContent = part;
  element.tabIndex = isFirst ? 0 : -1;
  const show = () => showTooltip(element, entry);
  for (const event of ["mouseenter", "focus"]) element.addEventListener(event, show);
  for (const event of ["mouseleave", "blur"]) element.addEventListener(event, hideTooltip);
  return element;
}

function moveAmongTokens(event) {
  const step = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
  const current = event.target;
  if (!step || !current.classList.contains("token")) return;
  event.preventDefault();
  const next = current[step];
  if (!next) return;
  current.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function showTooltip(element, entry) {
  const table = document.createElement("table");
  const others = entry.top_logprobs ?? [];
  const entries = others.some((other) => other.token === entry.token) ? others : [...others, entry];
  for (const { token, logprob } of entries) {
    const row = table.insertRow();
    row.classList.toggle("chosen", token === entry.token);
    row.insertCell().textContent = JSON.stringify(token);
    row.insertCell().textContent = `${(Math.exp(logprob) * 100).toFixed(1)} %`;
  }
  tooltip.replaceChildren(table);
  tooltip.hidden = false;
  element.setAttribute("aria-describedby", "tooltip");
  const token = element.getClientRects()[0];
  const own = tooltip.getBoundingClientRect();
  const above = token.top - own.height - 6;
  tooltip.style.top = `${above > 4 ? above : token.bottom + 6}px`;
  tooltip.style.left = `${Math.max(4, Math.min(token.left, innerWidth - own.width - 4))}px`;
}

function hideTooltip(event) {
  tooltip.hidden = true;
  event.target.removeAttribute("aria-describedby");
}
