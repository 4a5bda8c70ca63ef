"""Common mistakes in generation."""

from __future__ import annotations

import numpy

from headway.practice.texts import Texts

TEXTS = Texts("generate")

LAST = r"-1|\[0\]|logits\["
CROP = r"\[.*:|context|block|crop|ctx"

MISTAKES = (
    TEXTS.mistake("logits_of_first_position", {"at": lambda logits: logits[0]}),
    TEXTS.mistake("logits_of_last_but_one", {"at": lambda logits: logits[-2] if len(logits) > 1 else logits[-1]}),
    TEXTS.mistake("mean_of_all_positions", {"at": lambda logits: logits.mean(0)}),
    TEXTS.mistake("argmax_over_all_positions", {"choose": lambda logits, scores: logits.argmax()}),
    TEXTS.mistake("argmax_over_positions", {"choose": lambda logits, scores: logits.argmax(0)[-1]}),
    TEXTS.mistake("least_likely_taken", {"choose": lambda logits, scores: scores.argmin()}),
    TEXTS.mistake(
        "context_not_cropped",
        {"window": lambda ids, context_size, prompt: ids, "is_for_given_context": True},  # type: ignore[dict-item]
    ),
    TEXTS.mistake("first_tokens_kept", {"window": lambda ids, context_size, prompt: ids[:context_size]}),
    TEXTS.mistake("window_one_too_short", {"window": lambda ids, context_size, prompt: ids[-(context_size - 1) :]}),
    TEXTS.mistake("cropped_tokens_lost", {"append": lambda ids, token, context_size: [*ids[-context_size:], token]}),
    TEXTS.mistake("only_last_token_given", {"window": lambda ids, context_size, prompt: ids[-1:]}),
    TEXTS.mistake(
        "cache_not_passed", {"window": lambda ids, context_size, prompt: ids[-context_size:] if len(ids) == len(prompt) else ids[-1:]}
    ),
    TEXTS.mistake(
        "whole_text_beside_cache",
        {"window": lambda ids, context_size, prompt: [token for end in range(len(prompt), len(ids) + 1) for token in ids[:end]]},
    ),
    TEXTS.mistake("end_of_prompt_given_twice", {"window": lambda ids, context_size, prompt: [*prompt, *ids[len(prompt) - 1 :]]}),
    TEXTS.mistake("only_prompt_given", {"window": lambda ids, context_size, prompt: prompt[-context_size:]}),
    TEXTS.mistake("token_not_appended", {"append": lambda ids, token, context_size: ids}),
    TEXTS.mistake("token_put_in_front", {"append": lambda ids, token, context_size: [token, *ids]}),
    TEXTS.mistake("last_token_overwritten", {"append": lambda ids, token, context_size: [*ids[:-1], token]}),
    TEXTS.mistake("one_too_many", {"count": lambda max_new_tokens, prompt_len: max_new_tokens + 1}),
    TEXTS.mistake("one_too_few", {"count": lambda max_new_tokens, prompt_len: max_new_tokens - 1}),
    TEXTS.mistake("prompt_counted", {"count": lambda max_new_tokens, prompt_len: max(max_new_tokens - prompt_len, 0)}),
    TEXTS.mistake("stop_token_ignored", {"is_end": lambda token, eos, ids: False}),
    TEXTS.mistake("stop_token_of_prompt_counts", {"is_end": lambda token, eos, ids: eos is not None and (token == eos or eos in ids)}),
    TEXTS.mistake(
        "first_row_for_all",
        {"batch": lambda rows: numpy.stack([numpy.concatenate([row[: len(row) - len(rows[0])], rows[0]]) for row in rows])},
    ),
    TEXTS.mistake("prompt_twice", {"give": lambda ids, prompt: [*prompt, *ids]}),
    TEXTS.mistake("last_token_only", {"give": lambda ids, prompt: ids[-1:]}),
)
