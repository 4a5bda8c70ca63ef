"""Losses of a function that is given a model: the model returns the logits of the probe."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from headway.practice.diagnosis.classes.file_models import MODEL as OF_FILE
from headway.practice.diagnosis.classes.file_models import model_of_file
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.diagnosis.reading.trees import read_in
from headway.practice.recipes.toy_model import ToyModel

MODEL = r"(my_|lang(uage)?_)?(model|net|network|llm|lm|gpt|transformer)"
"""Pattern of the names of parameters for a model."""

PENALIZED = r"\b\w*(regulari[sz]|penalty|l[12])\w*\(\s*{model}\b|\b{model}(\[|\.(keys|values|items)\()"
"""Pattern of the source of a loss whose model is a dict of weights, which a penalty keeps small."""

LOGITS = "logits"

OF_SCORES = r"(?i)\A(?![\s\S]*(binary|sigmoid))[\s\S]*(softmax|cross_?entropy|log_?sum_?exp|(?<![a-z])xent)\w*\("
"""Pattern of the body of a loss whose model returns scores: another one's may return probabilities, or predict numbers."""


@dataclass(frozen=True)
class GivenModel(ToyModel):
    """A model that returns given logits of shape (..., positions, vocab_size), as many positions as it is given tokens."""

    given: Any = field(default=None, compare=False)

    def __call__(self, token_ids: Any, *rest: Any, **named: Any) -> Any:
        """Return the logits, in a pair if the caller unpacks two."""
        output = self.given[..., : token_ids.shape[-1], :]
        return (output, None) if self.form == "pair" else output

    forward = __call__


def with_model(subject: Subject, *, is_shifted: bool) -> Subject | None:
    """Return a loss as a function of logits in place of the model and its inputs; the subject itself if it takes no model.

    is_shifted   True for a loss that makes inputs and targets of the same tokens

    Returns None for a loss with a model of the other kind.
    """
    model = next((each.name for each in subject.parameters if re.fullmatch(MODEL, each.name.lower())), None)
    of_file = model_of_file(subject) if model is None and re.search(OF_SCORES, subject.code.partition(":\n")[2]) else None
    if of_file is not None:
        model, subject, calls, tokens = OF_FILE, of_file.subject, of_file.calls, of_file.tokens
    elif model is None or not inspect.isfunction(subject.value):
        return subject
    else:
        calls = [node for node in ast.walk(parsed(subject.own_source)) if isinstance(node, ast.Call) and _is_model(node.func, model)]
        tokens = [each for node in calls for each in node.args[:1]]
    if not calls and re.search(PENALIZED.format(model=model), subject.own_source):
        return subject
    names = [each.name for each in subject.parameters if each.name != model]
    read = read_in(*tokens) & set(names)
    if len(calls) != 1 or len(read) != 1:
        return None
    inputs, arrays = read.pop(), [name for name in names if re.search(TARGETS, name.lower())]
    if is_shifted == bool(arrays and arrays != [inputs]):
        return None
    form = "pair" if re.search(rf"\w+ *, *\w+ *= *{re.escape(ast.unparse(calls[0].func))}\(", subject.own_source) else "logits"
    return replace(subject, value=_with_logits(subject.value, model, inputs, form, keeps_inputs=is_shifted))


TARGETS = r"target|label|(^|_)y"
"""Pattern of the names of parameters for the tokens to predict."""


def _is_model(node: ast.expr, model: str) -> bool:
    return ast.unparse(node) in (model, f"{model}.forward")


def _with_logits(function: Callable[..., Any], model: str, inputs: str, form: str, *, keeps_inputs: bool) -> Callable[..., Any]:
    """Return a function of logits that calls a function with a model which returns them."""
    kept = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(function).parameters.values()
        if each.name != model and (keeps_inputs or each.name != inputs)
    ]

    def called(**given: Any) -> Any:
        axes = (None,) * (3 - given[LOGITS].ndim)  # a model takes a batch
        given = {name: value[axes] if getattr(value, "ndim", 0) and axes else value for name, value in given.items()}
        logits = given.pop(LOGITS)
        tokens = {} if keeps_inputs else {inputs: logits[..., 0] > 0}
        made = GivenModel(vocab_size=logits.shape[-1], form=form, given=logits)
        return function(**{model: made}, **tokens, **given)

    first = inspect.Parameter(LOGITS, inspect.Parameter.KEYWORD_ONLY)
    called.__signature__ = inspect.Signature([first, *kept])  # type: ignore[attr-defined]
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return called
