"""The routes of llama.cpp's llama-server, for clients that use more of it than OpenAI's API.

A body is translated to one of OpenAI's: llama-server's names for options of ours, GBNF grammars, JSON Schemas, biases by text. Fields about
slots and caches are accepted without effect, since there are no slots here: requests run together as memory allows, and share the pages of
common prefixes. Fields of samplers that are not built are a 400, unless their value turns them off. The routes under /v1 are OpenAI's only.
"""

from __future__ import annotations

from headway.server import operation
from headway.server.llama_cpp import about, chat, completion
from headway.server.replies import Row
from headway.server.rerank import rerank

ROUTES = [
    Row("POST", "/completion", completion.complete, error_event=completion.error_event),
    Row("POST", "/completions", completion.complete, error_event=completion.error_event),
    Row("POST", "/chat/completions", chat.chat),
    Row("POST", "/chat/completions/input_tokens", chat.count_tokens),
    Row("POST", "/embedding", about.embeddings),
    Row("POST", "/embeddings", about.embeddings),
    Row("POST", "/rerank", rerank),
    Row("GET", "/props", about.props),
    Row("GET", "/slots", about.slots),
    Row("GET", "/models", operation.models),
    Row("GET", "/v1/health", operation.health),
]
