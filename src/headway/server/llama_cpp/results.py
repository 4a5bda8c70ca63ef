"""Objects of llama-server's responses."""

from __future__ import annotations

from collections.abc import Sequence

from headway.engine import Request
from headway.language_model import Chunk
from headway.server.generation import Generation
from headway.server.log_probs import token_entry
from headway.server.served_model import ServedModel

STOP_TYPES = {"length": "limit", "stop": "eos"}


def prompt_text(served: ServedModel, request: Request) -> str:
    """Return a prompt as the model reads it, with its special tokens."""
    return b"".join(map(served.token_bytes, request.token_ids)).decode(errors="replace")


def settings(served: ServedModel, request: Request) -> dict[str, object]:
    """Return the options of a request, with their values in effect."""
    options = request.options
    ends = dict.fromkeys((*served.model.end_token_ids, *served.model.tokenizer.eos_token_ids)) if options.ignore_end else {}
    biases = [{"token": token_id, "bias": bias} for token_id, bias in (options.logit_bias or {}).items()]
    limit = options.max_new_tokens or -1
    return {
        "n_predict": limit,
        "max_tokens": limit,
        "seed": options.seed,
        "temperature": options.temperature,
        "top_k": options.top_k or 0,
        "top_p": 1.0 if options.top_p is None else options.top_p,
        "min_p": options.min_p or 0.0,
        "typical_p": 1.0 if options.typical_p is None else options.typical_p,
        "repeat_penalty": 1.0 if options.repetition_penalty is None else options.repetition_penalty,
        "repeat_last_n": -1,
        "presence_penalty": options.presence_penalty or 0.0,
        "frequency_penalty": options.frequency_penalty or 0.0,
        "stop": list(options.stop_strings),
        "ignore_eos": options.ignore_end,
        "logit_bias": [*biases, *({"token": token_id, "bias": None} for token_id in ends)],
        "n_probs": options.num_log_probs or 0,
        "samplers": ["penalties", "temperature", "top_k", "top_p", "min_p", "typ_p"],
        # The values that turn off what is not built.
        **{"mirostat": 0, "dynatemp_range": 0.0, "xtc_probability": 0.0, "dry_multiplier": 0.0},
        **{"adaptive_target": -1.0, "adaptive_decay": 0.0},
    }


def timings(generation: Generation, number: int, num_new: int) -> dict[str, object]:
    """Return the number of tokens of a choice, and times in milliseconds. The first token belongs to the prompt.

    number   of the prompt
    """
    times, request = generation.times, generation.requests[number]
    num_cached = generation.num_cached[number]
    prompt_n = len(request.token_ids) - num_cached
    prompt_ms = max(1e3 * (times.first - times.arrived), 0.0)
    steps = max(num_new - 1, 0)
    # All tokens may be delivered at once; a rate is finite all the same.
    predicted_ms = max(1e3 * (times.last - times.first), 1e-3 if steps else 0.0)
    return {
        "cache_n": num_cached,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / prompt_n if prompt_n else 0.0,
        "prompt_per_second": 1e3 * prompt_n / prompt_ms if prompt_ms else 0.0,
        "predicted_n": num_new,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / steps if steps else 0.0,
        "predicted_per_second": 1e3 * steps / predicted_ms if predicted_ms else 0.0,
    }


def probabilities(served: ServedModel, chunks: Sequence[Chunk]) -> list[dict[str, object]]:
    """Return the log-probabilities of tokens, with their ids."""
    return [
        {
            "id": chunk.token_id,
            **token_entry(served, chunk.token_id, chunk.log_prob),
            "top_logprobs": [{"id": token_id, **token_entry(served, token_id, each)} for token_id, each in chunk.top_log_probs.items()],
        }
        for chunk in chunks
        if chunk.token_id is not None and chunk.log_prob is not None
    ]


def result(
    served: ServedModel, generation: Generation, choice: int, chunks: Sequence[Chunk], *, has_tokens: bool = False
) -> dict[str, object]:
    """Return the end of a text with everything about it.

    has_tokens   True to list the token ids
    """
    number = choice // generation.num_choices
    request, reason = generation.requests[number], chunks[-1].finish_reason
    num_prompt, text = len(request.token_ids), "".join(chunk.text for chunk in chunks)
    stop = served.found_stop(chunks, request.options.stop_strings)
    is_full = reason == "length" and served.max_seq_len is not None and num_prompt + len(chunks) >= served.max_seq_len
    return {
        "index": choice,
        "content": text,
        "tokens": [chunk.token_id for chunk in chunks] if has_tokens else [],
        "id_slot": -1,
        "stop": True,
        "model": served.name,
        "tokens_predicted": len(chunks),
        "tokens_evaluated": num_prompt,
        "tokens_cached": num_prompt + len(chunks) - 1,
        "generation_settings": settings(served, request),
        "prompt": prompt_text(served, request),
        "has_new_line": "\n" in text,
        "truncated": is_full,
        "stop_type": "word" if stop else STOP_TYPES[reason or "stop"],
        "stopping_word": stop or "",
        "timings": timings(generation, number, len(chunks)),
    }
