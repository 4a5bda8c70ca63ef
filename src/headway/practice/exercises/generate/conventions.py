"""Correct ways to write generate: the model it takes, what its model returns, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.generate.tiny_gpt import TINY_GPT
from headway.practice.recipes.encoding import changed, without
from headway.practice.recipes.toy_tokenizer import ToyTokenizer
from headway.practice.texts import Texts

TEXTS = Texts("generate")


def _as_row(inputs: Inputs) -> Inputs:
    return inputs | {"prompt": inputs["prompt"][None]} if inputs["prompt"].ndim == 1 else inputs


def _of_row(answer: Any, inputs: Inputs) -> Any:
    is_row = inputs["prompt"].ndim == 1 and isinstance(answer, numpy.ndarray) and answer.ndim == 2 and len(answer) == 1
    return answer[0] if is_row else answer


def _model_returning(form: str) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {"model": inputs["model"].returning(form)}


def _with_prompt(answer: Any, inputs: Inputs) -> Any:
    prompt = inputs["prompt"]
    if answer is None or not isinstance(answer, numpy.ndarray) or answer.ndim != prompt.ndim:
        return answer
    return numpy.concatenate([prompt, answer.astype(prompt.dtype)], axis=-1)


def _counting_prompt(inputs: Inputs) -> Inputs:
    return inputs | {"max_new_tokens": inputs["max_new_tokens"] + inputs["prompt"].shape[-1]}


def _with_cache(inputs: Inputs) -> Inputs | None:
    """Return the inputs with a model that requires its cache; None for texts longer than the context, which do not fit in a cache."""
    model = inputs["model"]
    is_short = inputs["prompt"].shape[-1] + inputs["max_new_tokens"] <= model.context_size
    return inputs | {"model": model.needing_cache()} if is_short else None


def _newest(logits: Any, num_new: int) -> Any:
    """Return the logits of a model with a cache: those of the tokens it was just given."""
    return logits if num_new == 0 else logits[-1:]


def _as_params(inputs: Inputs) -> Inputs | None:
    is_short = inputs["prompt"].ndim == 1 and inputs["prompt"].size + inputs["max_new_tokens"] <= TINY_GPT.context_size
    if not is_short or "context_size" in inputs:
        return None
    rest = without(inputs, "model")
    return rest | {"params": TINY_GPT.params, "num_heads": TINY_GPT.num_heads}


def _as_text(inputs: Inputs) -> Inputs | None:
    prompt = inputs["prompt"]
    return inputs | {"prompt": LETTERS.decode(prompt), "tokenizer": LETTERS} if prompt.ndim == 1 else None


def _of_text(answer: Any, inputs: Inputs) -> Any:
    return numpy.array(LETTERS.encode(answer)) if isinstance(answer, str) else answer


def _of_steps(answer: Any, inputs: Inputs) -> Any:
    """Return the prompt and the tokens that a generator yields: a number, an array with one token per row, or a text at each step."""
    prompt = inputs["prompt"]
    if isinstance(answer, tuple) and all(isinstance(each, str) for each in answer):
        answer = numpy.array(LETTERS.encode("".join(answer)), prompt.dtype)
    if not isinstance(answer, numpy.ndarray):
        return answer
    rows = answer.reshape(-1, len(prompt) if prompt.ndim == 2 else 1).T
    return _with_prompt(rows if prompt.ndim == 2 else rows[0], inputs)


LETTERS = ToyTokenizer()
TEXT = (Convention(), Convention(encode=_as_text, decode=_of_text, role="tokenizer"))
PROMPTS = (
    Convention(decode=_of_row),
    Convention(encode=changed(prompt=lambda prompt: prompt.tolist())),
    Convention(encode=_as_row, decode=_of_row),
)
MODELS = (
    Convention(),
    Convention(encode=_as_params, steps={"model": lambda model: TINY_GPT}, role="params"),
    Convention(TEXTS["model_returns_pair"], _model_returning("pair"), role="model"),
    Convention(TEXTS["model_returns_object"], _model_returning("attribute"), role="model"),
    Convention(TEXTS["model_returns_last"], _model_returning("last"), role="model", named=r"next|last|scores"),
    Convention(encode=_model_returning("lists"), role="model"),
)
CACHES = (
    Convention(),
    Convention(TEXTS["uses_cache"], _with_cache, steps={"returned": _newest}, role="model", source=r"cache|past|kv|pos"),
)
RETURNED = (
    Convention(),
    Convention(TEXTS["new_tokens_only"], decode=_with_prompt),
    Convention(TEXTS["yields_tokens"], decode=_of_steps, source=r"\byield\b"),
)
ENDS = (
    Convention(),
    Convention(TEXTS["includes_stop_token"], steps={"end_is_kept": True}, role="eos"),  # type: ignore[dict-item]
)
COUNTS = (
    Convention(),
    Convention(
        TEXTS["length_includes_prompt"], _counting_prompt, role="max_new_tokens", named=r"max_?len|total|^length|max_tokens_total|seq_?len"
    ),
)
