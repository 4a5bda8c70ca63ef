"""Decoding byte pairs: concatenate the bytes of all tokens, then decode them as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional
from headway.practice.recipes.byte_pairs import in_ids, to_alphabet, vocabulary
from headway.practice.recipes.encoding import without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("bpe_decode")
ROLES = Roles("bpe_decode")


def recipe(steps: Any, ids: Any, vocab: Any, **rest: Any) -> Any:
    """The definition as named steps: tokens, read."""
    return steps.read(steps.tokens([vocab[int(token_id)] for token_id in ids]))


def definition(ids: Any, vocab: Any, **rest: Any) -> Any:
    """Decode the bytes; invalid UTF-8 becomes U+FFFD."""
    joined = bytearray()
    for token_id in ids:
        joined += vocab[token_id]
    return joined.decode("utf-8", errors="replace")


def whole(tokens: Any) -> str:
    """Return all bytes together as text."""
    return b"".join(tokens).decode("utf-8", errors="replace")


def _each(errors: str, between: str = "") -> Step:
    return lambda tokens: between.join(token.decode("utf-8", errors=errors) for token in tokens)


STEPS: dict[str, Step] = {"read": whole}

MISTAKES = (
    TEXTS.mistake("each_token_read_alone", read=_each("replace")),
    TEXTS.mistake("each_token_read_alone_and_dropped", read=_each("ignore")),
    TEXTS.mistake("read_as_latin_1", read=lambda tokens: b"".join(tokens).decode("latin-1")),
    TEXTS.mistake("joined_with_spaces", read=lambda tokens: b" ".join(tokens).decode("utf-8", errors="replace")),
    TEXTS.mistake("bytes_returned", read=lambda tokens: b"".join(tokens)),
    TEXTS.mistake("invalid_bytes_dropped", read=lambda tokens: b"".join(tokens).decode("utf-8", errors="ignore")),
    TEXTS.mistake("backwards", tokens=lambda tokens: tokens[::-1]),
    TEXTS.mistake("repetitions_lost", tokens=lambda tokens: list(dict.fromkeys(tokens))),
    TEXTS.mistake("stripped", read=lambda tokens: whole(tokens).strip()),
)

MERGES = [
    (b"h", b"e"), (b"l", b"l"), (b"he", b"ll"), (b"hell", b"o"), (b" ", b"w"), (b"\xc3", b"\xa9"), (b"\xf0", b"\x9f"), (b" ", b"\xf0"), (b"\x82", b"!"),
]  # fmt: skip
VOCAB = vocabulary(MERGES)


def _as_merges(inputs: Inputs) -> Inputs:
    rest = without(inputs, "vocab")
    return rest | {"merges": in_ids(MERGES)}


def _in_texts(written: Callable[[bytes], str]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding with a vocabulary of text; None for tokens that are not ASCII, whose bytes may be incomplete characters."""

    def encode(inputs: Inputs) -> Inputs | None:
        if any(inputs["vocab"][number][-1] > 127 for number in inputs["ids"]):
            return None
        return inputs | {"vocab": {number: written(token) for number, token in inputs["vocab"].items()}}

    return encode


JOINS_TEXTS = r"[\"']{2}\s*\.join|=\s*[\"']{2}\n(.|\n)*\+="
OF_MARKED = "\u0120"
"""Patterns of the source of what joins texts, and of what reads the mark of GPT-2 in place of a space."""


VOCABS = optional(
    Convention(
        TEXTS["vocab_of_text"],
        encode=_in_texts(lambda token: token.decode("latin-1")),
        role="vocab",
        source=rf"\A(?!(.|\n)*{OF_MARKED})(.|\n)*({JOINS_TEXTS})",
    ),
    Convention(
        TEXTS["vocab_of_text"], encode=_in_texts(to_alphabet), role="vocab", source=rf"\A(?=(.|\n)*{OF_MARKED})(.|\n)*({JOINS_TEXTS})"
    ),
    Convention(encode=lambda inputs: inputs | {"vocab": [inputs["vocab"][number] for number in range(len(inputs["vocab"]))]}),
    Convention(encode=lambda inputs: inputs | {"vocab": {token: number for number, token in inputs["vocab"].items()}}),
    Convention(encode=_as_merges, role="merges"),
    Convention(encode=lambda inputs: _as_merges(inputs) | {"vocab": inputs["vocab"]}, role="merges"),
)


READS_ARRAY = r"\.(item|tolist|numpy|cpu|detach|flatten|squeeze)\(|:[ '\"]*(\w+\.)?(Long)?Tensor\b"
"""Pattern of the source of a function whose ids are an array."""

IDS = optional(
    Convention(encode=lambda inputs: inputs | {"ids": numpy.array(inputs["ids"], numpy.int64)}, role="ids", source=READS_ARRAY),
)


def probes() -> tuple[Probe, ...]:
    """Plain text, characters split between tokens, repetitions, no tokens, and invalid UTF-8."""
    return (
        Probe("plain", {"ids": [259, 260, 111, 114, 108, 100], "vocab": VOCAB}),
        Probe("characters split between tokens", {"ids": [195, 169, 261, 263, 0x9F, 0x99, 264], "vocab": VOCAB}),
        Probe("repeated", {"ids": [257, 97, 257, 97, 97], "vocab": VOCAB}),
        Probe("spaces", {"ids": [32, 259, 32], "vocab": VOCAB}),
        Probe("nothing", {"ids": [], "vocab": VOCAB}),
        Probe("invalid UTF-8", {"ids": [104, 0x99, 105, 195], "vocab": VOCAB}, TEXTS["invalid"]),
    )


EXERCISE = Exercise(
    name="bpe_decode",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("ids"), ROLES("vocab"), ROLES("merges"), Role("errors", (), neutral="replace")),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(VOCABS, IDS),
    is_trained_through=False,
)
