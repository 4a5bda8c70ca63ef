"""Inputs that a program is written for, and that it raises for or loses: several parameters of an optimizer that loops over them, a sequence shorter than
the longest one that a table of positions is made for, a text longer than the context of the file's model, several rows."""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.adapters.generate_calls import OF_CONTEXT, FunctionCall
from headway.practice.diagnosis.calls.binding import CONSTRUCTOR_PREFIX
from headway.practice.diagnosis.calls.conventions import encoded_for, output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.reading.errors import is_of_sizes
from headway.practice.diagnosis.reading.subject import definitions, parsed
from headway.practice.diagnosis.reading.trees import last_name
from headway.practice.exercise import Inputs
from headway.practice.message import EMPTY, TokenIndexError
from headway.practice.outputs import Raised
from headway.practice.recipes.toy_model import means_context
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OVER_PARAMETERS = r"\bfor\b[^\n]*\bin\b[^\n]*(param|grad|zip\(|enumerate\(|range\(len\()"
"""Pattern of a loop over the parameters of an optimizer."""


def several_parameters_cause(trial: Trial) -> Cause | None:
    """Return the exception of an optimizer that loops over its parameters, and raises for more than one because of its own state."""
    if trial.exercise.calls != "optimizer" or re.search(OVER_PARAMETERS, trial.call.subject.code) is None:
        return None
    for probe in trial.refused:
        answer = output_of(trial.call, trial.conventions, probe.inputs) if len(probe.inputs["points"]) > 1 else None
        if isinstance(answer, Raised) and (is_of_sizes(answer.error) or type(answer.error) is IndexError):
            cause = explain(answer.error, trial.call.subject, probe)
            return cause if cause.line is not None else None
    return None


OF_LONGEST = r"(?i)max|context|block|limit|n_ctx|n_positions"
"""Pattern of the names of parameters for the longest sequence of a table of positions."""

NUM_MORE = 4
"""Rows of a table of positions after those of the sequence."""

TABLE = r"\+ *self\.\w*(\[:(, *:)*\])?"
"""Pattern of the line that adds a whole table."""


def shorter_sequence_cause(trial: Trial) -> Cause | None:
    """Return the cause for a table of sines up to a longest length that is added to sequences of this length only."""
    call = trial.call
    names = [name.removeprefix(CONSTRUCTOR_PREFIX) for name, role in call.binding.role_of.items() if role.name == "seq_len"]
    is_of_table = trial.exercise.name in ("sinusoidal_positions", "positioned_embedding")
    if not is_of_table or not isinstance(call, InstanceCall) or not any(_is_longest(name, call.subject.own_source) for name in names):
        return None
    for probe in trial.probes:
        x = probe.inputs.get("x")
        if x is None or x.ndim < 2:
            continue
        inputs = probe.inputs | {"seq_len": x.shape[-2] + NUM_MORE}
        encoded = encoded_for(call, trial.conventions, inputs)
        answer = output_of(call, trial.conventions, inputs) if encoded is not None and call.fits(encoded) else None
        if isinstance(answer, Raised) and is_of_sizes(answer.error):
            line = explain(answer.error, call.subject, probe).line
            return Cause("shorter_sequence_raises", TEXTS["shorter_sequence_raises"], TEXTS["crop_the_table"], EMPTY, line=line)
        if answer is not None:
            return None
    return None


def _is_longest(name: str, source: str) -> bool:
    """Return True for a parameter that by its name, or by the text that describes it (`seq_len: maximum length`), is a longest length."""
    is_said = re.search(rf"(?im)^\s*(:param |@param |- )?{name}\b[^\n:]*:[^\n]*\bmax(imum|imal)?\b", source)
    return re.search(OF_LONGEST, name) is not None or is_said is not None


def stops_for_first_cause(trial: Trial) -> Cause | None:
    """Return the cause for generation of several rows that ends all of them where the first one ends, and none where another does."""
    probes = {probe.name: probe for probe in trial.probes}
    if trial.exercise.name != "generate" or not trial.call.binding.takes("eos") or not {"batch", "stop token, short"} <= {*probes}:
        return None
    batch = probes["batch"].inputs
    prompt, size = batch["prompt"], batch["prompt"].shape[1]
    whole = trial.expected(probes["batch"])

    def length_with(rows: Any, eos: int) -> int | None:
        answer = output_of(trial.call, trial.conventions, batch | {"prompt": rows, "eos": eos})
        return answer.shape[1] if isinstance(answer, numpy.ndarray) and answer.ndim == 2 else None

    ends = {int(whole[row, size]) for row in (0, 1)}
    for row, eos in ((0, int(whole[0, size])), (1, int(whole[1, size]))):
        if len(ends) < 2 or eos in prompt or eos in whole[1 - row, size:]:
            continue
        first, last = length_with(prompt[[row, 1 - row]], eos), length_with(prompt[[1 - row, row]], eos)
        if first is not None and last is not None and first < last == whole.shape[1]:
            says, fix = TEXTS["stops_for_first_row"], TEXTS["stop_when_all_ended"]
            return Cause("stops_for_first_row", says, fix, EMPTY, line=trial.call.subject.line_of(r"\b(break|return)\b") or None)
    return None


NUM_ENDED = 5
"""Tokens of each row of the generation with a row that ends first."""


def writes_after_end_cause(trial: Trial) -> Cause | None:
    """Return the cause for generation of several rows that fills a row after its stop token, and later writes to it again."""
    probe = next((probe for probe in trial.probes if probe.name == "batch"), None)
    if trial.exercise.name != "generate" or not trial.call.binding.takes("eos") or probe is None:
        return None
    for count in (NUM_ENDED, probe.inputs["max_new_tokens"]):  # more tokens may be longer than the context
        if _writes_after_end(trial, probe.inputs | {"max_new_tokens": count}):
            line = trial.call.subject.line_of(r"==[^=\n]*(eos|end|stop|eot)|(eos|end|stop|eot)\w* *==")
            return Cause("writes_after_end", TEXTS["writes_after_end"], TEXTS["keep_ended_rows"], EMPTY, line=line)
    return None


def _writes_after_end(trial: Trial, inputs: Inputs) -> bool:
    """Return True if one of two rows gets its stop token, then another token than the model's, as padding, and later one that is not the same."""
    whole, prompt = trial.exercise.definition(**inputs), inputs["prompt"]
    size = prompt.shape[1]
    for row, place in itertools.product((0, 1), range(size, size + 2)):
        eos = int(whole[row, place])
        if eos in prompt or eos in whole[1 - row, size:] or eos in whole[row, size:place]:
            continue
        answer = output_of(trial.call, trial.conventions, inputs | {"eos": eos})
        if not isinstance(answer, numpy.ndarray) or answer.shape != whole.shape or not (answer[1 - row] == whole[1 - row]).all():
            continue
        filled, after = answer[row, place + 1], answer[row, place + 2 :]
        if answer[row, place] == eos and filled != whole[row, place + 1] and (after != filled).any():
            return True
    return False


OF_POSITIONS = r"(?i)\b(\w*pos\w*|wpe)\b"
"""Pattern of the names of a table of positions."""


def past_context_cause(trial: Trial) -> Cause | None:
    """Return the cause for generation that gives the model more tokens than its context, which the function or its class knows."""
    mistake = next((each for each in trial.exercise.mistakes if each.name == "context_not_cropped"), None)
    if mistake is None or not (_reads_context(trial) or _has_limited_positions(trial)):
        return None
    for probe in trial.refused:
        answer = output_of(trial.call, trial.conventions, probe.inputs)
        if isinstance(answer, Raised) and isinstance(answer.error, TokenIndexError) and "eos" not in probe.inputs:
            line = trial.call.subject.line_of(mistake.pattern()) or trial.call.subject.line_of(r"\bself\(")
            return replace(Cause(mistake.name, mistake.says, mistake.fix, EMPTY, mistake.hides), line=line)
    return None


def _reads_context(trial: Trial) -> bool:
    """Return True for a function that reads the size of a context: of an operand, `self.config.block_size`, or a variable that cuts the tokens."""
    if isinstance(trial.call, FunctionCall) and trial.call.context_sizes:
        return True
    taken = {each.name for each in trial.call.subject.parameters} | {"self"}
    nodes = [
        node
        for node in ast.walk(parsed(trial.call.subject.own_source))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    ]
    return any(means_context(node.attr) and ast.unparse(node).partition(".")[0] in taken for node in nodes)


CROPS = r"-\s*[\w.]+ *: *\]"
"""Pattern of the source of a function that takes the last elements."""


def _has_limited_positions(trial: Trial) -> bool:
    """Return True for a method without a crop, of a class that holds a table of positions whose number of rows is a context size."""
    subject = trial.call.subject
    owner = definitions(parsed(subject.text)).get(subject.name.rpartition(".")[0])
    crops = re.search(CROPS, subject.code) or any(means_context(name) for name in re.findall(r"[A-Za-z]\w*", subject.code))
    return not crops and owner is not None and any(_is_table_of_context(node) for node in ast.walk(owner))


def _is_table_of_context(node: ast.AST) -> bool:
    """Return True for `self.pos = nn.Embedding(block_size, width)` and a parameter of as many rows."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call() as made) if re.search(OF_POSITIONS, name):
            read = [each for each in ast.walk(made) if isinstance(each, ast.Name | ast.Attribute)]
            return any(re.search(OF_CONTEXT, last_name(each)) for each in read)
    return False
