"""Greedy generation: compute the logits, append the most likely next token, and repeat."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from headway.arrays import array_namespace, asarray_like, cast
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.recipes.encoding import changed, without
from headway.practice.recipes.tiny_gpt import TINY_GPT
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.recipes.toy_tokenizer import NO_TOKEN, ToyTokenizer, Vocabulary
from headway.practice.recipes.toy_translator import SOURCE, ToyTranslator
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("generate")
ROLES = Roles("generate")


MISTAKES = (
    TEXTS.mistake("logits_of_first_position", at=lambda logits: logits[0]),
    TEXTS.mistake("logits_of_last_but_one", at=lambda logits: logits[-2] if len(logits) > 1 else logits[-1]),
    TEXTS.mistake("mean_of_all_positions", at=lambda logits: logits.mean(0)),
    TEXTS.mistake("argmax_over_all_positions", choose=lambda logits, scores: logits.argmax()),
    TEXTS.mistake("argmax_over_positions", choose=lambda logits, scores: logits.argmax(0)[-1]),
    TEXTS.mistake("least_likely_taken", choose=lambda logits, scores: scores.argmin()),
    TEXTS.mistake("context_not_cropped", window=unchanged, is_for_given_context=lambda: True),
    TEXTS.mistake("first_tokens_kept", window=lambda ids, context_size, prompt: ids[:context_size]),
    TEXTS.mistake("window_one_too_short", window=lambda ids, context_size, prompt: ids[-(context_size - 1) :]),
    TEXTS.mistake("cropped_tokens_lost", append=lambda ids, token, context_size: [*ids[-context_size:], token]),
    TEXTS.mistake("only_last_token_given", window=lambda ids, context_size, prompt: ids[-1:]),
    TEXTS.mistake(
        "cache_not_passed", window=lambda ids, context_size, prompt: ids[-context_size:] if len(ids) == len(prompt) else ids[-1:]
    ),
    TEXTS.mistake(
        "cache_of_prompt_kept",
        window=lambda ids, context_size, prompt: ids[-context_size:] if len(ids) == len(prompt) else [*prompt, ids[-1]][-context_size:],
    ),
    TEXTS.mistake(
        "whole_text_beside_cache",
        window=lambda ids, context_size, prompt: [token for end in range(len(prompt), len(ids) + 1) for token in ids[:end]],
    ),
    TEXTS.mistake("end_of_prompt_given_twice", window=lambda ids, context_size, prompt: [*prompt, *ids[len(prompt) - 1 :]]),
    TEXTS.mistake("only_prompt_given", window=lambda ids, context_size, prompt: prompt[-context_size:]),
    TEXTS.mistake("token_not_appended", append=unchanged),
    TEXTS.mistake("token_put_in_front", append=lambda ids, token, context_size: [token, *ids]),
    TEXTS.mistake("last_token_overwritten", append=lambda ids, token, context_size: [*ids[:-1], token]),
    TEXTS.mistake("one_too_many", count=lambda max_new_tokens, prompt_len: max_new_tokens + 1),
    TEXTS.mistake("one_too_few", count=lambda max_new_tokens, prompt_len: max_new_tokens - 1),
    TEXTS.mistake("prompt_counted", count=lambda max_new_tokens, prompt_len: max(max_new_tokens - prompt_len, 0)),
    TEXTS.mistake("stop_token_ignored", is_end=lambda token, eos, ids: False),
    TEXTS.mistake("stop_token_of_prompt_counts", is_end=lambda token, eos, ids: eos is not None and (token == eos or eos in ids)),
    TEXTS.mistake(
        "first_row_for_all", batch=lambda rows: numpy.stack([numpy.concatenate([row[: len(row) - len(rows[0])], rows[0]]) for row in rows])
    ),
    TEXTS.mistake("prompt_twice", give=lambda ids, prompt: [*prompt, *ids]),
    TEXTS.mistake("last_token_only", give=lambda ids, prompt: ids[-1:]),
)


def _of_row(answer: Any, inputs: Inputs) -> Any:
    is_row = inputs["prompt"].ndim == 1 and isinstance(answer, numpy.ndarray) and answer.ndim == 2 and len(answer) == 1
    return answer[0] if is_row else answer


def _model_returning(form: str) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {"model": inputs["model"].returning(form)}


def _with_prompt(answer: Any, inputs: Inputs) -> Any:
    prompt, answer = inputs["prompt"], _of_row(answer, inputs)
    if not isinstance(answer, numpy.ndarray) or answer.ndim != prompt.ndim:
        return answer
    return numpy.concatenate([prompt, answer.astype(prompt.dtype)], axis=-1)


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


def _as_translation(inputs: Inputs) -> Inputs | None:
    """Return the inputs of a function that translates: a model with an encoder, a source, and the start token in place of a prompt."""
    prompt, model = inputs["prompt"], inputs["model"]
    if prompt.shape != (1,):
        return None
    translator = ToyTranslator(model.seed, model.vocab_size, model.context_size)
    source = {"src": SOURCE, "src_mask": numpy.ones((1, 1, SOURCE.shape[1]), bool), "start_token": int(prompt[0])}
    return without(inputs, "prompt") | {"model": translator} | source


def _as_translation_of_texts(inputs: Inputs) -> Inputs | None:
    """Return the inputs of a function that takes the start and stop tokens of its translation from a tokenizer."""
    translation = _as_translation(inputs)
    if translation is None:
        return None
    tokenizer = ToyTokenizer(start=translation["start_token"], end=inputs.get("eos", NO_TOKEN))
    return without(translation, "start_token", "eos") | {"tgt_tokenizer": tokenizer}


def _as_text(inputs: Inputs) -> Inputs | None:
    prompt = inputs["prompt"]
    return inputs | {"prompt": LETTERS.decode(prompt), "tokenizer": LETTERS} if prompt.ndim == 1 else None


def _as_text_with_end(inputs: Inputs) -> Inputs | None:
    """Return the inputs of a function of texts whose stop token is a text, too."""
    encoded = _as_text(inputs)
    return encoded if encoded is None or "eos" not in encoded else encoded | {"eos": LETTERS.decode([encoded["eos"]])}


def _as_text_alone(inputs: Inputs) -> Inputs | None:
    prompt = inputs["prompt"]
    return inputs | {"prompt": LETTERS.decode(prompt)} if prompt.ndim == 1 else None


def _as_words(inputs: Inputs) -> Inputs | None:
    prompt = inputs["prompt"]
    return inputs | {"prompt": " ".join(LETTERS.decode(prompt))} if prompt.ndim == 1 else None


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


def _ids_of(answer: Any, inputs: Inputs) -> Any:
    return numpy.array(LETTERS.encode(answer)) if isinstance(answer, str) else answer


def _is_fixed_end(end: int, token: int, eos: Any, ids: Any) -> bool:
    """Return True for the stop token that the code itself names."""
    return token == end


LOOKS_UP_END = r"(?i)(encode|get|_to_ids?)\((end|stop|eos|eot)\w*"
"""Pattern of the source of a function that looks up the id of a stop token: `tokenizer.token_to_id.get(end_token)`."""

TEXT = optional(
    Convention(encode=_as_text_with_end, decode=_ids_of, role="tokenizer", source=LOOKS_UP_END),
    Convention(encode=_as_text, decode=_ids_of, role="tokenizer"),
    *(Convention(encode=_as_text_alone, decode=_ids_of, role=role) for role in ("encode", "stoi")),
    Convention(encode=_as_words, decode=_ids_of, role="stoi", named=r"word|vocab"),
)
PROMPTS = (
    Convention(decode=_of_row),
    Convention(encode=changed(prompt=lambda prompt: prompt.tolist()), decode=_of_row),
    Convention(encode=lambda inputs: inputs | {"prompt": inputs["prompt"][None]} if inputs["prompt"].ndim == 1 else inputs, decode=_of_row),
)
MODELS = optional(
    Convention(encode=_as_params, steps={"model": lambda model: TINY_GPT}, role="params"),
    Convention(TEXTS["translates"], _as_translation, role="start_token"),
    *(
        Convention(TEXTS["translates"], _as_translation_of_texts, steps={"end_is_kept": kept}, role="tgt_tokenizer")
        for kept in (lambda: False, lambda: True)
    ),
    Convention(TEXTS["model_returns_pair"], _model_returning("pair"), role="model"),
    Convention(
        TEXTS["model_returns_triple"], _model_returning("triple"), role="model", source=r"\w+ *, *\w+ *, *\w+ *= *(self\.)?(?!range)\w+\("
    ),
    Convention(
        TEXTS["model_returns_flat"],
        _model_returning("flat pair"),
        role="model",
        source=r"\[ *-1 *(, *:)? *\]",
        file_source=r"(?m)^ {8}(\w*logits) = \1\.(view|reshape)\((-1,|.*\*)",
    ),
    Convention(TEXTS["model_returns_object"], _model_returning("attribute"), role="model"),
    Convention(TEXTS["model_returns_last"], _model_returning("last"), role="model", named=r"next|last|scores"),
    Convention(encode=_model_returning("lists"), role="model"),
)
MODULES = optional(Convention(TEXTS["takes_module"], encode=lambda inputs: inputs | {"params": {}}, role="params", source=r"\.apply\("))
CACHES = optional(Convention(TEXTS["uses_cache"], _with_cache, steps={"returned": _newest}, role="model", source=r"cache|past|kv|pos"))
RETURNED = optional(
    Convention(TEXTS["new_tokens_only"], decode=_with_prompt), Convention(TEXTS["yields_tokens"], decode=_of_steps, source=r"\byield\b")
)
ENDS = optional(
    Convention(TEXTS["includes_stop_token"], steps={"end_is_kept": lambda: True}, role="eos"),
    Convention(
        TEXTS["pads_after_stop_token"],
        lambda inputs: None if inputs.get("eos") in inputs["prompt"] else inputs,
        steps={"end_is_kept": lambda: True},
        role="eos",
        source=r"cumsum\((.|\n)*masked_fill\(",
    ),
)
"""The stop token may be included; what pads all that follows one may find it in the prompt, too."""
FIXED_ENDS = optional(
    *(
        Convention(
            TEXTS["fixed_stop_token"].format(token=str(token)),
            steps={"is_end": functools.partial(_is_fixed_end, token), "end_is_kept": kept},
            without="eos",
            source=rf"\bif [^\n]*== *{token} *\)?:[^\n]*\n\s*(break|return)\b",
            is_whole=True,
        )
        for token in range(ToyModel.vocab_size)
        for kept in (lambda: True, lambda: False)
    )
)
"""The code may name its stop token itself, as a number: `if next_token.item() == 2: break`."""
FULL_CONTEXTS = optional(
    Convention(
        TEXTS["stops_at_context"],
        steps={"is_full": lambda ids, context_size: len(ids) >= context_size},
        role="context_size",
        source=r"(?i)(>=?|min\()[^\n]*(context|ctx|window|block_?size|max_?(seq(uence)?)?_?(len|pos))",
    )
)
"""The text may end where the context is full, in place of a window over its last tokens."""
LONG_PROMPTS = optional(
    Convention(
        TEXTS["refuses_long_prompts"],
        lambda inputs: None if inputs["prompt"].shape[-1] > inputs.get("context_size", inputs["model"].context_size) else inputs,
        role="context_size",
        source=r"(?i)\bif [^\n]*> *(self\.)?\w*(context|ctx|window|block_?size|max_?(seq(uence)?)?_?(len|pos))\w* *:\s*raise\b",
    )
)
"""A prompt that is longer than the context may be refused."""
COUNTS = optional(
    Convention(
        TEXTS["length_includes_prompt"],
        lambda inputs: inputs | {"max_new_tokens": inputs["max_new_tokens"] + inputs["prompt"].shape[-1]},
        role="max_new_tokens",
        named=r"max(imum)?_?len|total|^length|max_tokens_total|seq_?len",
    )
)


def recipe(steps: Any, model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """The definition as named steps, per row: count, is_full, window, returned, at, choose, is_end, append, give.

    A mistake may be one only for a function that is given the context size (`is_for_given_context`).
    """
    model, is_told = steps.model(model), "context_size" in rest
    rows = [_completed(steps, model, row.tolist(), max_new_tokens, eos, is_told) for row in numpy.atleast_2d(prompt)]
    answer = steps.batch(rows)
    return answer[0] if numpy.ndim(prompt) == 1 else answer


def _completed(steps: Any, model: Any, prompt: list[int], max_new_tokens: int, eos: int | None, is_told: bool) -> numpy.ndarray:
    ids, window = list(prompt), steps.window if is_told or not steps.is_for_given_context() else STEPS["window"]
    for _ in range(steps.count(max_new_tokens, len(prompt))):
        if steps.is_full(ids, model.context_size):
            break
        logits = steps.returned(model.logits(numpy.array(window(ids, model.context_size, prompt))), len(ids) - len(prompt))
        token = int(steps.choose(logits, steps.at(logits)))
        is_end = steps.is_end(token, eos, ids)
        if is_end and not steps.end_is_kept():
            break
        ids = steps.append(ids, token, model.context_size)
        if is_end:
            break
    return numpy.array(steps.give(ids, prompt))


def definition(model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """Generate with an explicit loop over arrays."""
    xp = array_namespace(prompt)
    if prompt.ndim == 2:
        return xp.stack([definition(model, row, max_new_tokens, eos) for row in prompt])
    ids = prompt
    for _ in range(max_new_tokens):
        token = int(model(ids[-model.context_size :])[-1].argmax())
        if token == eos:
            break
        ids = xp.concat([ids, cast(asarray_like([token], ids), ids.dtype)])
    return ids


STEPS: dict[str, Step] = {
    "window": lambda ids, context_size, prompt: ids[-context_size:],
    "is_for_given_context": lambda: False,
    "is_full": lambda ids, context_size: False,
    "at": lambda logits: logits[-1],
    "choose": lambda logits, scores: scores.argmax(),
    "is_end": lambda token, eos, ids: eos is not None and token == eos,
    "end_is_kept": lambda: False,
    "append": lambda ids, token, context_size: [*ids, token],
    "batch": lambda rows: numpy.stack(rows) if len({len(row) for row in rows}) == 1 else rows,
}

BATCH = TEXTS["batch"]
CROPS_TEXT = r"\b(\w+) *= *\1\[(:|\.\.\.) *, *-\s*[\w.]+ *:\]"
"""Pattern of the source of a function that crops its text itself to the context, and loses what it cuts off."""


def probes() -> tuple[Probe, ...]:
    """A short text, one longer than the context, a prompt longer than it; stop tokens in the completion and the prompt; a batch."""
    model, other = ToyModel(3), ToyModel(8, context_size=4)
    short: Inputs = {"model": model, "prompt": numpy.array([1, 7, 3]), "max_new_tokens": 3}
    growing: Inputs = {"model": other, "prompt": numpy.array([2, 9]), "max_new_tokens": 7}
    long = {"model": other, "prompt": numpy.array([5, 0, 8, 8, 1, 6]), "max_new_tokens": 5}
    batch = {"model": model, "prompt": numpy.array([[4, 1, 10], [9, 2, 6]]), "max_new_tokens": 3}
    roomy: Inputs = {"model": ToyModel(5, context_size=32), "prompt": numpy.array([8, 2, 0]), "max_new_tokens": 4}
    end = int(definition(**growing)[4])
    short_end = int(definition(**short)[4])
    alone_end = int(definition(roomy["model"], numpy.array([4]), 3)[3])
    return (
        Probe("short", short),
        Probe("one token", short | {"max_new_tokens": 1, "prompt": numpy.array([6])}),
        Probe("one token, growing", short | {"max_new_tokens": 4, "prompt": numpy.array([2])}),
        Probe("longer than the context", growing | {"context_size": 4}),
        Probe("prompt longer than the context", long | {"context_size": 4}),
        Probe("longer than the model's context", growing, TEXTS["beyond_context"], meant_by=CROPS_TEXT),
        Probe("long context", roomy),
        Probe("one token, long context", roomy | {"prompt": numpy.array([4]), "max_new_tokens": 5}),
        Probe("long context, given", roomy | {"context_size": 32}),
        Probe("batch", batch, BATCH),
        Probe("stop token", growing | {"context_size": 4, "eos": end}),
        Probe("stop token, short", short | {"eos": short_end}),
        Probe("stop token, short, context given", short | {"context_size": 6, "eos": short_end}),
        Probe("one token, stop token", roomy | {"max_new_tokens": 5, "prompt": numpy.array([4]), "eos": alone_end}),
        Probe("stop token in the prompt", short | {"eos": 7}),
    )


EXERCISE = Exercise(
    name="generate",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("model", "tokenizer", "params"),
        ROLES("num_heads", neutral=2),
        *ROLES.each("prompt", "max_new_tokens"),
        ROLES.size("context_size", lambda inputs: inputs["model"].context_size if "model" in inputs else None),
        ROLES("eos"),
        ROLES("temperature", neutral=1.0),
        ROLES("top_k", neutral=lambda inputs: inputs["model"].vocab_size, off=ToyModel.vocab_size),
        ROLES("top_p", neutral=1.0, off=1.0),
        ROLES("dropped_share", neutral=0.0, off=0.0),
        ROLES("num_beams", neutral=1, off=1),
        ROLES("repetition_penalty", neutral=1.0, off=1.0),
        ROLES("no_repeat_ngram_size", neutral=0, off=0),
        ROLES("do_sample", neutral=False),
        ROLES("stops_at_end", neutral=True),
        ROLES("mode", neutral="greedy"),
        ROLES("use_cache", neutral=False),
        ROLES("rng", neutral=None),
        *ROLES.each("src", "src_mask", "start_token", "tgt_tokenizer"),
        ROLES("src_tokenizer", neutral=lambda inputs: LETTERS),
        ROLES("encode", neutral=lambda inputs: LETTERS.encode),
        ROLES("decode", neutral=lambda inputs: LETTERS.decode),
        ROLES("stoi", neutral=lambda inputs: Vocabulary(LETTERS)),
        ROLES("itos", neutral=lambda inputs: {token: letter for letter, token in LETTERS.inverse_vocab.items()}),
    ),
    may_write=True,
    probes=probes,
    mistakes=MISTAKES,
    conventions=(LONG_PROMPTS, COUNTS, CACHES, MODULES, MODELS, PROMPTS, RETURNED, ENDS, FIXED_ENDS, FULL_CONTEXTS, TEXT),
    drawing="likeliest",
    calls="generate",
    is_trained_through=False,
)
