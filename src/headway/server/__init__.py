"""An HTTP server with the OpenAI wire: one process, an event loop, and the engine's thread."""
