// The texts of the page in English and Chinese.

const TEXTS = {
  en: {
    skip: "Skip to the message", model: "Model", newChat: "New chat", look: "Look inside", theme: "Theme", settings: "Settings",
    keyNeeded: "This server needs an API key", useKey: "Use", keyWrong: "The server does not accept this key.",
    conversation: "Conversation", empty: "Write a message. The model answers on the machine that serves this page.",
    message: "Message", send: "Send", stop: "Stop", keys: "Enter sends, Shift+Enter starts a line, Escape stops.",
    system: "System prompt", temperature: "Temperature", top_p: "Top-p", min_p: "Min-p", max_tokens: "Longest answer (tokens)",
    seed: "Seed", random: "random", modelDefault: "the model's", reset: "Use the model's value",
    showProbabilities: "Show token probabilities",
    probabilitiesHint: "Point at a token, or move with the arrow keys, to see the probabilities of its alternatives.",
    you: "You", assistant: "Model", regenerate: "Regenerate", cut: "cut at the longest length", loading: "{name} is being loaded …", stopped: "stopped",
    rate: "{tokens} tokens, {rate} per second", unreachable: "The server does not answer.", themes: { auto: "Theme: automatic", light: "Theme: light", dark: "Theme: dark" },
  },
  zh: {
    skip: "跳到消息输入框", model: "模型", newChat: "新对话", look: "查看内部", theme: "主题", settings: "设置",
    keyNeeded: "此服务器需要 API 密钥", useKey: "使用", keyWrong: "服务器不接受此密钥。",
    conversation: "对话", empty: "写一条消息。模型在提供此页面的机器上回答。",
    message: "消息", send: "发送", stop: "停止", keys: "Enter 发送，Shift+Enter 换行，Esc 停止。",
    system: "系统提示", temperature: "温度", top_p: "Top-p", min_p: "Min-p", max_tokens: "回答的最大长度（词元）",
    seed: "随机种子", random: "随机", modelDefault: "模型默认", reset: "使用模型默认值",
    showProbabilities: "显示词元概率",
    probabilitiesHint: "指向一个词元，或用方向键移动，可查看其他候选的概率。",
    you: "你", assistant: "模型", regenerate: "重新生成", cut: "已达最大长度", loading: "正在加载 {name}……", stopped: "已停止",
    rate: "{tokens} 个词元，每秒 {rate} 个", unreachable: "服务器没有响应。", themes: { auto: "主题：自动", light: "主题：浅色", dark: "主题：深色" },
  },
};

let language = "en";

/** Return a text, with {names} replaced by values. */
export function text(name, values = {}) {
  return TEXTS[language][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

/** Return the name of a theme for screen readers. */
export function themeName(theme) {
  return TEXTS[language].themes[theme];
}

/** Use a language for all marked elements of the page. */
export function setLanguage(chosen) {
  language = chosen in TEXTS ? chosen : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const [key, put] of Object.entries({
    text: (element, value) => { element.textContent = value; },
    label: (element, value) => element.setAttribute("aria-label", value),
    placeholder: (element, value) => element.setAttribute("placeholder", value),
  })) {
    for (const element of document.querySelectorAll(`[data-${key}]`)) put(element, text(element.dataset[key]));
  }
  return language;
}
