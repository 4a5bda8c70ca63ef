"""The last exercise: the learner's own functions run the embedded model, in a process of their own.

The child loads the learner's files in their order, each function wrapped so that its calls are counted, and answers what their `story` does.
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
from headway.practice.diagnosis.failure import explain
from headway.practice.diagnosis.files import load_module, read_source
from headway.practice.diagnosis.subject import subjects_of
from headway.practice.message import Message
from headway.practice.verdict import Cause, Verdict
from headway.practice.workbook.child import ask, function_of, in_library, serve, unreadable
from headway.practice.workbook.parts import PARTS, STORY, STORY_TITLE

TIMEOUT_SECONDS = {"jax": 400.0}
"""How long the whole story may take, by array library; 120 seconds for the others."""

JAX_LENGTHS = 64
"""JAX compiles anew for every shape, so there a text is filled up to a multiple of this, behind its end, where no token looks."""


@dataclass(frozen=True)
class EmbeddedModel:
    """A GPT-2, and what Headway itself writes with it.

    weights    as the part gpt2 takes them, NumPy arrays: wte, wpe, blocks, ln_f
    prompt     token ids
    expected   the prompt and the greedy tokens behind it
    decode     token ids to text
    """

    weights: Mapping[str, Any]
    num_heads: int
    context_size: int
    prompt: list[int]
    expected: list[int]
    decode: Callable[[list[int]], str]


def tell_story(folder: Path, array: str, model: EmbeddedModel) -> tuple[Verdict, str]:
    """What the learner's functions wrote, judged against Headway's own text; and the text, empty where there is none."""
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
        says = Message(f"it returned {token_ids[:5]} …, which are no token ids", f"它返回了 {token_ids[:5]} ……，不是词元 id")
        return _failed(Cause("no_token_ids", says, Message("return a list of token ids", "返回词元 id 的列表"), Message("", "")), line), ""
    if len(token_ids) == len(model.expected) - len(model.prompt):  # without the prompt, which is as right
        token_ids = [*model.prompt, *token_ids]
    text, notes = model.decode(token_ids), (_tally(answer["calls"]),)
    if token_ids == model.expected:
        return Verdict(STORY, STORY, line, "correct", notes=notes, title=STORY_TITLE), text
    return Verdict(STORY, STORY, line, "wrong", (_difference(token_ids, model),), notes, title=STORY_TITLE), text


def _difference(token_ids: list[int], model: EmbeddedModel) -> Cause:
    """The first token that is not Headway's."""
    number, pairs = len(model.expected), zip(token_ids, model.expected, strict=False)
    place = next((index for index, (mine, other) in enumerate(pairs) if mine != other), min(len(token_ids), number))
    theirs, ours = (repr(model.decode(ids[place : place + 1])) if place < len(ids) else "∅" for ids in (token_ids, model.expected))
    says = Message(
        f"token {place + 1} of {number} is {theirs}, where Headway writes {ours}; up to there the text is the same",
        f"第 {place + 1} 个词元（共 {number} 个）是 {theirs}，而 Headway 写的是 {ours}；在此之前完全相同",
    )
    fix = Message(
        "check all parts again: headway practice --no-watch; gelu must be the tanh form, which these weights were trained with",
        "再检查一遍所有部分：headway practice --no-watch；gelu 必须是 tanh 形式，权重是用它训练的",
    )
    return Cause("another_text", says, fix, Message("", ""))


def _tally(calls: Mapping[str, int]) -> Message:
    """How often each of the learner's functions ran, and which did not."""
    ran = ", ".join(f"{name} × {number}" for name, number in calls.items() if number)
    idle = ", ".join(name for name, number in calls.items() if not number)
    never = Message(f"; never: {idle}", f"；未被调用：{idle}") if idle else Message("", "")
    return Message("your functions ran: {ran}{never}", "你的函数运行了：{ran}{never}").format(ran=ran, never=never)


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
            says = Message(f"{path.name} defines no function {part.name}", f"{path.name} 中没有函数 {part.name}")
            return {"verdict": _failed(Cause("no_function", says, Message("define it", "请定义它"), Message("", ""))).to_dict()}
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
    """The innermost line of the learner's own files that an error passed through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    if not frames:
        return Message("call it as the file's first version has it", "请按文件最初的签名来写")
    file, line, text = Path(frames[-1].filename).name, frames[-1].lineno, frames[-1].line
    return Message(f"look at {file}, line {line}: `{text}`", f"请看 {file} 第 {line} 行：`{text}`")


def _counted(function: Callable[..., Any], name: str, calls: dict[str, int], *, is_padded: bool) -> Callable[..., Any]:
    if isinstance(function, type):  # a class is used as one
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
    """Whatever holds token ids, as a list; a batch of one is that one."""
    values = token_ids.tolist() if hasattr(token_ids, "tolist") else list(token_ids)
    if len(values) == 1 and (isinstance(values[0], list) or len(getattr(values[0], "shape", ())) > 0):
        return _listed(values[0])
    return [int(each) for each in values]


if __name__ == "__main__":
    serve(_answered)
