"""Routes about the server itself, its models, and tokens."""

from __future__ import annotations

from collections import Counter

import msgspec

from headway.server.chat import template_message
from headway.server.errors import invalid, unavailable
from headway.server.model_pool import ModelSlot
from headway.server.replies import Call, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.tools import definition
from headway.server.wire import DetokenizeRequest, TemplateRequest, TokenizeRequest, decode


async def health(call: Call) -> Reply:
    """Answer 200 while the process and the threads of all engines run, else 503. It has no names: nobody needs a key for it."""
    if not call.service.is_alive:
        raise unavailable("the engine does not run", "engine_dead")
    return json_reply({"status": "ok", "models": Counter(slot.status for slot in call.service.models)})


async def ready(call: Call) -> Reply:
    """Answer 200 if a request would be accepted now, else 503."""
    if not call.service.is_ready:
        raise unavailable("the server is loading, full or shutting down", "not_ready")
    return json_reply({"status": "ready"})


async def metrics(call: Call) -> Reply:
    """Return the figures for Prometheus."""
    return Reply(await call.service.figures(), content_type="text/plain; version=1.0.0; charset=utf-8")


async def models(call: Call) -> Reply:
    """List the models, loaded or not, and their adapters."""
    return json_reply({"object": "list", "data": [_model(name, slot) for name, slot in call.service.pool.names.items()]})


async def model(call: Call) -> Reply:
    """Describe one model."""
    name = call.path_values["name"]
    slot = call.service.find(name)
    return json_reply(_model(name if name in slot.adapters else slot.name, slot))


def _model(name: str, slot: ModelSlot) -> dict[str, object]:
    served = slot.served
    return {
        "id": name,
        "object": "model",
        "created": slot.created,
        "owned_by": "headway",
        "parent": None if name == slot.name else slot.name,
        "max_model_len": None if served is None else served.max_seq_len,
        "meta": None if served is None else _meta(served),
        "status": {"value": slot.status},
    }


def _meta(served: ServedModel) -> dict[str, object]:
    return {"n_vocab": served.model.config.vocab_size, "n_ctx_train": served.max_seq_len, "kind": served.model.kind}


async def tokenize(call: Call) -> Reply:
    """Return the token ids of a text or of a conversation."""
    body = decode(TokenizeRequest, call.body)
    served = await call.model(body.model)
    texts = [text for text in (body.content, body.prompt) if text is not None]
    if len(texts) + (body.messages is not None) != 1:
        raise invalid("got not exactly one of content, prompt and messages, expected one", "content")
    # vLLM adds special tokens to a prompt by default, llama.cpp does not add them to a content.
    given = [each for each in (body.add_special, body.add_special_tokens) if each is not None]
    adds = given[0] if given else body.prompt is not None

    def reply() -> Reply:
        if body.messages is not None:
            token_ids = served.encode_chat([template_message(message) for message in body.messages])
        else:
            token_ids = served.model.tokenizer.encode(texts[0], add_special_tokens=adds)
        tokens = [_piece(served, token_id) for token_id in token_ids] if body.with_pieces else token_ids
        return json_reply({"tokens": tokens, "count": len(token_ids), "max_model_len": served.max_seq_len})

    return await call.in_worker(reply)  # a long text has many tokens


def _piece(served: ServedModel, token_id: int) -> dict[str, object]:
    """Return a token with its text, or with its bytes if they are no whole text."""
    own = served.token_bytes(token_id)
    try:
        return {"id": token_id, "piece": own.decode()}
    except UnicodeDecodeError:
        return {"id": token_id, "piece": list(own)}


async def detokenize(call: Call) -> Reply:
    """Return the text of token ids."""
    body = decode(DetokenizeRequest, call.body)
    served = await call.model(body.model)
    text = await call.in_worker(served.model.tokenizer.decode, body.tokens)
    return json_reply({"content": text, "prompt": text})


async def apply_template(call: Call) -> Reply:
    """Return a conversation as the text that the model reads."""
    body = decode(TemplateRequest, call.body)
    served = await call.model(body.model)
    messages = [template_message(message) for message in body.messages]
    variables: dict[str, object] = msgspec.to_builtins(body.chat_template_kwargs or {})
    if body.tools:
        variables["tools"] = [definition(tool) for tool in body.tools]
    text = await call.in_worker(lambda: served.render_chat(messages, variables, add_generation_prompt=body.add_generation_prompt))
    return json_reply({"prompt": text})
