"""What an exercise is: the definition, how people call it, what it is probed with, and what people get wrong.

An exercise's `recipe` says the definition again in named steps. A mistake replaces a step, and two mistakes in different steps
make a pair; so every mistake has an answer of its own to every probe, and a learner's function that gives those answers has
made that mistake. A test equates the recipe, with nothing replaced, with the definition in headway.functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.practice.message import Message

MISSING: Any = object()
"""Stands for "nothing to pass": probes without the role are left out where a function insists on it."""

Inputs = dict[str, Any]
"""What a probe gives, by role: NumPy arrays in float64 (or whole numbers), and scalars."""

Step = Callable[..., Any]


@dataclass(frozen=True)
class Role:
    """One operand, whatever a learner calls it.

    name      the word of headway.functions
    called    what people call it, in lower case, beside that
    neutral   what is passed where a probe has none and the learner's parameter has no default; MISSING leaves the probe out;
              a function says it of the probe's inputs
    is_size   whether it is a whole number that a class is made with, or a function told
    size_of   inputs → that number, where it follows from them; probes then do not hold it
    beside    sizes beside which it means something else, and then inputs → that number: one width of everything, or that of the input
    is_weight    whether a class holds it itself: it is then set into the instance, not passed
    is_optional  whether a class that holds weights may do without this one
    held_as      what is left of a class's own name for it without words such as proj, linear, weight: "q" of W_q and q_proj.weight
    is_part      whether it is a part that a class may be handed ready made: size_of then says of what it is made
    may_change   whether a right function may change it in place, such as counts that it adds to
    """

    name: str
    called: tuple[str, ...] = ()
    neutral: Any = MISSING
    is_size: bool = False
    size_of: Callable[[Inputs], Any] | None = None
    beside: tuple[tuple[str, ...], Callable[[Inputs], Any] | None] = ((), None)
    is_weight: bool = False
    is_optional: bool = False
    held_as: tuple[str, ...] = ()
    is_part: bool = False
    may_change: bool = False


@dataclass(frozen=True)
class Probe:
    """Inputs that separate a mistake from its neighbours.

    inputs   by role; a role that a learner's function has no parameter for makes the probe be left out
    beyond   what such inputs are, where a right function may refuse them ("more than one row"); None where it may not; no words
             where that is not worth a word
    caution  what to say of a function that is right on all else and wrong here, and is called correct nonetheless;
             beside `beyond`, of one that no known mistake explains here
    """

    name: str
    inputs: Inputs
    beyond: Message | None = None
    caution: Message | None = None


@dataclass(frozen=True)
class Mistake:
    """A step done wrong.

    steps    the wrong steps by name
    says     what was done
    fix      what to change
    hides    why an example of one's own may not show it; None where any example does
    pattern  a regular expression for the line where it stands, looked for in the learner's source
    said_as  the name it goes by in a verdict, where it is one of several ways to make one mistake; its own by default
    """

    name: str
    steps: Mapping[str, Step]
    says: Message
    fix: Message
    hides: Message | None = None
    pattern: str | None = None
    said_as: str | None = None


@dataclass(frozen=True)
class Recovery:
    """A number read off a learner's function, such as its scale or its epsilon.

    measure    ask → for some inputs, the number as the function uses it; empty where it cannot be read.
               ask(inputs) is the function's answer as NumPy, or Raised
    step       the step that the number belongs to
    wrong      number_of → that step with the number in it; number_of(sizes) is the number under some sizes
    sizes      the sizes that the number may be made of, by how a person writes them, for some inputs
    right      the number it must be, for some inputs, and how a person writes it
    says       with places for {value}, {names}, {right}, {right_name}
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
    pattern: str | None = None


@dataclass(frozen=True)
class Convention:
    """One of several right ways to be called.

    name     how it is said in a verdict; None for the way of headway.functions, which is not worth a word
    role     the operand it is about: where a function has no such parameter, only the first alternative is tried
    named    a regular expression for what a function calls that operand, where this holds only then
    called   a regular expression for what a function is called itself, where this holds only then
    said     a regular expression for what its source says, comments and all, where this holds only then
    among    a regular expression for the names that stand in its file, one a line, where this holds only then
    without  an operand that a function must not have a place for, where this holds only then
    encode   a probe's inputs → the inputs as this convention takes them; None where it cannot say them: the probe is left out
    decode   the function's answer → the answer as headway.functions gives it
    undo     inputs as this convention takes them → as headway.functions takes them, arrays of any library; None where nobody asks:
             only then a function in this convention can be put right for a moment, for another one that calls it
    steps    steps of the recipe that are as right as ours: another tie-break, another epsilon
    reads    ask → the convention itself, read off the function, or those that may hold (ask is as in Recovery); None where none does
    """

    name: Message | None = None
    encode: Callable[[Inputs], Inputs | None] = lambda inputs: inputs
    decode: Callable[[Any, Inputs], Any] = lambda answer, inputs: answer
    undo: Callable[[Inputs], Inputs] | None = None
    role: str | None = None
    named: str | None = None
    called: str | None = None
    said: str | None = None
    among: str | None = None
    without: str | None = None
    steps: Mapping[str, Step] = field(default_factory=dict)
    reads: Callable[[Callable[[Inputs], Any]], Convention | Sequence[Convention] | None] | None = None


@dataclass(frozen=True)
class Exercise:
    """One part of the transformer, as a thing to be written and checked.

    definition   the function of headway.functions, over the roles' names
    recipe       recipe(steps, **inputs): the same in steps, which `steps` holds by name
    steps        the right steps
    roles        the operands in their usual order
    called       a regular expression for the names people give it
    probes       inputs, the plainest first
    conventions  tuples of alternatives: one of each tuple holds at a time, the first unless the function's answers say otherwise
    fused        roles of weights that a class may hold side by side in one array, such as query, key and value
    related      exercises that people give the same names to, tried where this one explains nothing
    drawing      what is done with a function that draws by chance (practice.drawing): "read" its probabilities, or give it the "likeliest"
    is_trained_through  whether gradients must flow through it
    calls        subject, exercise, array library → the ways to call what is neither a function of the roles nor a class that holds
                 their weights, such as a cache
    """

    name: str
    title: Message
    definition: Callable[..., Any]
    recipe: Callable[..., Any]
    steps: Mapping[str, Any]
    roles: tuple[Role, ...]
    called: str
    probes: Callable[[], tuple[Probe, ...]]
    mistakes: tuple[Mistake, ...]
    conventions: tuple[tuple[Convention, ...], ...] = ()
    recoveries: tuple[Recovery, ...] = ()
    equation: str = ""
    hints: tuple[Message, ...] = field(default=())
    fused: tuple[tuple[str, ...], ...] = ()
    related: tuple[str, ...] = ()
    drawing: str | None = None
    is_trained_through: bool = True
    calls: Callable[..., list[Any]] | None = None

    def answer(self, inputs: Inputs, mistakes: tuple[Mistake, ...] = (), conventions: tuple[Convention, ...] = ()) -> Any:
        """The recipe's answer with these steps done wrong; with none, the right one under these conventions."""
        steps = dict(self.steps)
        changes: tuple[Convention | Mistake, ...] = (*conventions, *mistakes)
        for each in changes:
            steps |= each.steps
        return self.recipe(_Steps(steps), **inputs)


class _Steps:
    """Steps by attribute, so that a recipe reads as a derivation."""

    def __init__(self, steps: Mapping[str, Step]) -> None:
        self.__dict__.update(steps)
