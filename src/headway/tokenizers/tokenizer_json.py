"""Read a tokenizer.json, after a check of what makes the tokenizers library abort or use unlimited memory."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

import tokenizers

from headway.errors import TokenizerError
from headway.json_files import parse_json_object, short_repr
from headway.tokenizers.reading import JsonObject, read_text
from headway.tokenizers.sentencepiece_file import check_charsmap

PIPELINES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders", "post_processor": "processors"}
"""The keys with steps that transform text or ids, and the key under which a Sequence has its steps."""
MAX_STEPS = 100
MAX_GROWTH = 10_000
"""Largest factor by which the steps of one pipeline together may lengthen a text."""
MAX_PREPENDED = 1_000
MAX_AFFIX = 100
MAX_TEMPLATE_PARTS = 1_000
MAX_TEMPLATE_TEXTS = 16
HINT = "download the file again"


def read_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    """Load a tokenizer.json with the tokenizers library.

    Errors   TokenizerError for a file that is not JSON or lengthens text without reason; Exception and Rust panics for what the library
             itself rejects.
    """
    text = read_text(path)
    check_tokenizer_json(parse_json_object(text, str(path), TokenizerError), path)
    return tokenizers.Tokenizer.from_str(text)


def check_tokenizer_json(value: JsonObject, path: Path) -> None:
    """Raise TokenizerError for steps that lengthen a text too much: 40 that each replace "a" by "aa" give 2**40 characters.

    Tokens whose absence the library meets with a panic are checked too.
    """
    model = value.get("model")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        affix = model.get(key) if isinstance(model, Mapping) else None
        if isinstance(affix, str) and len(affix) > MAX_AFFIX:
            raise TokenizerError(f"got {path} with a {key} of {len(affix):,} characters, expected at most {MAX_AFFIX}")
    if isinstance(model, Mapping):
        _check_merges(model, path)
    for key, parts_key in PIPELINES.items():
        growth = 1.0
        steps = list(_steps(value.get(key), parts_key))
        if len(steps) > MAX_STEPS:
            raise TokenizerError(f"got {path} with {len(steps)} steps in its {key}, expected at most {MAX_STEPS}")
        for step in steps:
            growth *= _growth(step)
            if step.get("type") == "Precompiled":
                _check_precompiled(step, path)
            if step.get("type") == "TemplateProcessing":
                _check_template(step, path)
        if growth > MAX_GROWTH:
            raise TokenizerError(f"got {path}, whose {key} lengthens a text up to {growth:.0f} times, expected at most {MAX_GROWTH:,}")


def _check_merges(model: JsonObject, path: Path) -> None:
    """Raise TokenizerError for a merge whose second token is shorter than the prefix that the library cuts off."""
    prefix, merges = model.get("continuing_subword_prefix"), model.get("merges")
    if not isinstance(prefix, str) or not prefix or not isinstance(merges, list):
        return
    for merge in merges:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if isinstance(parts, list) and len(parts) == 2 and isinstance(parts[1], str) and len(parts[1]) < len(prefix):
            raise TokenizerError(
                f"got {path} with the merge {short_repr(merge)}, expected a second token with the continuing_subword_prefix {prefix!r}",
                hint=HINT,
            )


def _check_template(step: JsonObject, path: Path) -> None:
    """Raise TokenizerError for a template with a special token that has no ids."""
    known = step.get("special_tokens")
    for key in ("single", "pair"):
        parts = step.get(key)
        for part in parts if isinstance(parts, list) else []:
            special = part.get("SpecialToken") if isinstance(part, Mapping) else None
            name = special.get("id") if isinstance(special, Mapping) else None
            if isinstance(name, str) and isinstance(known, Mapping) and name not in known:
                raise TokenizerError(
                    f"got {path} with {short_repr(name)} in the {key} of its post_processor, expected one of its special_tokens", hint=HINT
                )


def _check_precompiled(step: JsonObject, path: Path) -> None:
    """Raise TokenizerError for a broken table of SentencePiece's normalizer, for which the library can abort the process."""
    text = step.get("precompiled_charsmap")
    try:
        check_charsmap(base64.b64decode(text, validate=True) if isinstance(text, str) else b"")
    except ValueError as error:
        raise TokenizerError(f"got {path}, {error}, expected a precompiled_charsmap", hint=HINT) from error


def _steps(value: object, parts_key: str) -> Iterator[JsonObject]:
    if isinstance(value, Mapping):
        parts = value.get(parts_key)
        if isinstance(parts, list):
            for part in parts:
                yield from _steps(part, parts_key)
        else:
            yield value


def _growth(step: JsonObject) -> float:
    """Return an upper bound of how many times longer a step makes a text; infinity for one that is never used in good faith."""
    match step.get("type"):
        case "Replace":
            content, pattern = step.get("content"), step.get("pattern")
            length = len(content) if isinstance(content, str) else 0
            old = pattern.get("String") if isinstance(pattern, Mapping) else None
            # A regular expression and an empty string can match between all characters.
            return max(1, length / len(old)) if isinstance(old, str) and old else 1 + length
        case "ByteLevel":
            # Each byte becomes a character of one or two bytes.
            return 2
        case "Precompiled":
            return 20
        case "Prepend":
            prepended = step.get("prepend")
            return 1 if not isinstance(prepended, str) or len(prepended) <= MAX_PREPENDED else float("inf")
        case "TemplateProcessing":
            return _template_growth(step)
    return 1


def _template_growth(step: JsonObject) -> float:
    special_tokens = step.get("special_tokens")
    num_ids = [
        len(token["ids"])
        for token in (special_tokens.values() if isinstance(special_tokens, Mapping) else [])
        if isinstance(token, Mapping) and isinstance(token.get("ids"), list)
    ]
    most_ids = max(num_ids, default=1)
    for key in ("single", "pair"):
        parts = step.get(key)
        parts = parts if isinstance(parts, list) else []
        num_texts = sum(isinstance(part, Mapping) and "Sequence" in part for part in parts)
        if num_texts > MAX_TEMPLATE_TEXTS or (len(parts) - num_texts) * most_ids > MAX_TEMPLATE_PARTS:
            return float("inf")
    return 1
