// The page: a conversation with a model of this server.

import { ApiError, listModels, streamChat } from "./api.js";
import { Settings, remember, remembered } from "./settings.js";
import { setLanguage, text, themeName } from "./texts.js";
import { MessageView } from "./view.js";

const THEMES = ["auto", "light", "dark"];
const byId = (id) => document.getElementById(id);
const settings = new Settings();
const narrow = matchMedia("(max-width: 760px)");

let messages = [];
let running = null;
let key = sessionStorage.getItem("headway.key") ?? "";

function showError(message) {
  byId("error").textContent = message ?? "";
  byId("error").hidden = !message;
}

function showFailure(error) {
  if (error instanceof ApiError && error.status === 401) {
    byId("key-form").hidden = false;
    byId("key").focus();
    showError(key ? text("keyWrong") : null);
  } else {
    showError(error instanceof ApiError ? error.message : text("unreachable"));
  }
}

async function loadModels() {
  try {
    const models = await listModels(key);
    const chosen = remembered("model");
    byId("model").replaceChildren(...models.map(({ name }) => new Option(name, name, false, name === chosen)));
    byId("key-form").hidden = true;
    showError(null);
  } catch (error) {
    showFailure(error);
  }
}

/** Show that the model of an answer is being loaded, if it is. */
async function showLoading(name, view, hasBegun) {
  const models = await listModels(key).catch(() => []);
  const status = models.find((model) => model.name === name)?.status;
  if (status && status !== "loaded" && !hasBegun()) view.setFooter([text("loading", { name })], []);
}

function setRunning(controller) {
  running = controller;
  byId("send").hidden = Boolean(controller);
  byId("stop").hidden = !controller;
  byId("new").disabled = Boolean(controller);
}

/** Let the model answer the conversation so far. */
async function answer() {
  showError(null);
  const request = {
    model: byId("model").value,
    messages: [...settings.system, ...messages.map(({ role, content }) => ({ role, content }))],
    ...settings.fields,
  };
  messages.at(-2)?.setFooter([], []);
  const view = new MessageView("assistant");
  view.isBusy = true;
  messages.push(view);
  const controller = new AbortController();
  setRunning(controller);
  const notes = [];
  let started = null;
  let hasBegun = false;
  showLoading(request.model, view, () => hasBegun);
  try {
    for await (const chunk of streamChat(request, key, controller.signal)) {
      if (!hasBegun) view.setFooter([], []);
      hasBegun = true;
      const choice = chunk.choices[0];
      if (choice) {
        view.append(choice.delta.content ?? "", choice.logprobs?.content ?? []);
        if (choice.delta.content) started ??= performance.now();
        if (choice.finish_reason === "length") notes.push(text("cut"));
      }
      if (chunk.usage && started !== null) notes.push(rate(chunk.usage.completion_tokens, performance.now() - started));
    }
  } catch (error) {
    if (controller.signal.aborted) notes.push(text("stopped"));
    else showFailure(error);
  }
  hasBegun = true;
  view.isBusy = false;
  setRunning(null);
  view.setFooter(notes, [regenerateButton()]);
  byId("input").focus();
}

function rate(tokens, milliseconds) {
  return text("rate", { tokens, rate: milliseconds > 0 ? ((tokens * 1000) / milliseconds).toFixed(1) : "–" });
}

function regenerateButton() {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text("regenerate") });
  button.dataset.text = "regenerate";
  button.addEventListener("click", () => {
    if (running) return;
    messages.pop().remove();
    answer();
  });
  return button;
}

function send() {
  const content = byId("input").value.trim();
  if (!content || running) return;
  byId("empty").hidden = true;
  // Two messages of the user in a row are refused by many templates: an answer that failed is removed.
  if (messages.at(-1)?.role === "assistant" && !messages.at(-1).content) messages.pop().remove();
  if (messages.at(-1)?.role === "user") messages.pop().remove();
  messages.push(new MessageView("user", content));
  byId("input").value = "";
  fitInput();
  byId("log").scrollTop = byId("log").scrollHeight;
  answer();
}

function fitInput() {
  const input = byId("input");
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-label", themeName(theme));
  byId("theme").title = themeName(theme);
}

function showLanguage(chosen) {
  const language = setLanguage(chosen);
  Object.assign(byId("language"), { textContent: language === "zh" ? "English" : "中文", lang: language === "zh" ? "en" : "zh" });
  settings.translate();
  for (const message of messages) message.translate();
  showTheme(document.documentElement.dataset.theme ?? "auto");
  return language;
}

function showSettings(isOpen) {
  byId("settings").classList.toggle("open", isOpen);
  byId("show-settings").setAttribute("aria-expanded", String(isOpen));
}

byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("input").addEventListener("input", fitInput);
byId("input").addEventListener("keydown", (event) => {
  // Enter that ends the composition of a character is not a line.
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") running?.abort(); });
byId("stop").addEventListener("click", () => running?.abort());
byId("new").addEventListener("click", () => {
  for (const message of messages) message.remove();
  messages = [];
  byId("empty").hidden = false;
  showError(null);
  byId("input").focus();
});
byId("look").addEventListener("click", () => {
  const prompt = byId("input").value || (messages.findLast((message) => message.role === "user")?.content ?? "");
  const lang = document.documentElement.lang === "en" ? "en" : "zh";
  byId("look").href = `look/#${new URLSearchParams({ model: byId("model").value, lang, prompt })}`;
});
byId("model").addEventListener("change", () => remember("model", byId("model").value));
byId("language").addEventListener("click", () => remember("language", showLanguage(document.documentElement.lang === "en" ? "zh" : "en")));
byId("theme").addEventListener("click", () => {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  remember("theme", theme);
  showTheme(theme);
});
byId("show-settings").addEventListener("click", () => showSettings(!byId("settings").classList.contains("open")));
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim();
  sessionStorage.setItem("headway.key", key);
  loadModels();
});

showTheme(THEMES.includes(remembered("theme")) ? remembered("theme") : "auto");
showLanguage(remembered("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
showSettings(!narrow.matches);
loadModels();
