"""Subjects that are right with correct parts in place of their own, and make parts that are wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from headway.practice.diagnosis.explain.failure import lacks_base_constructor
from headway.practice.diagnosis.nested import BECAUSE, CACHED, PARTIAL
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.exercises import exercise as by_name
from headway.practice.message import EMPTY, Message
from headway.practice.outputs import Raised
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

HARMLESS = (
    PARTIAL
    | CACHED
    | {
        *(
            "default_value",
            "mask_dropped",
            "masks_intersected",
            "mask_with_flag",
            "mask_of_axes_wrong",
            "operands_ignored",
            "not_repeatable",
            "dropout_in_eval",
            "changes_inputs",
        ),
        *("too_slow", "too_large", "not_confirmed", "gradient_raises"),
    }
)
"""Mistakes of a part that concern calls which the class around it may never make."""
NORMS = ("layer_norm", "rms_norm")
AROUND = (*NORMS, "residual")
"""Parts of a layer that have no convention which the layer would make good."""
CONSTRUCTORS = ("__init__", "setup")


def with_inherited(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on a file; what is right only with correct parts in place of wrong ones, which it always makes, is wrong because of them.

    A layer is so for mistakes that no convention excuses, and has a note on others. So is a stack or a model that is not understood, or could not run.
    """
    found = list(verdicts)
    for _ in found:  # a model may make a stack whose layers are wrong
        wrong = wrong_parts(found)
        again = [_inheriting(each, wrong) for each in found]
        if again == found:
            break
        found = again
    return found


def wrong_parts(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """Return the verdicts, by their subjects, whose mistakes are named with certainty, or repaired, and show in every call.

    What raises may be given other operands by the class around it, except a class that cannot be made at all.
    """
    certain = [each for each in verdicts if each.status == "wrong" and each.confidence == "certain" and (each.causes or _is_repaired(each))]
    return {
        each.subject: each
        for each in certain
        if not any(cause.name in HARMLESS or (cause.name.startswith("raises_") and not _cannot_be_made(each)) for cause in each.causes)
    }


RARE = ("large numbers", "small numbers", "equal numbers", "given eps", "half precision", "whole numbers", "zeros")
"""Ends of the names of the probes of a norm that the class around it need not meet."""


def _is_repaired(verdict: Verdict) -> bool:
    """Return True if a change makes a part right that is wrong not only in rare calls: most outputs are, or one of a norm with usual numbers."""
    trial = verdict.trial
    if verdict.repair is None or trial is None:
        return False
    usual = [(each, answer) for each, answer in zip(trial.probes, trial.answers, strict=True) if not each.name.endswith(RARE)]
    is_norm = verdict.exercise in NORMS and not all(trial.is_same(*each) for each in usual)
    return is_norm or 2 * trial.num_matching() < len(trial.probes)


def _cannot_be_made(verdict: Verdict) -> bool:
    """Return True for a module that assigns its layers without the constructor of its base class."""
    answers = () if verdict.trial is None else verdict.trial.answers
    return any(isinstance(each, Raised) and lacks_base_constructor(each.error) for each in answers)


def inherited_cause(subject: Subject, wrong: Mapping[str, Verdict]) -> Cause | None:
    """Return the cause for a subject that makes a wrong part, also in a class that it makes, or None."""
    found = definitions(parsed(subject.text))
    made = [subject.name]
    for name in made:  # which grows
        if name in wrong and name != subject.name:
            return _cause(wrong[name], TEXTS["makes_wrong"])
        made += [each for each in _made_in(found.get(name)) if each in found and each not in made]
    return None


def _inheriting(verdict: Verdict, wrong: Mapping[str, Verdict]) -> Verdict:
    is_open = verdict.status == "could not run" and not any(cause.name == "unfinished" for cause in verdict.causes)
    if verdict.trial is None or not (verdict.is_correct or is_open):
        return verdict
    subject, calls, is_wired = verdict.trial.call.subject, by_name(verdict.exercise).calls, verdict.trial.call.is_wired
    is_layer = verdict.is_correct and is_wired and calls in ("layer", "block")
    if verdict.is_correct and "attention" in verdict.exercise:
        return _rotating(verdict, subject, wrong)
    if calls not in ("stack", "model") and not is_layer:
        return verdict
    given = _given_to(subject) if verdict.exercise == "encoder_decoder" else ()
    for name in dict.fromkeys((*_made_by(subject), *given)):
        part = wrong.get(name) if name != subject.name else None
        if part is not None and (not is_layer or part.exercise in AROUND or _is_of_text(part) or _is_linear(part)):
            cause = _cause(part, None if verdict.is_correct else TEXTS["makes_wrong"])
            return replace(verdict, status="wrong", causes=(cause,), notes=(), difference=None)
        if part is not None:  # its outputs may follow a convention that the layer needs, in which it was not called
            return replace(verdict, notes=tuple(dict.fromkeys((*verdict.notes, TEXTS["makes_wrong"].format(name=name)))))
    return verdict


def _rotating(verdict: Verdict, subject: Subject, wrong: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict on an attention, as wrong if it makes wrong rotary positions: heads of two coordinates hide which ones turn together."""
    parts = [wrong[name] for name in _made_by(subject) if name in wrong and wrong[name].exercise == "rotary"]
    return (
        replace(verdict, status="wrong", causes=(_cause(parts[0], TEXTS["makes_wrong"]),), notes=(), difference=None) if parts else verdict
    )


def _cause(part: Verdict, says: Message | None = None) -> Cause:
    """Return the cause of what makes a wrong part: the part that this one is wrong because of, if it is not wrong by itself.

    says   sentence with the part's {name}, in place of "wrong only because"
    """
    first = next(iter(part.causes), None)
    if first is not None and first.name.startswith(BECAUSE) and says is None:
        return replace(first, proof=EMPTY)
    name = part.subject
    fix = TEXTS["correct_callees"].format(names=name) if says is None else TEXTS["correct_part"].format(name=name)
    sentence = TEXTS["wrong_because_of_one"].format(names=name) if says is None else says.format(name=name)
    return Cause(BECAUSE + name, sentence, fix, EMPTY, line=part.line)


OF_TEXT = {"argument_misplaced", "value_unused", "layers_shared", "layers_unused", "layer_made_in_call", "result_dropped"}
"""Mistakes of a part that its text shows, under any convention of its operands."""


def _is_linear(part: Verdict) -> bool:
    """Return True for a feed-forward without an activation, and without a parameter that a layer gives one to."""
    causes = {cause.name for cause in part.causes}
    parameters = () if part.trial is None else part.trial.call.subject.parameters
    return "activation_missing" in causes and not any(ACTIVATION.search(each.name) for each in parameters)


ACTIVATION = re.compile(r"act|nonlin|_fn|func|gate|inner|layer")
"""Pattern of the names of parameters that an activation may be given to."""


def _is_of_text(part: Verdict) -> bool:
    return any(cause.name in OF_TEXT for cause in part.causes)


def _made_by(subject: Subject) -> Iterator[str]:
    """Yield the names of the classes that a class's constructor makes whatever its arguments are."""
    return _made_in(definitions(parsed(subject.text)).get(subject.name))


def _made_in(tree: ast.AST | None) -> Iterator[str]:
    """Yield the names of the classes that the constructor in a definition makes whatever its arguments are; none for no class."""
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for function in body:
        if isinstance(function, ast.FunctionDef) and function.name in CONSTRUCTORS:
            for node in _always(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    yield node.func.id


def _given_to(subject: Subject) -> Iterator[str]:
    """Yield the names of the classes whose instances a function of the file passes to a class, where the file makes it only once."""
    module = parsed(subject.text)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    made = [node for node in ast.walk(module) if isinstance(node, ast.Call) and _name(node.func) == subject.name]
    function = next((each for each in functions if made and made[0] in _always(each)), None)
    if len(made) != 1 or function is None:
        return
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                values.setdefault(_name(target), []).append(node.value)
    for argument in (*made[0].args, *(each.value for each in made[0].keywords)):
        meant = values.get(argument.id, []) if isinstance(argument, ast.Name) else [argument]
        if len(meant) == 1 and isinstance(meant[0], ast.Call):
            yield _name(meant[0].func)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _always(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one that no condition excludes."""
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, ast.If | ast.IfExp | ast.BoolOp | ast.Try | ast.Match | ast.Lambda | ast.FunctionDef):
            yield each
            yield from _always(each)
