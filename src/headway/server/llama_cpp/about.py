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
    """Describe the server and its first model. One that is not loaded is asleep, in llama-server's words, and has no properties."""
    slot = call.service.find(None)
    served = slot.served
    special = {} if served is None else served.model.tokenizer.special_tokens
    return json_reply(
        {
            "default_generation_settings": {
                "n_ctx": _context_size(served),
                "params": {} if served is None else settings(served, _defaults(served)),
            },
            "total_slots": NUM_SLOTS,
            "model_alias": slot.name,
            "model_path": slot.name,
            "modalities": {"vision": False, "audio": False},
            "chat_template": "" if served is None else served.template,
            "bos_token": special.get("bos_token", ""),
            "eos_token": special.get("eos_token", ""),
            "build_info": FINGERPRINT,
            "is_sleeping": served is None,
        }
    )


async def slots(call: Call) -> Reply:
    """Return one slot for each running request, and idle ones up to NUM_SLOTS."""
    num_open = call.service.num_open
    slot = {"n_ctx": _context_size(call.service.find(None).served), "speculative": False}
    return json_reply([{"id": index, **slot, "is_processing": index < num_open} for index in range(max(NUM_SLOTS, num_open))])


def _context_size(served: ServedModel | None) -> int | None:
    """Return the context of a model; 0 for one that is not loaded, as llama-server's router does."""
    return 0 if served is None else served.max_seq_len


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
