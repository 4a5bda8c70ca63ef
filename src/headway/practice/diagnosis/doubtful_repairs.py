"""Repairs that make a program right and prove no mistake: a variant that is not listed, or the way that it is called, may be the reason."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence

import numpy

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.own_tensors import OTHERS
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.explain.failure import line_in, own_frame
from headway.practice.diagnosis.reading.subject import parsed
from headway.practice.diagnosis.repair.left_out import leaves_out_parameters
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.exercise import MISSING
from headway.practice.outputs import Raised
from headway.practice.verdict import Edit, Repair


def proves_nothing(repair: Repair, trial: Trial, exercise_name: str) -> bool:
    """Return True for a repair that leaves out an option, learned parameters or a computation, or is right by the inputs or by coincidence."""
    return (
        _changes_option(repair, trial.call)
        or _rests_on_one_number(repair, trial)
        or _is_given_another_kind(trial)
        or _makes_function(trial.call)
        or ("mask" in exercise_name and _returns_operand(repair, trial.call))
        or leaves_out_parameters(repair, trial.call)
        or _replaces_guessed(repair, trial.call)
        or _leaves_out_field(repair, trial)
        or leaves_out_absent(repair, trial)
        or _replaces_layer(repair, trial.call)
        or _is_of_steps_taken(repair, trial.call)
    )


def _is_of_steps_taken(repair: Repair, call: Call) -> bool:
    """Return True for a change of what ends a descent early, `< epsilon`, or that takes one element of the record that it returns: `history[2]`."""
    return any(
        re.search(r"< *\w*(eps|tol)\w*\b", old)
        or (re.fullmatch(rf"{re.escape(old)}\[-?\d+\]", new) and re.fullmatch(r"\w*(hist|record|path|log)\w*", old))
        for old, new in _replacements(repair, call)
    )


def _attribute_errors(trial: Trial) -> list[AttributeError]:
    return [each.error for each in trial.answers if isinstance(each, Raised) and isinstance(each.error, AttributeError)]


def _replacements(repair: Repair, call: Call) -> list[tuple[str, str]]:
    """Return the text that each edit of a repair replaces, with what it puts in its place."""
    return [(replaced_text(call.subject.text, each), each.replacement) for each in repair.edits if each.cell is None]


def _before_and_after(repair: Repair, call: Call) -> tuple[str, str]:
    """Return the text that the edits of a repair replace, and what they put in its place."""
    replaced = [replaced_text(call.subject.text, each) for each in repair.edits if each.cell is None]
    return " ".join(replaced), " ".join(each.replacement for each in repair.edits)


def leaves_out_absent(repair: Repair, trial: Trial) -> bool:
    """Return True if a repair leaves out what reads an attribute of None that a config holds: a model of the file may set it, as `self.config.model.table`."""
    names = {each.name for each in _attribute_errors(trial) if each.obj is None and each.name}
    patterns = [rf"(?i)\b_?(config|cfg|conf|args|hparams)\.\w+\.{name}\b" for name in names]
    replaced, kept = _before_and_after(repair, trial.call)
    return any(re.search(pattern, replaced) and not re.search(pattern, kept) for pattern in patterns)


def _replaces_layer(repair: Repair, call: Call) -> bool:
    """Return True if a repair of a layer puts one of a library in place of one of the file that takes more arguments: its sizes say that it is another part."""
    if not isinstance(call, InstanceCall):
        return False
    return any(puts_other_layer(old, new, call.subject.module) for old, new in _replacements(repair, call))


def puts_other_layer(old: str, new: str, module: object) -> bool:
    """Return True if a statement makes a layer of a file, and the one in its place another of a library, with fewer arguments."""
    before, after = (re.fullmatch(MAKING, text.strip()) for text in (old, new))
    if before is None or after is None or before["place"] != after["place"] or "." not in after["kind"]:
        return False
    is_own = inspect.isclass(getattr(module, before["kind"], None))
    return is_own and before["given"].count(",") > after["given"].count(",")


MAKING = r"(?P<place>self\.\w+) *= *(?P<kind>[\w.]+)\((?P<given>.*)\)"
"""Pattern of a statement that makes a layer of a class."""


def _leaves_out_field(repair: Repair, trial: Trial) -> bool:
    """Return True if a repair leaves out what reads a field that a class of another file of the author lacks, or a model given in place of the author's.

    The mistake may be in the class; the author's model may have the field.
    """
    subject = trial.call.subject
    errors = _attribute_errors(trial)
    owners = [each.obj for each in errors if inspect.isclass(each.obj) and each.obj.__module__.partition(".")[0] not in OTHERS]
    patterns = [rf"\b{each.__name__}\." for each in owners if each.__module__ != subject.value.__module__]
    patterns += [rf"\.{each.name}\b" for each in errors if type(each.obj).__module__.startswith(STAND_INS)]
    replaced, kept = _before_and_after(repair, trial.call)
    return any(len(re.findall(pattern, replaced)) > len(re.findall(pattern, kept)) for pattern in patterns)


STAND_INS = "headway.practice.recipes."
"""Start of the names of the modules of models and tokenizers that a function is given in place of its author's."""


def _makes_function(call: Call) -> bool:
    """Return True for a function whose only output is a function that it defines: what that one takes is not known."""
    if not inspect.isfunction(call.subject.value):
        return False
    made = set(re.findall(r"(?m)^[ \t]+def (\w+)\(", call.subject.own_source))
    returned = re.findall(r"(?m)^[ \t]*return\b *(.*)$", call.subject.own_source)
    return bool(returned) and returned[-1] in made


def _replaces_guessed(repair: Repair, call: Call) -> bool:
    """Return True if a repair puts something else in place of an operand that a part can do without, and that only its place was taken to mean."""
    guessed = [name for name, role in call.binding.role_of.items() if role.neutral is not MISSING and not fits_name(name, role)]
    edits = [
        [re.findall(IDENTIFIER, text) for text in (replaced_text(call.subject.text, each), each.replacement)]
        for each in repair.edits
        if each.cell is None
    ]
    return any(_is_moved(name, *names) for name in guessed for names in edits)


IDENTIFIER = r"(?<![\w.])[A-Za-z_]\w*"


def _is_moved(name: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Return True if a name occurs fewer or more times among names than before, or elsewhere among as many."""
    is_exchanged = len(before) == len(after) and any((name == old) != (name == new) for old, new in zip(before, after, strict=True))
    return name in before and (before.count(name) != after.count(name) or is_exchanged)


def _changes_option(repair: Repair, call: Call) -> bool:
    """Return True if a repair only leaves out an option of a function's own, `normalize=True`, or takes its other branch: without it, it may be right."""
    if not inspect.isfunction(call.subject.value):
        return False
    options = {each.name for each in call.subject.parameters if isinstance(each.default, bool) and each.name not in call.binding.role_of}
    branches = [node for node in ast.walk(parsed(call.subject.text)) if isinstance(node, ast.If) and _flag_of(node.test) in options]
    return bool(branches) and all(any(_leaves_branch(edit, branch) for branch in branches) for edit in repair.edits)


def _flag_of(test: ast.expr) -> str | None:
    """Return the name of the flag that a condition is, or that it negates."""
    named = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return named.id if isinstance(named, ast.Name) else None


def _leaves_branch(edit: Edit, branch: ast.If) -> bool:
    """Return True for an edit that removes a branch or a part of it, or negates its condition."""
    if edit.cell is not None or not branch.lineno <= edit.line <= (branch.end_lineno or 0):
        return False
    flag = _flag_of(branch.test)
    return re.match(rf"(pass)?$|(if )?(not )?{flag} *(:|$)", edit.replacement.strip()) is not None


OTHER_KIND = (
    r"'(int|float)' object is not (subscriptable|iterable)|cannot unpack non-iterable (int|float)|object of type '(int|float)' has no len"
    r"|must be Tensor, not function|unsupported operand type\(s\) .*'function'|'function' object has no attribute"
)
"""Pattern of the message of an exception because of a number where a shape is read, or of a function where an array is."""


OF_KIND = (
    r"'(Tensor|Parameter|ndarray|ArrayImpl|array|int|float|bool|NoneType|list|tuple|str|dict|function|method)' object (is not|has no|cannot|does not)"
    r"|must be [\w. ]+, not|unsupported operand type|not supported between instances|cannot be interpreted as|0-d (tensor|array)"
)
"""Pattern of the message of an exception because of the kind of a value."""


def _is_given_another_kind(trial: Trial) -> bool:
    """Return True for what raised because of the kind of a value that it was given under a name of its own: it may expect another one.

    So may a call that takes a size next to its arrays: `hidden` is a mask as well.
    """
    call = trial.call
    roles = [*call.binding.role_of.items()]
    held = [*call.construction.constructor.role_of.items()] if isinstance(call, InstanceCall) else []
    own = [name for name, role in roles if not fits_name(name, role)]
    own += [name for name, role in call.construction.forward.role_of.items() if role.is_size] if isinstance(call, InstanceCall) else []
    own_held = [name for name, role in held if not fits_name(name, role)]
    errors = [each.error for each in trial.answers if isinstance(each, Raised) and isinstance(each.error, TypeError | AttributeError)]
    of_numbers = [each for each in errors if re.search(OTHER_KIND, str(each))]
    if of_numbers:
        return _may_expect_another(of_numbers, call)
    frames = [own_frame(each, call.subject) for each in errors if re.search(OF_KIND, str(each))]
    lines = [line_in(call.subject, frame.tb_lineno) for frame in frames if frame is not None]
    patterns = [rf"(?<!\.){name}\b" for name in own] + [rf"(?<!\.)(self\.)?{name}\b" for name in own_held]
    return any(re.search(pattern, line) for pattern in patterns for line in lines)


def _may_expect_another(errors: Sequence[Exception], call: Call) -> bool:
    """Return True if the kind of a value raised that a call may have given: one has a name of its own, or a line of a class that raised reads one."""
    if not isinstance(call, InstanceCall):
        return any(not fits_name(name, role) for name, role in call.binding.role_of.items())
    given = {**call.construction.constructor.role_of, **call.construction.forward.role_of}
    if any(not fits_name(name, role) for name, role in given.items()):
        return True
    frames = [own_frame(each, call.subject) for each in errors]
    lines = [line_in(call.subject, frame.tb_lineno) for frame in frames if frame is not None]
    return None in frames or any(re.search(rf"\b{name}\b", line) for name in given for line in lines)


def _returns_operand(repair: Repair, call: Call) -> bool:
    """Return True if a repair of a function of a mask puts an operand in place of a constant or of what is computed from it: it may have another form."""
    if call.subject.value is None:
        return False
    functions = [each for each in ast.walk(parsed(call.subject.text)) if isinstance(each, ast.FunctionDef | ast.Lambda)]
    for edit in (each for each in repair.edits if each.cell is None):
        old, name = replaced_text(call.subject.text, edit), edit.replacement.strip().removeprefix("return ").strip()
        around = [each for each in functions if each.lineno <= edit.line <= (each.end_lineno or 0)]
        operands = {each.name for each in call.subject.parameters} | {each.arg for function in around for each in function.args.args}
        if name in operands and re.search(rf"\b{name}\b.*\(|\(.*\b{name}\b|\b{name}\.|{CONSTANT}", old):
            return True
    return False


CONSTANT = r"^(return )?(True|False|None|[\d.]+)$"
"""Pattern of a statement that returns a constant."""


def _rests_on_one_number(repair: Repair, trial: Trial) -> bool:
    """Return True if a repair makes one whole number of several, for one probe: many changes give the right one by coincidence."""
    if repair.num_probes > 1:
        return False
    parts = [numpy.asarray(part) for each in trial.answers if isinstance(each, tuple) for part in each]
    return bool(parts) and all(part.dtype.kind in "iu" and part.size == 1 for part in parts)
