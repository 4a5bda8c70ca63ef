// Calls of the server that serves this page.

/** An error of the server, with its HTTP status and its message. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(key) {
  return { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

async function checked(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new ApiError(response.status, body?.error?.message ?? `HTTP ${response.status}`);
}

/** Return the models: their names, and "loaded", "loading" or "unloaded". */
export async function listModels(key) {
  const response = await checked(await fetch("v1/models", { headers: headers(key) }));
  return (await response.json()).data.map((model) => ({ name: model.id, status: model.status.value }));
}

/** Yield the chunks of a streamed chat completion. */
export async function* streamChat(request, key, signal) {
  const body = JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } });
  const response = await checked(await fetch("v1/chat/completions", { method: "POST", headers: headers(key), body, signal }));
  const parser = new EventParser();
  const decoder = new TextDecoder();
  for await (const bytes of read(response.body)) {
    for (const data of parser.add(decoder.decode(bytes, { stream: true }))) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ApiError(200, chunk.error.message);
      yield chunk;
    }
  }
}

// Not every browser can iterate over a stream.
async function* read(stream) {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** A parser of server-sent events; it returns the data of those that are complete. */
export class EventParser {
  #rest = "";

  add(text) {
    const events = (this.#rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = events.pop();
    return events
      .map((event) => event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n"))
      .filter(Boolean);
  }
}
