"""Definition of an exercise: the reference function, its operands, the probes, accepted conventions and known mistakes.

An exercise's `recipe` is the reference function split into named steps. A mistake replaces one step and thereby predicts an output
for every probe: a learner's function that returns exactly these outputs makes that mistake. Two mistakes in different steps can be
combined. A test checks that the recipe with no step replaced equals the definition in headway.functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from headway.practice.message import EMPTY, Message
from headway.practice.sentences import NUM_HINTS, Sentence, read

MISSING: Any = object()
"""Marker for "no neutral value": a probe without this role is skipped if the learner's function requires it."""

Inputs = dict[str, Any]
"""Inputs of a probe by role: float64 or integer NumPy arrays, and scalars."""

Step = Callable[..., Any]


@dataclass(frozen=True)
class Role:
    """One operand of the definition, under any of the names that learners use for it.

    name           name in headway.functions
    called         other accepted names, in lower case
    neutral        value passed if the probe has none and the learner's parameter has no default, or a function of the probe's
                   inputs that computes it; MISSING skips the probe
    is_size        True for an integer that a class is constructed with or a function takes, such as num_heads
    size_of        inputs → that integer, if it follows from the other inputs; probes then omit it
    size_override  (roles, inputs → integer): used in place of size_of if the constructor also takes one of these roles,
                   for example a separate input width
    is_weight      True for a weight that a class holds itself: written into the instance, not passed
    is_optional    True if a class that holds weights may omit this one, or a constructor that takes sizes
    held_as        words that identify it in an attribute name once words such as proj, linear and weight are removed:
                   "q" for W_q and q_proj.weight
    is_submodule   True for a ready-made submodule passed to a constructor; size_of then returns its specification
    off            number without effect, passed in place of a default that is another number if the probe has no such operand; or a function
                   of the inputs that returns it, whose name a note has
    may_change     True if a correct function may modify it in place, such as counts that it adds to
    """

    name: str
    called: tuple[str, ...] = ()
    neutral: Any = MISSING
    is_size: bool = False
    size_of: Callable[[Inputs], Any] | None = None
    size_override: tuple[tuple[str, ...], Callable[[Inputs], Any] | None] = ((), None)
    is_weight: bool = False
    is_optional: bool = False
    held_as: tuple[str, ...] = ()
    is_submodule: bool = False
    off: Any = MISSING
    may_change: bool = False


@dataclass(frozen=True)
class Probe:
    """Inputs that distinguish a mistake from similar ones.

    inputs   values by role; the probe is skipped if the learner's function has no parameter for one of them
    beyond   description of inputs that a correct function may reject ("more than one row"); None if it may not;
             an empty message if a rejection needs no note
    caution  note for a function that is correct on all other probes and wrong on this one, which still counts as correct;
             together with `beyond`: for a function whose output here no known mistake explains
    within   description of the kind of inputs that these belong to, too: a function that rejects it need not take these
    unless   pattern of the source of functions that these inputs are not meant for
    meant_by  pattern of the source of functions that are meant for these inputs although others need not be: if they return something, it counts
    """

    name: str
    inputs: Inputs
    beyond: Message | None = None
    caution: Message | None = None
    within: Message | None = None
    unless: str | None = None
    meant_by: str | None = None


QUIET = EMPTY
"""Value of `Probe.beyond` for inputs whose rejection needs no note."""


@dataclass(frozen=True, eq=False)
class Mistake:
    """A wrong step.

    steps    the wrong steps by name
    says     what the learner's code does
    fix      what to change, as an imperative
    hides    reason why a simple example does not show the mistake; None or empty if any example does
    pattern  () → regular expression that finds the line in the learner's source, read from the catalogue when it is needed
    said_as  name in the verdict, if several variants share one; the mistake's own name by default
    needs    an operand without which a function cannot make it
    elsewhere  pattern of the names of the methods of a class in which it cannot be
    written  regular expression of what a program that makes it contains; None if it may be written in any way
    """

    name: str
    steps: Mapping[str, Step]
    says: Message
    fix: Message
    hides: Message | None = None
    pattern: Callable[[], str | None] = lambda: None
    said_as: str | None = None
    needs: str | None = None
    elsewhere: str | None = None
    written: str | None = None


@dataclass(frozen=True, eq=False)
class Recovery:
    """A number measured from a learner's function, such as its scale or its epsilon.

    measure    run → list of (inputs, the number that the function uses for them); empty if it cannot be measured.
               run(inputs) returns the function's output as NumPy, or Raised
    step       the step that uses the number
    wrong      number_of → that step with the number in it; number_of(sizes) is the number for these sizes
    sizes      inputs → the sizes that the number may be composed of, by name
    right      inputs → the correct number
    right_name the correct number as a formula
    says       message with the placeholders {value}, {names}, {right}, {right_name}
    """

    name: str
    step: str
    measure: Callable[[Callable[[Inputs], Any]], list[tuple[Inputs, float]]]
    wrong: Callable[[Callable[[Inputs], float]], Step]
    sizes: Callable[[Inputs], Mapping[str, float]]
    right: Callable[[Inputs], float]
    right_name: str
    says: Message
    fix: Message
    hides: Message | None = None
    pattern: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, eq=False)
class Convention:
    """One of several accepted ways to call the function or to compute its result.

    name      note in the verdict; None for the convention of headway.functions, which needs no note
    role      the operand that it concerns; without a parameter for it, only the first alternative of the group is tried
    named     required pattern of the parameter's name
    alone     pattern of the parameter's name with which the convention leaves no other of its group than those of that name
    called    required pattern of the function's name
    source    required pattern in the function's source, comments included
    file_names  required pattern in the names defined in the file, one per line
    file_source  required pattern in the source of the file
    is_required  True if the function must require the operand `role`
    used_source  required pattern in the source of the definitions of the file that the function uses, itself included
    without   an operand for which the function must not have a parameter
    encode    probe inputs → inputs in this convention; None skips the probe
    decode    the function's output → the output in the convention of headway.functions
    undo      inverse of encode, for arrays of any library; required only to replace a wrong function by the definition while
              one of its callers is judged
    steps     recipe steps that are equally correct, such as another tie-break or another epsilon
    is_whole  True if the steps are correct together only, so that a mistake in one of them is not one of this convention
    may_write  True if the function may write its output into its input, which is then noted
    leaves_out  True if some outputs are not compared, so that mistakes are first looked for under the other conventions
    reads     run → the convention or conventions measured from the function, None if none applies (run is as in Recovery)
    measured_by  the convention whose `reads` found this one, None for one that was not measured
    by_number  (whole number, probe inputs) → inputs in this convention, in place of `encode`; the name has the placeholder {number}
    place     index of the number among those of the source and the constants of the file that it names

    The patterns are regular expressions; a convention is tried only if all that are given match.
    """

    name: Message | None = None
    encode: Callable[[Inputs], Inputs | None] = lambda inputs: inputs
    decode: Callable[[Any, Inputs], Any] = lambda answer, inputs: answer
    undo: Callable[[Inputs], Inputs] | None = None
    role: str | None = None
    named: str | None = None
    alone: str | None = None
    called: str | None = None
    source: str | None = None
    file_names: str | None = None
    file_source: str | None = None
    used_source: str | None = None
    without: str | None = None
    is_required: bool = False
    steps: Mapping[str, Step] = field(default_factory=dict)
    is_whole: bool = False
    may_write: bool = False
    leaves_out: bool = False
    reads: Callable[[Callable[[Inputs], Any]], Convention | Sequence[Convention] | None] | None = None
    measured_by: Convention | None = None
    by_number: Callable[[int, Inputs], Inputs | None] | None = None
    place: int | None = None


def optional(*others: Convention) -> tuple[Convention, ...]:
    """Return the group of the convention of headway.functions and of others that are accepted as well."""
    return Convention(), *others


@dataclass(frozen=True)
class Exercise:
    """One part of the transformer that a learner implements; its title, equation and hints are in the file of the catalogue of its name.

    definition   the function of headway.functions, called with the roles' names
    recipe       recipe(steps, **inputs): the same function in named steps
    steps        the correct steps; one that is not listed returns its first operand
    roles        the operands in their usual order
    may_write    True if a correct function may write into its inputs, which is then noted
    probes       the inputs to test with, the simplest first
    mistakes     known mistakes
    conventions  groups of alternatives, one of each group at a time: the first unless the outputs match another
    recoveries   numbers that can be measured from a learner's function
    fused        roles of weights that a class may store concatenated in one array, such as query, key and value
    related      exercises with similar names, tried if this one explains nothing
    drawing      handling of functions that sample randomly (diagnosis.adapters.drawing): "read" their probabilities, or return the
                 "likeliest" token from every draw; None for no handling
    is_trained_through  True if gradients must flow through the function
    calls        name of the ways to call it (diagnosis.adapters), for what is neither a function of the roles nor a class that
                 holds their weights, such as a KV cache
    class_calls  name of the further ways to call a class, one that is trained for example
    """

    name: str
    definition: Callable[..., Any]
    recipe: Callable[..., Any]
    steps: Mapping[str, Any]
    roles: tuple[Role, ...]
    probes: Callable[[], tuple[Probe, ...]]
    mistakes: tuple[Mistake, ...]
    conventions: tuple[tuple[Convention, ...], ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    fused: tuple[tuple[str, ...], ...] = ()
    related: tuple[str, ...] = ()
    drawing: str | None = None
    is_trained_through: bool = True
    calls: (
        Literal["block", "cache", "clipping", "generate", "layer", "mask", "model", "optimizer", "schedule", "stack", "tokenizer"] | None
    ) = None
    may_write: bool = False
    class_calls: Literal["trainer", "regressor"] | None = None

    @property
    def title(self) -> Message:
        """Title in both languages."""
        return Sentence(self.name, ("title",))

    @property
    def equation(self) -> str:
        """The equation as text, of one or more lines."""
        return read(self.name)["equation"]

    @property
    def hints(self) -> tuple[Message, ...]:
        """Three hints, each more explicit than the one before."""
        return tuple(Sentence(self.name, ("hints", place)) for place in range(NUM_HINTS))

    @property
    def inputs(self) -> tuple[Inputs, ...]:
        """The inputs of all probes, which are made once and must not be changed."""
        return tuple(probe.inputs for probe in self.kept_probes)

    @property
    def kept_probes(self) -> tuple[Probe, ...]:
        """The probes, which are made once and must not be changed."""
        return _probes_of(self.probes)

    def answer(self, inputs: Inputs, mistakes: tuple[Mistake, ...] = (), conventions: tuple[Convention, ...] = ()) -> Any:
        """Return the recipe's output with these mistakes; without any, the correct output under these conventions."""
        steps = dict(self.steps)
        changes: tuple[Convention | Mistake, ...] = (*conventions, *mistakes)
        for each in changes:
            steps |= each.steps
        return self.recipe(Steps(steps), **inputs)


@lru_cache(maxsize=256)
def _probes_of(probes: Callable[[], tuple[Probe, ...]]) -> tuple[Probe, ...]:
    return probes()


def unchanged(operand: Any, *others: Any) -> Any:
    """Return the first operand: the step of a recipe that only a mistake or a convention replaces."""
    return operand


class Steps:
    """Steps as attributes, so that a recipe reads like a derivation; one that is not given is `unchanged`.

    noted   conversion of every step, such as one that records its operands
    """

    def __init__(self, steps: Mapping[str, Any], noted: Callable[[Any], Any] = lambda step: step) -> None:
        self._steps, self._noted = steps, noted

    def __getattr__(self, name: str) -> Any:
        return self._noted(self._steps.get(name, unchanged))
