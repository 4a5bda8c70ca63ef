"""Tokenizers that cut a text with a regular expression which matches not all of it: what is between two matches is lost without an error."""

from __future__ import annotations

import re
from collections.abc import Callable

from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.exercise import Probe
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

MATCHES = r"\b(findall|finditer)\("
"""Pattern of the line that takes the matches of a regular expression, and drops what is between them."""

PATTERN = r"(?i)^\s*(self\.)?\w*(pat|re|regex|rule|split)\w*( *:[^=\n]*)? *= *(re|regex)\.compile\(|^\s*\w*pat\w* *= *r?[\"']"
"""Pattern of the line with the regular expression itself."""

BETWEEN = (" ", "!")
"""Characters of which one at least is kept by a pattern that should lose nothing: of words alone the rest may be dropped."""

CHARACTERS = ("_", "7", "!", "-", "é", "中", "\n", "  ")
"""Characters of the kinds that a pattern may leave out."""

CORPUS = " ".join(f"x{each}y" for each in (*BETWEEN, *CHARACTERS)) * 2
MERGES = [(b"x", b"y")]
INPUTS = {
    "bpe_tokenizer": lambda text: {"corpus": CORPUS, "num_merges": 1, "text": text},
    "bpe_encode": lambda text: {"merges": MERGES, "text": text},
}


def lost_characters_cause(trial: Trial) -> Cause | None:
    """Return the cause for a tokenizer that loses characters of a kind which its regular expression leaves out; None for others."""
    subject = trial.call.subject
    given = INPUTS.get(trial.exercise.name)
    if given is None:
        return None
    if re.search(MATCHES, subject.used_source or subject.code) is None:
        return _decoding_cause(trial) if trial.exercise.name == "bpe_tokenizer" and trial.call.binding.takes("corpus") else None
    if trial.exercise.name == "bpe_tokenizer" and not trial.call.binding.takes("corpus"):
        given = INPUTS["bpe_encode"]

    def keeps(text: str, kept: str) -> bool:
        return _keeps(trial, given, text, kept)

    if not keeps("xy", "xy") or not any(keeps(f"x{each}y", f"x{each}y") for each in BETWEEN):
        return None
    keeps_spaces = keeps("x y", "x y")
    for each in CHARACTERS:
        if (keeps_spaces or each.strip()) and not keeps(f"x{each}y", f"x{each}y") and keeps(f"x{each}y", "xy"):
            line = subject.line_of(PATTERN) or _line_in_file(subject.file_source) or subject.line_of(MATCHES)
            return Cause(
                "characters_lost",
                TEXTS["characters_lost"].format(character=repr(each), text=repr(f"x{each}y")),
                TEXTS["match_every_character"],
                EMPTY,
                line=line,
            )
    return None


OF_BYTES = r"(?i)utf-?8|\.encode\(\)"
"""Pattern of the source of a tokenizer of bytes, in whose decoding no character is lost."""


def _decoding_cause(trial: Trial) -> Cause | None:
    """Return the cause for a tokenizer of bytes that keeps all of them in its tokens, and loses characters of several bytes when it decodes them."""
    mistake = next((each for each in trial.exercise.mistakes if each.name == "decoded_byte_by_byte"), None)
    if mistake is None or re.search(OF_BYTES, trial.call.subject.code) is None:
        return None
    given = INPUTS["bpe_tokenizer"]
    if not _keeps(trial, given, "xy", "xy") or not _keeps(trial, given, "xéy", "xy"):
        return None
    return Cause(mistake.name, mistake.says, mistake.fix, EMPTY, mistake.hides, line=trial.call.subject.line_of(r"\.decode\("))


def _keeps(trial: Trial, given: Callable[[str], dict[str, object]], text: str, kept: str) -> bool:
    """Return True if the tokens of a text are those of what is kept of it."""
    answer = output_of(trial.call, trial.conventions, given(text))
    if trial.exercise.name == "bpe_tokenizer":
        return isinstance(answer, tuple) and answer[-1:] == (kept,)
    return is_same(answer, trial.expected(Probe(f"kept of {kept}", given(kept))), precision(answer))


def _line_in_file(source: str) -> int | None:
    """Return the line of a file with a regular expression that has a name."""
    return next((number for number, text in enumerate(source.splitlines(), 1) if re.search(PATTERN, text)), None)
