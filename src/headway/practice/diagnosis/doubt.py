"""Verdicts that accuse nobody where the convention of a program is in doubt.

Outputs that differ without a cause or a repair show a mistake only if the calls are understood. Otherwise the program may follow a
convention that nobody listed, and the verdict says so instead of "wrong".
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.own_tensors import OWN
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.checks.of_text import cause_of_unexplained
from headway.practice.diagnosis.checks.random_starts import starts_at_random
from headway.practice.diagnosis.checks.relative_positions import depends_on_place
from headway.practice.diagnosis.checks.rotary_layouts import with_cause_of_layouts
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.classes.variables import codes_of, loaded
from headway.practice.diagnosis.doubtful_repairs import proves_nothing
from headway.practice.diagnosis.either_filter import filters_by_either
from headway.practice.diagnosis.explain.failure import lacks_base_constructor, lacks_call, lacks_operands
from headway.practice.diagnosis.explain.impossible import impossible
from headway.practice.diagnosis.explain.undefined import is_undefined, undefined
from headway.practice.diagnosis.guessed_fields import guesses_field
from headway.practice.diagnosis.named_probabilities import takes_probabilities_as_logits
from headway.practice.diagnosis.nested import BECAUSE, uses_doubted
from headway.practice.diagnosis.reading.subject import definitions, parsed
from headway.practice.diagnosis.reading.trees import stored_in
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.diagnosis.vectors_alone import may_take_vectors
from headway.practice.message import EMPTY
from headway.practice.names import fitting
from headway.practice.outputs import Raised
from headway.practice.recipes.rotation import ROTATED
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

NOT_UNDERSTOOD = "not_understood"
"""Cause of a verdict on a program whose convention is in doubt: wrong only if a repair proves it."""


def settled(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts on a file, with those in doubt as not understood, and those on functions that are wrong only because of them."""
    found = [
        _doubted(each)
        if is_in_doubt(each) or _changes_right(each, verdicts) or _serves_right(each, verdicts)
        else replace(each, status="wrong")
        if _shows_mistake(each)
        else each
        for each in verdicts
    ]
    found = [_with_cause_of_text(each) for each in found]
    named = {each.subject for each in found if any(cause.name == NOT_UNDERSTOOD for cause in each.causes)}
    return [_because_of_doubted(each, named) for each in found]


def _changes_right(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """Return True if the repair changes a function that is right: an edit there may turn an unlisted convention into a known one."""
    if verdict.repair is None:
        return False
    subjects = [
        each.trial.call.subject for each in verdicts if each.is_correct and each.trial is not None and each.subject != verdict.subject
    ]
    lines = [range(each.line, each.line + len(each.own_source.splitlines())) for each in subjects if inspect.isfunction(each.value)]
    return any(edit.line in each for each in lines for edit in verdict.repair.edits if edit.cell is None)


def _serves_right(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    """Return True for a wrong method that its own class calls, which is right: the method need support no other inputs."""
    owner, _, name = verdict.subject.rpartition(".")
    if not owner or verdict.status != "wrong":
        return False
    rights = (each.trial.call.subject for each in verdicts if each.subject == owner and each.is_correct and each.trial is not None)
    return any(re.search(rf"\bself\.{name}\(", each.own_source) for each in rights)


def _with_cause_of_text(verdict: Verdict) -> Verdict:
    """Return a verdict on what could not run, or is not explained, as wrong if its text holds a mistake.

    Such are a name that nothing defines and a call that always raises, in what could not run, one layer in all places of a list, masked values that are dropped,
    masked scores near 0, angles doubled for other pairs than those that are turned, one norm for two parts, and an argument in the place of another.
    """
    if verdict.repair is not None:
        return with_cause_of_layouts(verdict)
    if verdict.status not in ("could not run", "unknown") or verdict.trial is None:
        return verdict
    subject = verdict.trial.call.subject
    raising = (undefined(subject) or impossible(subject)) if verdict.status == "could not run" else None
    cause = raising or cause_of_unexplained(subject, verdict.trial.exercise)
    return verdict if cause is None else replace(verdict, status="wrong", causes=(cause,), notes=(), difference=None, is_confirmed=True)


def is_in_doubt(verdict: Verdict) -> bool:
    """Return True for outputs that no repair explains, and no cause that more than coincidence supports; for right ones, if their place or a name speaks against them."""
    if verdict.is_correct:
        return verdict.trial is not None and (depends_on_place(verdict.trial) or takes_probabilities_as_logits(verdict.trial))
    if verdict.trial is not None and (
        _orders_fused(verdict)
        or _changes_rotation(verdict)
        or _removes_norm(verdict)
        or _attends_from_one(verdict)
        or _lacks_setting(verdict)
        or _reads_unset_field(verdict)
        or guesses_field(verdict)
        or _calls_size(verdict)
        or _has_no_bias(verdict)
        or _is_variant(verdict)
        or _lacks_library(verdict)
        or _lacks_own_array(verdict)
        or _rotates_groups(verdict)
        or _is_given_nothing(verdict)
        or _has_fixed_rows(verdict)
        or may_take_vectors(verdict)
        or filters_by_either(verdict)
        or starts_at_random(verdict)
        or (verdict.repair is not None and proves_nothing(verdict.repair, verdict.trial, verdict.exercise))
    ):
        return True
    if verdict.repair is not None or verdict.trial is None:
        return False
    if (
        _finds_no_pair(verdict)
        or _is_given_positions(verdict)
        or _decodes_in_parallel(verdict)
        or _learns_positions(verdict)
        or _has_norms_inside(verdict)
        or _stores_elsewhere(verdict)
        or _learns_no_merge(verdict)
    ):
        return True
    is_other = any(cause.name == NOT_UNDERSTOOD for cause in verdict.causes)
    is_coincidence = verdict.status == "wrong" and len(verdict.trial.probes) < 2 and all(cause.proof.en for cause in verdict.causes)
    is_guess = (
        verdict.status == "wrong"
        and verdict.confidence != "certain"
        and any(reason(verdict.trial) for reason in (lacks_weights, _reads_data, _leaves_mask_out))
    )
    return is_other or is_coincidence or is_guess or (verdict.status == "unknown" and not is_understood(verdict.trial))


VARIANTS = (
    r"alibi|relative|local|sparse|linear_?att|linformer|performer|longformer|big_?bird|synthesi[sz]er|disentangled|talking|differential"
    r"|latent|(^|_)mla(_|$)|axial|gated_(\w+_)?att|hyper|window|t5"
)
"""Pattern of the names of attention that differs from the standard one on purpose."""


def _is_variant(verdict: Verdict) -> bool:
    """Return True for a wrong or unexplained attention, positions, encoding of text or linear layer that is of another kind by its name or code."""
    if verdict.exercise in ("bpe_encode", "bpe_tokenizer") and verdict.status in ("wrong", "unknown") and verdict.trial is not None:
        return re.search(FEWEST_TOKENS, verdict.trial.call.subject.code) is not None
    if verdict.exercise == "linear" and verdict.status == "wrong" and verdict.trial is not None:
        return re.search(QUANTIZES, verdict.trial.call.subject.used_source) is not None
    is_one = "attention" in verdict.exercise or verdict.exercise in POSITIONS
    if verdict.status != "wrong" or not is_one or verdict.trial is None:
        return False
    is_named = re.search(VARIANTS, f"{snake(verdict.subject)} {verdict.subject.lower()}") is not None
    return is_named or ("attention" in verdict.exercise and re.search(OF_RELATIVE, verdict.trial.call.subject.code) is not None)


FEWEST_TOKENS = r"(?i)viterbi|\bdp\[[^\n]*(=|<|>)[^\n]*\bdp\[|unigram_?(lm|model|log)|log_?probs?\["
"""Pattern of the code of a tokenizer that looks for the best division of a text among all, with dynamic programming."""

QUANTIZES = r"(\btorch|\bnp|\bnumpy|\bjnp|\bmx|\w\)?)\.(round|sign|rint)_?\("
"""Pattern of the source of a linear layer that rounds its weights or its inputs, as one of two or three values."""

OF_RELATIVE = (
    r"(?i)relative_?(pos|att|key|bias)|alibi|\brel_?(pos|bias|shift)"
    r"|\n[^\n<>]*arange\([^\n<>]*\] *- *[\w.]*arange\([^\n<>]*(?=\n)"  # distances that are no mask
)
"""Pattern of the code of an attention with relative positions."""

POSITIONS = ("sinusoidal_positions", "learned_positions", "rotary")


def _lacks_library(verdict: Verdict) -> bool:
    """Return True if a subject raised for arrays of another library than that of its file, which is not installed."""
    error, subject = raised(verdict, ("could not run", "wrong")), verdict.trial.call.subject if verdict.trial is not None else None
    if subject is None or not isinstance(error, TypeError | AttributeError):
        return False
    return re.search(rf"(?m)^ *(import|from) ({'|'.join(OTHER_LIBRARIES)})\b", subject.file_source) is not None


def _lacks_own_array(verdict: Verdict) -> bool:
    """Return True if a repair changes what raised for an array in place of a tensor whose class is in another file of its author."""
    error, trial = raised(verdict, ("could not run", "wrong")), verdict.trial
    if trial is None or verdict.repair is None or not isinstance(error, TypeError | AttributeError) or trial.call.library in OWN:
        return False
    return re.search(OWN_ARRAY, trial.call.subject.file_source) is not None


OWN_ARRAY = (
    r"(?m)^ *from +(?!(torch|typing|jax|jaxtyping|numpy|mlx|tensorflow)\b)[.\w]+ +import +(\(\s*)?([\w, ]*, *)?(Tensor|Value|Variable)\b"
)
"""Pattern of the import of a tensor's class from a file."""


def _rotates_groups(verdict: Verdict) -> bool:
    """Return True for a wrong rotation that counts the positions of its queries along an axis before that of groups of heads, which they have."""
    if verdict.exercise != "rotary" or verdict.trial is None:
        return False
    return re.search(r"\bx?q\w*\.shape\[-[4-9]\]", verdict.trial.call.subject.code) is not None


def _is_given_nothing(verdict: Verdict) -> bool:
    """Return True if a subject raised because it was given an array without elements, in place of a weight that its part does not have."""
    error = raised(verdict, ("could not run", "wrong"))
    return isinstance(error, IndexError) and re.search(r"axis \d with size 0\b", str(error)) is not None


def _has_fixed_rows(verdict: Verdict) -> bool:
    """Return True if a table whose class takes no number of rows, such as that of two segments, has no row for an id."""
    error, call = raised(verdict, ("could not run", "wrong")), verdict.trial.call if verdict.trial is not None else None
    if verdict.exercise != "embed" or not isinstance(call, InstanceCall) or call.construction.config is not None:
        return False
    return isinstance(error, IndexError) and not call.construction.constructor.takes("vocab_size")


OTHER_LIBRARIES = ("tinygrad", "tensorflow", "paddle", "mindspore", "keras", "jittor", "oneflow", "mxnet")
"""Array libraries that Headway does not call functions with."""


def _orders_fused(verdict: Verdict) -> bool:
    """Return True if the order of the parts of a fused array is all that differs: it is the learner's choice, and not every order is tried."""
    call = verdict.trial.call if verdict.trial is not None else None
    if not isinstance(call, InstanceCall) or not verdict.causes or verdict.status != "wrong":
        return False
    is_fused = any(len(content.roles) > 1 for content in call.contents)
    return is_fused and all(re.search(REORDERED, cause.name) for cause in verdict.causes)


REORDERED = r"_exchanged$|^weights_one_place_|^scores_transposed$|^heads_take_every_"
"""Pattern of the mistakes that have the effect of another order or nesting of fused weights."""


def _changes_rotation(verdict: Verdict) -> bool:
    """Return True if the repair of another part changes how the file rotates, which may undo the rotation: that part has none."""
    if verdict.repair is None or verdict.trial is None or verdict.exercise in ROTATIONS:
        return False
    rotating = [
        node
        for name, node in definitions(parsed(verdict.trial.call.subject.text)).items()
        if name != verdict.subject and {*fitting(name)[0]} & ROTATIONS
    ]
    lines = [edit.line for edit in verdict.repair.edits if edit.cell is None]
    if "attention" in verdict.exercise and not {*ROTATED[1:]} & {*verdict.trial.conventions}:
        written = verdict.trial.call.subject.text.splitlines()
        if any(re.search(FREQUENCIES, written[line - 1]) for line in lines):
            return True
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in rotating for line in lines)


FREQUENCIES = r"\*\*[^\n]*\barange\(|\barange\([^\n]*\*\*"
"""Pattern of a line with the frequencies of a rotation, powers of a base, in an attention."""

ROTATIONS = {"rotary", "rotary_tables"}


def _removes_norm(verdict: Verdict) -> bool:
    """Return True if the repair of an attention or a feed-forward only removes a norm, which a class may hold on purpose."""
    is_part = re.search(r"attention|feed_forward", verdict.exercise) is not None
    if verdict.repair is None or verdict.trial is None or not is_part or not inspect.isclass(verdict.trial.call.subject.value):
        return False
    text = verdict.trial.call.subject.text
    return all(
        edit.cell is None and len(re.findall(NORM, replaced_text(text, edit))) > len(re.findall(NORM, edit.replacement))
        for edit in verdict.repair.edits
    )


def _attends_from_one(verdict: Verdict) -> bool:
    """Return True if the repair of an attention only changes lines that select one query, whose output alone may be meant."""
    if verdict.repair is None or verdict.trial is None or "attention" not in verdict.exercise:
        return False
    lines = verdict.trial.call.subject.text.splitlines()
    return all(edit.cell is None and re.search(ONE_QUERY, lines[edit.line - 1]) for edit in verdict.repair.edits)


ONE_QUERY = r"\bq(?!_?kv)\w*\[(:|\.\.\.)[:., ]*-?[01]\b(?!::)"
"""Pattern of the selection of the query of one position."""


def _lacks_setting(verdict: Verdict) -> bool:
    """Return True if the repair of a class that raised replaces what is None unless its file passes it, such as `self.positions`, or a second mask."""
    call = verdict.trial.call if verdict.trial is not None else None
    if raised(verdict, ("could not run", "wrong", "unknown")) is None or verdict.repair is None or not isinstance(call, InstanceCall):
        return False
    operands = call_parameters(call.subject, call.construction.method)
    unset = [rf"self\.{each.name}" for each in call.subject.parameters if each.default is None]
    unset += call.binding.left_out(each for each in operands if each.default is None)
    replaced = " ".join(replaced_text(call.subject.text, each) for each in verdict.repair.edits if each.cell is None)
    kept = " ".join(each.replacement for each in verdict.repair.edits)
    return any(re.search(rf"\b{name}\b", replaced) and not re.search(rf"\b{name}\b", kept) for name in unset)


def _reads_unset_field(verdict: Verdict) -> bool:
    """Return True if a class raised because of None in a line that reads a field of its config, whose value is a guess."""
    error = raised(verdict, ("could not run", "wrong", "unknown"))
    call = verdict.trial.call if verdict.trial is not None else None
    config = call.construction.config if isinstance(call, InstanceCall) else None
    if call is None or config is None or not isinstance(error, TypeError) or "NoneType" not in str(error):
        return False
    lines = call.subject.text.splitlines()
    written = [
        lines[cause.line - 1] for cause in verdict.causes if cause.line is not None and cause.cell is None and cause.line <= len(lines)
    ]
    return any(re.search(rf"\b{config}(\.|\[)", line) for line in written)


def _calls_size(verdict: Verdict) -> bool:
    """Return True if the repair is of a class that calls what it was given a size for, under a name that no size has: it may be a layer."""
    error = raised(verdict, ("could not run", "wrong", "unknown"))
    call = verdict.trial.call if verdict.trial is not None else None
    is_call = isinstance(error, TypeError) and re.search(r"'(int|float|NoneType)' object is not callable", str(error)) is not None
    if verdict.repair is None or not is_call:
        return False
    guessed = call.construction.constructor.role_of if isinstance(call, InstanceCall) else {}
    return any(role.is_size and not fits_name(name, role) for name, role in guessed.items())


NORM = r"(?i)norm|\bln_?\w*\("
"""Pattern of the call of a norm."""


def _is_given_positions(verdict: Verdict) -> bool:
    """Return True if positions are missing in a class that is given them, or its embedding, which may add them."""
    if verdict.trial is None or not any(cause.name.startswith("positions_missing") for cause in verdict.causes):
        return False
    if _position_operands(verdict.trial.call):
        return True
    constructor = re.search(r"def __init__\(([^)]*)\)", verdict.trial.call.subject.own_source)
    taken = re.findall(r"\w+", constructor[1]) if constructor else []
    return any(re.search(r"(^|_)embed(ding|der)?s?(_layer)?$|^pos(itional)?_?(enc|emb)", snake(name)) for name in taken)


def _position_operands(call: Call) -> list[str]:
    """Return the operands of a class that are embeddings of positions, added in every layer."""
    operands = call_parameters(call.subject, call.construction.method) if isinstance(call, InstanceCall) else ()
    return [
        each.name for each in operands if re.search(r"(^|_)pos(ition(s|al)?)?(_?(emb(ed(ding)?s?)?|enc(oding)?s?))?$", snake(each.name))
    ]


def _decodes_in_parallel(verdict: Verdict) -> bool:
    """Return True if a decoder sees later positions that is given embeddings of its queries' positions: all are decoded at once, as in DETR."""
    if verdict.trial is None or not any(re.search(r"later_(positions_visible|targets_seen)", cause.name) for cause in verdict.causes):
        return False
    return bool(_position_operands(verdict.trial.call))


OF_POSITIONS = r"self\.\w*pos\w* *= *[\w.]*\b(Parameter|zeros)\("
"""Pattern of the source of a class with a trained table of positions, which starts at zero."""


def _learns_positions(verdict: Verdict) -> bool:
    """Return True if no positions are added by a class with a trained table of them: it is not filled, as a table of another form."""
    if verdict.trial is None or not any(cause.name == "nothing_added" for cause in verdict.causes):
        return False
    return re.search(OF_POSITIONS, verdict.trial.call.subject.own_source) is not None


def _has_norms_inside(verdict: Verdict) -> bool:
    """Return True if all norms or residual sums are missing in a layer or a stack whose own parts hold norms."""
    if verdict.trial is None or not any(re.search(r"\b(norms|residuals)_missing", cause.name) for cause in verdict.causes):
        return False
    subject = verdict.trial.call.subject
    return re.search(NORM, subject.used_source.replace(subject.own_source, "")) is not None


def _has_no_bias(verdict: Verdict) -> bool:
    """Return True if a linear layer of a library is without its bias in a file that constructs it so."""
    if verdict.trial is None or [cause.name for cause in verdict.causes] != ["bias_missing"]:
        return False
    subject = verdict.trial.call.subject
    return "bias" not in subject.own_source and re.search(rf"\b{subject.short_name}\([^\n]*bias *= *False", subject.file_source) is not None


def _finds_no_pair(verdict: Verdict) -> bool:
    """Return True if nothing is merged although the pairs are read: they may have a form in which the subject does not recognise them."""
    trial = verdict.trial
    if trial is None or {cause.name for cause in verdict.causes} != {"nothing_merged"}:
        return False
    subject, role_of = trial.call.subject, trial.call.binding.role_of
    if any(role.name == "pair" for role in role_of.values()):
        return any(group[0] is not chosen for group, chosen in zip(trial.exercise.conventions, trial.conventions, strict=True))
    names = {name for name, role in role_of.items() if role.name in ("merges", "vocab")}
    nodes = ast.walk(ast.parse(textwrap.dedent(subject.own_source)))
    return bool(names) and (inspect.isclass(subject.value) or any(isinstance(node, ast.Name) and node.id in names for node in nodes))


def _stores_elsewhere(verdict: Verdict) -> bool:
    """Return True if no parameter of an optimizer changes although no loop over them rebinds its own variable: they may be read elsewhere."""
    if verdict.trial is None or not any(cause.name == "update_not_stored" for cause in verdict.causes):
        return False
    loops = [node for node in ast.walk(parsed(textwrap.dedent(verdict.trial.call.subject.own_source))) if isinstance(node, ast.For)]
    return not any({*stored_in(loop.target)} & {*stored_in(*_assignments(loop))} for loop in loops)


def _learns_no_merge(verdict: Verdict) -> bool:
    """Return True if a training of merges learns none from any text: it may read another one, which other methods prepare."""
    answers = verdict.trial.answers if verdict.trial is not None and verdict.exercise == "bpe_train" else []
    return bool(answers) and all(isinstance(each, list | tuple | dict) and not each for each in answers)


def _assignments(loop: ast.For) -> list[ast.stmt]:
    """Return the assignments in a loop that rebind a variable; `param -= update` changes an array in place."""
    return [each for statement in loop.body for each in ast.walk(statement) if isinstance(each, ast.Assign | ast.AnnAssign)]


def _shows_mistake(verdict: Verdict) -> bool:
    """Return True if a program could not run for a reason that is a mistake under every convention."""
    error = raised(verdict)
    if error is None or verdict.trial is None:
        return False
    subject = verdict.trial.call.subject
    return lacks_base_constructor(error) or lacks_call(error) or is_undefined(error, subject) or lacks_operands(error, subject)


def raised(verdict: Verdict, statuses: Collection[str] = ("could not run",)) -> BaseException | None:
    """Return the exception because of which a program could not run."""
    if verdict.status not in statuses or verdict.trial is None or not any(each.name.startswith("raises_") for each in verdict.causes):
        return None
    return next((each.error for each in verdict.trial.answers if isinstance(each, Raised)), None)


def lacks_weights(trial: Trial) -> bool:
    """Return True for a class that does not hold all weights of the part: it may be a part of another extent."""
    if not isinstance(trial.call, InstanceCall):
        return False
    needed = {role.name for role in trial.exercise.roles if role.is_weight and not role.is_optional}
    return not needed & set(trial.probes[0].inputs) <= trial.call.assignment.roles


def _reads_data(trial: Trial) -> bool:
    """Return True for a function that reads data of its file, such as the frequencies of the words of a corpus."""
    subject = trial.call.subject
    names = (name for code in codes_of(subject.value) for name in loaded(code)) if inspect.isfunction(subject.value) else ()
    return any(isinstance(getattr(subject.module, name, None), dict | list | set) for name in names if not name.isupper())


def _leaves_mask_out(trial: Trial) -> bool:
    """Return True for a subject that takes a mask which the part has no operand for: without it, later positions are seen."""
    call = trial.call
    parameters = call_parameters(call.subject, call.construction.method) if isinstance(call, InstanceCall) else call.subject.parameters
    binding = call.construction.forward if isinstance(call, InstanceCall) else call.binding
    return any("mask" in name.lower() for name in binding.left_out(parameters))


def is_understood(trial: Trial) -> bool:
    """Return True if the way a subject is called is beyond doubt.

    It is if half of the outputs are right and show the meaning of every operand that the wrong ones have, or if a function of arrays names all its
    operands as the part does and returns the part's shapes.
    """
    pairs = list(zip(trial.probes, trial.answers, strict=True))
    is_right = [trial.is_same(probe, answer) for probe, answer in pairs]
    if any(_holds_text(answer) and not _holds_text(trial.expected(probe)) for probe, answer in pairs):  # in another form
        return False
    shown = {role for (probe, _), right in zip(pairs, is_right, strict=True) if right for role in probe.inputs}
    if 2 * sum(is_right) >= len(pairs) and all(
        set(probe.inputs) <= shown for (probe, _), right in zip(pairs, is_right, strict=True) if not right
    ):
        return True
    if inspect.isclass(trial.call.subject.value) or trial.exercise.calls is not None:
        return False
    if any(each.default is True for each in trial.call.subject.parameters) or _has_other_operands(trial):  # a mode of its own
        return False
    if any(isinstance(answer, str | bytes) for _, answer in pairs):  # any text has the shape of any other
        return False
    is_named = all(fits_name(name, role) for name, role in trial.call.binding.role_of.items())
    return is_named and all(_shape(answer) == _shape(trial.expected(probe)) for probe, answer in pairs)


def _holds_text(answer: Any) -> bool:
    return isinstance(answer, tuple) and any(isinstance(part, str | bytes) for part in answer)


def _shape(answer: Any) -> Any:
    """Return the shape of an output; for several values, the shape of each."""
    return tuple(map(_shape, answer)) if isinstance(answer, tuple) else numpy.shape(answer)


def _has_other_operands(trial: Trial) -> bool:
    """Return True if a function has optional operands of its own, which may choose what it returns."""
    return any(each.default is None and each.name not in trial.call.binding.role_of for each in trial.call.subject.parameters)


def _doubted(verdict: Verdict) -> Verdict:
    tried = len({each.conventions for each in verdict.trials}) or 1
    says, fix = TEXTS["in_doubt"].format(count=tried), TEXTS["select_part_or_state_shapes"]
    if verdict.is_correct and verdict.trial is not None and takes_probabilities_as_logits(verdict.trial):
        says, fix = TEXTS["named_probabilities"], TEXTS["name_what_is_given"]
    cause = Cause(NOT_UNDERSTOOD, says, fix, EMPTY, line=verdict.line)
    return replace(verdict, status="could not run", causes=(cause,), notes=(), repair=None, is_confirmed=True)


def _because_of_doubted(verdict: Verdict, doubted: set[str]) -> Verdict:
    """Return the verdict as not understood if every function that it is wrong because of is not understood."""
    names = {name for cause in verdict.causes if cause.name.startswith(BECAUSE) for name in cause.name.removeprefix(BECAUSE).split("_and_")}
    if verdict.is_correct or not names or not names <= doubted:
        return verdict
    return replace(verdict, status="could not run", causes=(uses_doubted(sorted(names), verdict.line),), notes=())
