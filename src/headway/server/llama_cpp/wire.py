"""Bodies of llama-server's routes, translated to OpenAI's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from headway.language_model.patterns import check_pattern
from headway.server.errors import invalid, not_built
from headway.server.served_model import ServedModel
from headway.server.wire import MAX_CHOICES, MAX_GRAMMAR, MAX_LOG_PROBS, MAX_PROMPTS, MAX_TOKENS, Name, TokenIds, decode

Off = Annotated[float, Meta(ge=0, le=0)]
"""The value that turns off an option which is not built."""


class Fields(Struct, kw_only=True):
    """Fields that OpenAI's bodies do not have, or have with other values."""

    model: Name | None = None
    prompt: Any = None
    n_predict: Annotated[int, Meta(ge=-1, le=MAX_TOKENS)] | None = None
    max_tokens: Annotated[int, Meta(ge=-1, le=MAX_TOKENS)] | None = None
    n_cmpl: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] | None = None
    n_probs: Annotated[int, Meta(ge=0, le=MAX_LOG_PROBS)] | None = None
    seed: Annotated[int, Meta(ge=-1, le=2**63 - 1)] | None = None
    repeat_penalty: Annotated[float, Meta(ge=0.01, le=100)] | None = None
    logit_bias: dict[str, float | bool] | list[tuple[int | str, float | bool]] | None = None
    grammar: Annotated[str, Meta(max_length=MAX_GRAMMAR)] | None = None
    json_schema: dict[str, Any] | None = None
    response_fields: Annotated[list[Name], Meta(max_length=64)] | None = None
    return_tokens: bool | None = None
    timings_per_token: bool | None = None
    verbose: bool | None = None
    # Accepted without effect: requests run together as memory allows, and prefixes are shared.
    id_slot: int | None = None
    cache_prompt: bool | None = None
    n_keep: int | None = None
    # Not built: accepted with the values that turn them off.
    post_sampling_probs: bool | None = None
    return_progress: bool | None = None
    lora: list[Any] | None = None
    multimodal_data: None = None
    dynatemp_range: Off | None = None
    xtc_probability: Off | None = None
    dry_multiplier: Off | None = None
    mirostat: Off | None = None
    n_indent: Off | None = None
    repeat_last_n: Literal[-1] | None = None
    min_keep: Annotated[int, Meta(ge=0, le=1)] | None = None


NOT_BUILT = {
    "post_sampling_probs": "n_probs are those of the model, before penalties and samplers; leave it out",
    "return_progress": "the progress of a prompt is not reported; leave it out",
    "lora": "adapters are models of their own; name one as the model",
}
NAMES = {"n_predict": "max_tokens", "n_cmpl": "n", "repeat_penalty": "repetition_penalty"}
"""OpenAI's names, and ours, of fields that mean the same."""

MAX_RULES = 1000
"""Most rules and most lines of a grammar in GBNF."""

_Body = TypeVar("_Body")


def read(body: bytes) -> tuple[Fields, dict[str, Any]]:
    """Return the fields of llama-server, and the whole body.

    Errors   msgspec.MsgspecError for a body that is no JSON object or has wrong fields; ApiError for one that is not supported.
    """
    fields, values = decode(Fields, body), decode(dict[str, Any], body)
    for name, reason in NOT_BUILT.items():
        if getattr(fields, name):
            raise not_built(name, reason)
    return fields, values


def translate(fields: Fields, values: Mapping[str, Any], served: ServedModel, kind: type[_Body]) -> _Body:
    """Return the body of OpenAI's kind.

    Errors   msgspec.ValidationError or ApiError for a wrong field.
    """
    own = set(Fields.__struct_fields__) - {"model"}
    body = {name: value for name, value in values.items() if name not in own}
    for name in ("max_tokens", *NAMES):
        value = getattr(fields, name)
        if value is not None and value != -1:
            body[NAMES.get(name, name)] = value
    if fields.seed is not None and fields.seed >= 0:
        body["seed"] = fields.seed
    if fields.logit_bias:
        body["logit_bias"] = _biases(fields, served)
    if fields.grammar:
        body["grammar"] = lark_grammar(fields.grammar)
    if (schema := _schema(fields, body.get("response_format"))) is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return msgspec.convert(body, kind)


def lark_grammar(grammar: str) -> str:
    """Return a GBNF grammar in Lark's syntax.

    Errors   ApiError for an invalid one.
    """
    from llguidance.gbnf_to_lark import any_to_lark

    # The conversion takes time quadratic in the number of rules, and of lines.
    if (number := max(grammar.count("::="), grammar.count("\n"))) > MAX_RULES:
        raise invalid(f"got grammar of {number:,} rules or lines, expected at most {MAX_RULES:,}", "grammar")
    check_pattern("grammar", grammar)

    try:
        return any_to_lark(grammar)
    except Exception as error:  # llguidance raises Exception itself, too
        raise invalid(f"got grammar with an error: {error!s:.300}, expected one in GBNF", "grammar") from None


def _schema(fields: Fields, given: object) -> dict[str, Any] | None:
    """Return the JSON Schema of a request: json_schema, or that of a response_format json_object."""
    if fields.json_schema is not None:
        return fields.json_schema
    if not isinstance(given, dict) or given.get("type") != "json_object" or "schema" not in given:
        return None
    if not isinstance(given["schema"], dict):
        raise invalid("got a schema of another type, expected an object", "response_format.schema")
    schema: dict[str, Any] = given["schema"]
    return schema


def _biases(fields: Fields, served: ServedModel) -> dict[str, float]:
    """Return biases by token id; those of a text are of all its tokens, and false forbids."""
    given = fields.logit_bias or {}
    found: dict[str, float] = {}
    for key, bias in given.items() if isinstance(given, dict) else given:
        is_id = isinstance(key, int) or re.fullmatch("-?[0-9]{1,10}", key) is not None
        ids = [int(key)] if is_id else served.model.tokenizer.encode(str(key), add_special_tokens=False)
        value = -100.0 if bias is False else float(bias)
        if not math.isfinite(value):
            raise invalid("got logit_bias that is not finite, expected a number", "logit_bias")
        found.update((str(token_id), value) for token_id in ids)
    return found


def prompts_of(prompt: object, served: ServedModel) -> list[list[int]]:
    """Return the token ids of one prompt or several: a text, an object with prompt_string, token ids, or ids mixed with texts.

    Errors   ApiError for anything else, for no prompts and for too many.
    """
    if _is_single(prompt):
        return [_token_ids(prompt, served)]
    if not isinstance(prompt, list) or not 1 <= len(prompt) <= MAX_PROMPTS:
        raise invalid(f"got a wrong prompt, expected a text, token ids, or a list of 1 to {MAX_PROMPTS} of them", "prompt")
    return [_token_ids(each, served) for each in prompt]


class EmbeddingFields(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /embeddings."""

    input: Any = None
    content: Any = None
    model: Name | None = None


def texts_of(value: object, served: ServedModel) -> list[str]:
    """Return one text or several: those of `prompts_of`, and objects with a content of text parts.

    Errors   ApiError for anything else, for no texts and for too many.
    """
    if _is_single(value):
        return [_text(value, served)]
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_PROMPTS:
        raise invalid(f"got a wrong input, expected a text, token ids, or a list of 1 to {MAX_PROMPTS} of them", "input")
    return [_text(each, served) for each in value]


def _text(value: object, served: ServedModel) -> str:
    wrong = invalid("got a wrong input, expected a text, token ids, or an object with prompt_string or a content of text parts", "input")
    if isinstance(value, dict) and "content" in value:
        parts = value["content"]
        if not isinstance(parts, list) or any(not isinstance(part, dict) or part.get("type") != "text" for part in parts):
            raise wrong
        value = "".join(str(part.get("text", "")) for part in parts)
    elif isinstance(value, dict):
        value = value.get("prompt_string")
    if isinstance(value, str):
        return value
    vocab_size = served.model.config.vocab_size
    if not isinstance(value, list) or not value:
        raise wrong
    if any(not isinstance(each, str) and not (isinstance(each, int) and 0 <= each < vocab_size) for each in value):
        raise wrong
    return "".join(each if isinstance(each, str) else served.model.tokenizer.decode([each], skip_special_tokens=True) for each in value)


def _is_single(prompt: object) -> bool:
    """Return True for one prompt: a list of texts is several, one that has ids and texts is one."""
    return isinstance(prompt, str | dict) or (isinstance(prompt, list) and any(isinstance(each, int) for each in prompt))


def _token_ids(prompt: object, served: ServedModel) -> list[int]:
    if isinstance(prompt, dict):
        if prompt.get("multimodal_data"):
            raise not_built("multimodal_data", "no model here reads images or sound")
        prompt = prompt.get("prompt_string")
    if isinstance(prompt, str):
        return served.encode(prompt)
    parts = prompt if isinstance(prompt, list) else []
    ids: list[int] = []
    for number, part in enumerate(parts):
        ids += served.model.tokenizer.encode(part, add_special_tokens=number == 0) if isinstance(part, str) else [part]
    try:
        return msgspec.convert(ids, TokenIds)
    except msgspec.ValidationError:
        raise invalid("got a wrong prompt, expected a text, an object with prompt_string, or token ids", "prompt") from None
