"""Functions of llama.cpp's server tests that fail here, by file, with the reason.

Files that are not in FILES test what is not built at all: routers of several processes, sleeping, MCP servers, built-in tools, proxies, images,
adapters in GGUF, cross-encoders in GGUF.
"""

from __future__ import annotations

FILES = (
    "basic",
    "chat_completion",
    "compat_anthropic",
    "compat_oai_responses",
    "completion",
    "ctx_shift",
    "embedding",
    "ignore_eos",
    "infill",
    "metrics",
    "security",
    "slot_save",
    "speculative",
    "template",
    "tokenize",
    "tool_call",
)
"""The files in scope."""
