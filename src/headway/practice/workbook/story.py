"""The last exercise: the learner's functions run the embedded model in a subprocess.

The subprocess loads the learner's files in order, counts the calls of each function, and returns the output of their `story`.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.arrays import array_library
from headway.errors import OptionError
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.files import load_module, read_source
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict
from headway.practice.workbook.child import ask, function_of, in_library, serve, unreadable
from headway.practice.workbook.parts import PARTS, STORY, STORY_TITLE

TEXTS = Texts("workbook")

TIMEOUT_SECONDS = {"jax": 400.0}
"""Time limit for the story by array library; 120 seconds for the others."""

JAX_LENGTHS = 64
"""JAX recompiles for every shape, so sequences are padded at the end to a multiple of this; causal attention ignores the padding."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A GPT-2, and the text that Headway generates with it.

    weights    NumPy arrays in the form that the part gpt2 takes: wte, wpe, blocks, ln_f
    prompt     token ids
    expected   the prompt followed by the greedy tokens
    decode     token ids → text
    """

    weights: Mapping[str, Any]
    num_heads: int
    context_size: int
    prompt: list[int]
    expected: list[int]
    decode: Callable[[list[int]], str]


def tell_story(folder: Path, array: str, model: EmbeddedModel) -> tuple[Verdict, str]:
    """Generate with the learner's functions; return the verdict and the text, which is empty if there is none."""
    question = {
        "array": array,
        "weights": model.weights,
        "num_heads": model.num_heads,
        "context_size": model.context_size,
        "prompt": model.prompt,
        "max_new_tokens": len(model.expected) - len(model.prompt),
    }
    answer = ask("headway.practice.workbook.story", folder, question, timeout_seconds=TIMEOUT_SECONDS.get(array, 120.0))
    if isinstance(answer, Cause):
        return _failed(answer), ""
    if "verdict" in answer:
        return Verdict.from_dict(answer["verdict"]), ""
    return _judged(answer, model)


def _judged(answer: Mapping[str, Any], model: EmbeddedModel) -> tuple[Verdict, str]:
    token_ids, line = answer["token_ids"], answer["line"]
    if not set(token_ids) <= set(range(len(model.weights["wte"]))) or not token_ids:
        says = TEXTS["not_token_ids"].format(got=token_ids[:5], vocab_size=len(model.weights["wte"]))
        return _failed(Cause("no_token_ids", says, TEXTS["return_ids"], EMPTY), line), ""
    if len(token_ids) == len(model.expected) - len(model.prompt):  # the output may omit the prompt
        token_ids = [*model.prompt, *token_ids]
    text, notes = model.decode(token_ids), (_tally(answer["calls"]),)
    if token_ids == model.expected:
        return Verdict(STORY, STORY, line, "correct", notes=notes, title=STORY_TITLE), text
    return Verdict(STORY, STORY, line, "wrong", (_difference(token_ids, model),), notes, title=STORY_TITLE), text


def _difference(token_ids: list[int], model: EmbeddedModel) -> Cause:
    """Return the cause for the first token that differs from Headway's."""
    number, pairs = len(model.expected), zip(token_ids, model.expected, strict=False)
    place = next((index for index, (mine, other) in enumerate(pairs) if mine != other), min(len(token_ids), number))
    theirs, ours = (repr(model.decode(ids[place : place + 1])) if place < len(ids) else "∅" for ids in (token_ids, model.expected))
    says = TEXTS["other_token"].format(place=place + 1, number=number, theirs=theirs, ours=ours)
    fix = TEXTS["check_again"]
    return Cause("another_text", says, fix, EMPTY)


def _tally(calls: Mapping[str, int]) -> Message:
    """Return a note with the number of calls of each function."""
    ran = ", ".join(f"{name} × {number}" for name, number in calls.items() if number)
    idle = ", ".join(name for name, number in calls.items() if not number)
    never = TEXTS["not_called"].format(idle=idle) if idle else EMPTY
    return TEXTS["calls"].format(ran=ran, never=never)


def _failed(cause: Cause, line: int = 1) -> Verdict:
    return Verdict(STORY, STORY, line, "could not run", (cause,), title=STORY_TITLE)


def _answered(folder: Path, question: Mapping[str, Any]) -> dict[str, Any]:
    array, calls, subject = question["array"], {}, None
    array_library(array)
    for part in PARTS:
        path = folder / f"{part.name}.py"
        try:
            text = read_source(path)
        except OptionError:
            return {"verdict": _failed(unreadable(path)).to_dict()}
        module = load_module(path, text)
        if isinstance(module, Verdict):
            return {"verdict": module.to_dict()}
        subject = function_of(part, subjects_of(module, text))
        if subject is None:
            says = TEXTS["file_defines_none"].format(file=path.name, name=part.name)
            return {"verdict": _failed(Cause("no_function", says, TEXTS["define_name"].format(name=part.name), EMPTY)).to_dict()}
        if part.is_exercise:
            calls[part.name] = 0
            setattr(module, subject.name, _counted(subject.value, part.name, calls, is_padded=array == "jax" and part.name == "gpt2"))
    assert subject is not None
    weights = in_library(question["weights"], array)
    try:
        token_ids = subject.value(
            list(question["prompt"]), weights, question["num_heads"], question["max_new_tokens"], question["context_size"]
        )
        return {"token_ids": _listed(token_ids), "calls": calls, "line": subject.line}
    except (Exception, SystemExit) as error:
        cause = replace(explain(error, subject), fix=_where(error, folder))
        return {"verdict": _failed(cause, subject.line).to_dict()}


def _where(error: BaseException, folder: Path) -> Message:
    """Point to the innermost line of the learner's files in an exception's traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    if not frames:
        return TEXTS["keep_signature_stub"]
    file, line, text = Path(frames[-1].filename).name, frames[-1].lineno, frames[-1].line
    return TEXTS["check_line"].format(file=file, line=line, text=text)


def _counted(function: Callable[..., Any], name: str, calls: dict[str, int], *, is_padded: bool) -> Callable[..., Any]:
    if isinstance(function, type):  # classes are called as they are
        return function

    @functools.wraps(function)
    def counting(*positional: Any, **named: Any) -> Any:
        calls[name] += 1
        if is_padded and positional and len(getattr(positional[0], "shape", ())) == 1:
            return _padded(function, *positional, **named)
        return function(*positional, **named)

    return counting


def _padded(function: Callable[..., Any], token_ids: Any, *rest: Any, **named: Any) -> Any:
    import jax.numpy as jnp

    length = len(token_ids)
    return function(jnp.pad(token_ids, (0, -length % JAX_LENGTHS)), *rest, **named)[:length]


def _listed(token_ids: Any) -> list[int]:
    """Convert token ids to a list; a batch of one becomes its single row."""
    values = token_ids.tolist() if hasattr(token_ids, "tolist") else list(token_ids)
    if len(values) == 1 and (isinstance(values[0], list) or len(getattr(values[0], "shape", ())) > 0):
        return _listed(values[0])
    return [int(each) for each in values]


if __name__ == "__main__":
    serve(_answered)
