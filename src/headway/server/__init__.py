"""A server with OpenAI's HTTP API: one process, an event loop, and the engine's thread."""
