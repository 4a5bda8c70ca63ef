"""Properties, slots and vectors in the format of llama-server."""

from __future__ import annotations

from headway.engine import GenerationOptions, Request
from headway.server.answer import FINGERPRINT
from headway.server.embeddings import embed
from headway.server.llama_cpp.results import settings
from headway.server.llama_cpp.wire import EmbeddingFields, texts_of
from headway.server.replies import Call, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.wire import decode

NUM_SLOTS = 4
"""Number of slots that are reported if fewer requests run: llama-server's default. There are none here."""


async def props(call: Call) -> Reply:
    """Describe the server and its first model."""
    served = await call.model(None)
    tokenizer = served.model.tokenizer
    return json_reply(
        {
            "default_generation_settings": {"n_ctx": served.max_seq_len, "params": settings(served, _defaults(served))},
            "total_slots": NUM_SLOTS,
            "model_alias": served.name,
            "model_path": served.name,
            "modalities": {"vision": False, "audio": False},
            "chat_template": served.template,
            "bos_token": tokenizer.special_tokens.get("bos_token", ""),
            "eos_token": tokenizer.special_tokens.get("eos_token", ""),
            "build_info": FINGERPRINT,
            "is_sleeping": False,
        }
    )


async def slots(call: Call) -> Reply:
    """Return one slot for each running request, and idle ones up to NUM_SLOTS."""
    served = await call.model(None)
    num_open = call.service.num_open
    slot = {"n_ctx": served.max_seq_len, "speculative": False}
    return json_reply([{"id": index, **slot, "is_processing": index < num_open} for index in range(max(NUM_SLOTS, num_open))])


async def embeddings(call: Call) -> Reply:
    """Return the vectors of texts, each in a list of one."""
    body = decode(EmbeddingFields, call.body)
    served = await call.model(body.model)
    given = body.content if body.input is None else body.input
    vectors, _ = await call.encode(lambda on_batch: embed(served, texts_of(given, served), on_batch))
    return json_reply([{"index": index, "embedding": [row.tolist()]} for index, row in enumerate(vectors)])


def _defaults(served: ServedModel) -> Request:
    """Return a request without a prompt and without options."""
    if served.model.kind == "encoder":
        return Request([], GenerationOptions())
    return served.prepare([], {}).request
