"""Readings of a constructor: the role of each parameter by its name, by the file's examples and by its use."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import DEVICE, FILL_VALUE, Binding, fits_name
from headway.practice.diagnosis.calls.rotation import turned
from headway.practice.diagnosis.calls.wording import NOTHING, WIDTH, WIDTH_OF_WORDS, is_named, roles_of_names, snake
from headway.practice.diagnosis.classes.chosen_values import is_layer, value_by_name
from headway.practice.diagnosis.classes.configs import (
    is_size_role,
)
from headway.practice.diagnosis.classes.flags import CAUSAL, causal_text
from headway.practice.diagnosis.classes.input_widths import input_widths, is_width_of_all_heads
from headway.practice.diagnosis.classes.no_effect import stored_as
from headway.practice.diagnosis.classes.shown import is_plain_name, shown_bindings
from headway.practice.diagnosis.classes.submodules import is_part
from headway.practice.diagnosis.classes.usages import Usage
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.recipes.projections import joined_weights

BASE, OF_BASE = 10000.0, r"(rope_?|rotary_?)?(theta|base)"
"""Base of rotary positions, and the pattern of its name."""


OF_ROTATION = r"(rope|rotary|rotary_emb(edding)?)(_?(module|layer))?"
"""Pattern of the names of parts that rotate."""


def as_used(made: Binding, subject: Subject, exercise: Exercise) -> Binding:
    """Return the roles of a constructor's parameters by their use: the length of the input for one that is reshaped to, a divisor for a scale.

    A shape that is annotated as a number is a width.
    """
    roles = {role.name: role for role in exercise.roles}
    annotations = {each.name: getattr(each.annotation, "__name__", each.annotation) for each in subject.parameters}
    inputs = input_widths(subject.parameters, subject.own_source)

    def as_used(name: str, role: Role) -> Role:
        if role.name == "context_length" and "seq_len" in roles and not made.takes("seq_len") and _is_exact(name, subject):
            return roles["seq_len"]
        if role.name == "normalized_shape" and "hidden_size" in roles and annotations.get(name) == "int":
            return roles["hidden_size"]
        if role.name == "scale" and "temperature" in roles and _uses(r"/ *self\.", name, subject):
            return roles["temperature"]
        if role.name == "head_dim" and "d_out" in roles and re.search(rf"\b{re.escape(name)} *(//?|%) *(self\.)?\w*heads?\b", subject.code):
            return roles["d_out"]  # the width of all heads together
        if role.name in ("head_dim", "value_dim") and made.takes("hidden_size") and name in inputs:
            return roles["hidden_size"]
        if role.name in ("head_dim", "value_dim") and made.takes("num_heads") and is_width_of_all_heads(name, subject.code):
            return roles["hidden_size"]
        if (
            role.name == "hidden_size"
            and made.takes("d_in")
            and "head_dim" in roles
            and not made.takes("head_dim")
            and _is_per_head(name, subject)
        ):
            return roles["head_dim"]
        if role.name == "seq_len" and "x" in roles and re.search(r"(^|_)max", snake(name)) and _is_cropped(subject, role):
            return LONGEST
        is_of_rows = role.name == "vocab_size" and "positions" in roles and "max_seq_len" in roles and not made.takes("max_seq_len")
        if is_of_rows and re.fullmatch(OF_ROWS, name) and len(re.findall(OF_TABLES, subject.code)) == 1:
            return roles["max_seq_len"]
        return role

    return Binding({name: as_used(name, role) for name, role in made.role_of.items()})


def _is_per_head(name: str, subject: Subject) -> bool:
    """Return True for a width that a class multiplies by the number of heads, and never divides by it."""
    width, heads = rf"(self\.)?{re.escape(name)}\b", r"(self\.)?\w*heads?\b"
    is_factor = re.search(rf"\b{width} *\* *{heads}|\b{heads} *\* *{width}", subject.code) is not None
    return is_factor and re.search(rf"\b{width} *(//?|%) *{heads}", subject.code) is None


def _longest(inputs: Inputs) -> int | None:
    """Return more positions than the input has, so that a table that is cropped to a wrong length differs."""
    x = inputs.get("x")
    length = inputs.get("seq_len") if x is None else x.shape[-2]
    return None if length is None else length + MORE_POSITIONS


def _is_cropped(subject: Subject, length: Role) -> bool:
    """Return True for a class that takes as many rows of a table as its input has, or as it is called with."""
    given = re.findall(r"def (?:forward|__call__)\(self, *(\w+)", subject.own_source)
    return re.search(CROPPED, subject.code) is not None or any(is_named(each, length) or re.search(r"_len(gth)?$", each) for each in given)


MORE_POSITIONS = 4
"""Rows of a table after those of the positions of a probe."""


LONGEST = Role("longest_seq_len", is_size=True, size_of=_longest)
"""Number of the rows of a table of positions of which a class takes the first."""


CROPPED = r"\[([^][\n]*, *)?: *(\w+\.(size\(|shape\b)|(?!max)(\w*_)?(len|length|seqlen|tokens|positions|t|l|s|n)\b *[-+,\]])"
"""Pattern of the source of a class that takes as many rows of a table as its input has."""


OF_ROWS, OF_TABLES = r"(n|num)_embeddings?", r"\b(Embedding|Parameter|Embed)\("
"""Patterns of the name of a number of rows of any table, and of the source of a table: the only one of a class for positions is theirs."""


def bases_of_powers(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Role]:
    """Return the parameter of a constructor that the class raises to a power, whatever its name, with the role of a base."""
    base = next((role for role in exercise.roles if role.name == "base"), None)
    if base is None or any(is_named(each.name, base) for each in parameters):
        return {}
    return {each.name: base for each in parameters if _uses(r"self\.", each.name, subject, after=r" *\*\* *[(-]")}


RESHAPED = r"\.(?:reshape|view|unflatten|expand)\([^\n]*\bself\."
"""Pattern of a call that gives an array a shape with an attribute in it, up to the attribute's name."""


def _is_exact(name: str, subject: Subject) -> bool:
    """Return True for a length to which a class reshapes its input, or a part that it passes the length on to."""
    if _uses(RESHAPED, name, subject):
        return True
    is_passed_on = re.search(rf"= *[\w.]+\([^()]*\b{re.escape(name)}\b", subject.code) is not None
    return is_passed_on and re.search(rf"{RESHAPED}{re.escape(name)}\b", subject.used_source) is not None


def _uses(before: str, name: str, subject: Subject, after: str = "") -> bool:
    """Return True if the attribute that holds a constructor's parameter is between two patterns in a class."""
    stored = stored_as(name, subject)
    return stored is not None and re.search(rf"{before}{stored}\b{after}", subject.code) is not None


def constructor_readings(
    parameters: Sequence[inspect.Parameter], exercise: Exercise, examples: Sequence[Usage], subject: Subject
) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the readings of a constructor by names and by the file's examples, those first if a name says nothing.

    A parameter is no size if its annotation says so, or if the class calls it.
    """
    others = {each.name for each in parameters if re.search(OF_OTHERS, str(each.annotation)) or is_part(each.name, subject, is_called=True)}
    roles = _constructor_roles(exercise)
    by_name = itertools.chain(_projected(parameters, exercise, subject), _ByName(parameters, exercise, others, subject.used_source))
    first = next(by_name, None)
    by_example = [
        each
        for each in shown_bindings(examples, parameters, roles)
        if first is None or each[1] or dict(each[0].role_of) != dict(first[0].role_of)
    ]
    unclear = [each for each in parameters if each.default is each.empty and not is_plain_name(each.name, roles)]
    is_doubtful = not all(re.fullmatch(rf"{WIDTH_OF_OPERAND}|{WIDTH_OF_WORDS}", each.name) for each in unclear)
    given = [] if first is None else [first]
    readings = itertools.chain(by_example, given, by_name) if is_doubtful else itertools.chain(given, by_example, by_name)
    yield from itertools.islice(readings, MAX_READINGS)


def _projected(parameters: Sequence[inspect.Parameter], exercise: Exercise, subject: Subject) -> Iterator[tuple[Binding, dict[str, Any]]]:
    """Yield the reading of two widths of the same meaning, `model_dim` and `embedding_dim`, between which the class projects.

    The first may be a number of the file, as in `nn.Linear(N_EMBD, n_embd)`.
    """
    needed = [each.name for each in parameters if each.default is each.empty]
    sizes = {role.name: role for role in exercise.roles if is_size_role(role)}
    alike = len(needed) in (1, 2) and {"d_in", "d_out", "hidden_size"} <= set(sizes)
    if not alike or any(role.name != "hidden_size" for name in needed for role in roles_of_names([name], list(sizes.values())).values()):
        return
    held = [name for name, value in vars(subject.module).items() if type(value) is int] if subject.module is not None else []
    for entering, leaving in itertools.permutations(needed) if len(needed) == 2 else ((name, needed[0]) for name in held):
        of_linear = rf"Linear\(\s*(in_features *= *)?{re.escape(entering)}\s*,\s*(out_features *= *)?{re.escape(leaving)}\b"
        if len(re.findall(of_linear, subject.code)) >= MIN_PROJECTIONS:
            yield Binding({name: sizes["d_in" if name == entering else "d_out"] for name in needed}), {}


MIN_PROJECTIONS = 3
"""Number of layers of a class between the same two widths from which they are those of queries, keys and values."""


OF_OTHERS = r"\b(Callable|Module|str)\b"
"""Pattern of annotations of parameters that are no sizes."""

MOST_EXCHANGED = 3
"""Number of sizes up to which every order of them is tried."""


WIDTH_OF_OPERAND = r"(query|key|value|q|k|v)_(size|dim|width|features)|d_model_[qkvQKV]"
"""Pattern of the widths of three operands; a class that takes all three takes those of its inputs."""


OF_INPUTS = r"(q|k|v|kv|query|key|value)_(in|input)_(dim|size|features|width)"
OWN_WIDTH = rf"(d_?)?(out|output|in|input)(_(dim|size|features|width|channels))?|(ffn_)?num_(in|out)puts?|{OF_INPUTS}"
"""Patterns of the names of the widths of the inputs of an attention, and of the width of the output, or of the input, of a part that keeps its width."""


UNMISTAKABLE = ("vocab_size",)
"""Sizes whose names mean nothing else, so that no other reading is tried."""


OF_BATCH = r"batch(_size)?|bsz?|n(um)?_batch"
"""Pattern of the name of a number of sequences."""


UNUSED_SIZE = 2
MAX_READINGS = 40
"""Number of readings of a constructor that are tried."""


class _ByName:
    """Readings of a constructor by the names of its parameters, likeliest first.

    listed    roles of the parameters whose names are listed for a role
    numbers   parameters that are no weights
    bound     those and the roles that the words of the other names mean
    fixed     values of parameters that have no role
    unknown   required parameters that have neither
    left      sizes that no parameter has
    """

    def __init__(self, parameters: Sequence[inspect.Parameter], exercise: Exercise, others: Collection[str], source: str) -> None:
        self._parameters, self._exercise, self._others = parameters, exercise, others
        self._order = [each.name for each in parameters]
        self._roles = [*_constructor_roles(exercise), *_fused_weight(parameters, exercise)]
        self._sizes = [role for role in self._roles if is_size_role(role)]
        self._numbers = {each.name for each in parameters if _is_number(each, source)}
        self._listed = self._roles_listed()
        self._entering = [name for name in self._order if re.fullmatch(OF_INPUTS, name)]
        self._bound = self._roles_meant(source)
        self._fixed: dict[str, Any] = {each.name: FILL_VALUE.neutral for each in self._absent if fits_name(each.name, FILL_VALUE)}
        self._unknown: list[str] = []
        for parameter in parameters:
            if parameter.default is parameter.empty and parameter.name not in self._bound:
                self._give_value(parameter, source)
            elif (width := self._bound_width) is not None and self._repeats_width(parameter):
                self._bound[parameter.name] = width
        self._left = [role for role in exercise.roles if role.is_size and role.name != DEVICE.name and role not in self._bound.values()]
        self._sized = [name for name in self._order if self._bound.get(name) in self._sizes and self._bound[name].name not in UNMISTAKABLE]

    def __iter__(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        yield from self._with_weights_left_out()
        yield from self._with_widths_of_inputs()
        yield from self._with_every_choice()
        yield from self._with_rotation()
        yield from self._with_other_sizes()
        yield from self._with_less()

    @property
    def _absent(self) -> list[inspect.Parameter]:
        """The parameters whose default is None."""
        return [each for each in self._parameters if each.default is None]

    def _role(self, *names: str) -> Role | None:
        return next((role for name in names for role in self._roles if role.name == name), None)

    def _roles_listed(self) -> dict[str, Role]:
        exact, listed = {*self._order} & {*UNMISTAKABLE}, dict[str, Role]()
        for name in self._order:
            open_roles = [each for each in self._roles if each not in listed.values() and (each.name not in exact or each.name == name)]
            role = next((each for each in open_roles if is_named(name, each) and not (each.is_weight and name in self._numbers)), None)
            if role is not None:
                listed[name] = role
        return listed

    def _roles_meant(self, source: str) -> dict[str, Role]:
        listed = self._listed
        names = [name for name in self._order if name not in self._entering and (name not in listed or is_size_role(listed[name]))]
        meant = roles_of_names(names, self._sizes).items()
        bound = listed | {name: role for name, role in meant if _can_be_size(name, role, self._parameters)}
        bound |= _factors(bound, self._sizes, source)
        layers = {each.name for each in self._absent if each.name in self._others}
        return {name: role for name, role in bound.items() if not (name in layers and is_size_role(role))}

    @property
    def _bound_width(self) -> Role | None:
        """The role of the width, if a parameter has it."""
        return next((role for role in self._bound.values() if role.name == "hidden_size"), None)

    def _repeats_width(self, parameter: inspect.Parameter) -> bool:
        """Return True for a parameter without a role whose name is that of a width and whose default is that of the width: `d_word_vec=512, d_model=512`."""
        is_number = parameter.name not in self._bound and type(parameter.default) is int
        return (
            is_number
            and _is_width(parameter.name)
            and any(
                each.default == parameter.default and each.name in self._bound and self._bound[each.name] is self._bound_width
                for each in self._parameters
            )
        )

    def _give_value(self, parameter: inspect.Parameter, source: str) -> None:
        """Give a value, or the width of the part, to a required parameter whose name means no role."""
        name = parameter.name
        value = False if parameter.annotation in (bool, "bool") else value_by_name(parameter)
        text = causal_text(name, source) if self._exercise.name in CAUSAL else None
        is_own = re.fullmatch(OWN_WIDTH, name) is not None and "bool" not in str(parameter.annotation)
        is_projection = {"d_in", "d_out"} & {role.name for role in self._roles}
        width = None if is_projection else self._bound_width
        if text is not None:
            self._fixed[name] = text
        elif width is not None and (is_own or (value is NOTHING and _is_width(name))):
            self._bound[name] = width
        elif value is not NOTHING:
            self._fixed[name] = value
        elif "vocab" in snake(name) and not any("vocab" in role.name for role in self._roles):
            self._fixed[name] = UNUSED_SIZE  # of a part that embeds no tokens
        elif re.fullmatch(OF_BATCH, snake(name)):
            self._fixed[name] = UNUSED_SIZE  # of a part that reads the number of its inputs from them
        else:
            self._unknown.append(name)

    def _reading(self, role_of: Mapping[str, Role], fixed: dict[str, Any] | None = None) -> tuple[Binding, dict[str, Any]]:
        """Return a reading, in which parameters without a role and a value of their own are None."""
        values = self._fixed | dict.fromkeys(self._unknown) if fixed is None else self._fixed | fixed
        return Binding({name: role_of[name] for name in self._order if name in role_of}), values

    def _with_weights_left_out(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the reading without optional weights: those of another layer, which may be shared."""
        given = {each.name for each in self._absent if each.name in self._listed and self._listed[each.name].is_weight}
        if given and given != set(self._bound) and not self._unknown:
            yield self._reading({name: role for name, role in self._bound.items() if name not in given})

    def _with_widths_of_inputs(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the reading of the widths of an attention's inputs as the width of the part."""
        three = [name for name in self._order if re.fullmatch(WIDTH_OF_OPERAND, name)]
        unknown_widths = [name for name in self._unknown if re.fullmatch(OWN_WIDTH, name)]
        entering = [*three, *unknown_widths] if len(three) == NUM_OPERANDS else self._entering
        width = self._role("d_in", "hidden_size") if entering else None
        if width is not None:
            yield self._reading(self._bound | dict.fromkeys(entering, width), dict.fromkeys(set(self._unknown) - set(entering)))

    def _with_every_choice(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the readings of unknown parameters as each of the sizes left, or as none."""
        choices = [[NOTHING] if name in self._others else [*self._left, NOTHING] for name in self._unknown]
        for choice in itertools.product(*choices):
            taken = {name: role for name, role in zip(self._unknown, choice, strict=True) if isinstance(role, Role)}
            if len({role.name for role in taken.values()}) == len(taken):
                yield self._reading(self._bound | taken, dict.fromkeys(name for name in self._unknown if name not in taken))

    def _with_rotation(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the readings with the base of rotary positions, or a part that rotates, which a model may have or not."""
        if self._unknown:
            return
        bases = {each.name: BASE for each in self._absent if re.fullmatch(OF_BASE, each.name.lower())}
        rotations = {each.name: turned for each in self._absent if re.fullmatch(OF_ROTATION, each.name.lower())}
        for values in (bases, rotations if self._exercise.calls == "model" else {}):
            if values:
                yield self._reading(self._bound, values)

    def _with_other_sizes(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the readings in which sizes have each other's roles, or one of them has a role that none has."""
        bound, sized = self._bound, self._sized[:MOST_EXCHANGED]
        first = [name for name in self._unknown[:1] if name not in self._others]
        for name, other, role in itertools.product(first, sized, self._left):  # n_embed, d_embed
            yield self._reading(bound | {name: bound[other], other: role}, {})
        if 2 <= len(self._sized) <= MOST_EXCHANGED:
            for exchanged in itertools.islice(itertools.permutations([bound[name] for name in sized]), 1, None):
                yield self._reading(bound | dict(zip(sized, exchanged, strict=True)))
        for name, role in itertools.product(sized, self._sizes):
            if role not in bound.values() and role.name != DEVICE.name:
                yield self._reading(bound | {name: role})
        of_heads = [name for name in self._sized if bound[name].name in ("head_dim", "value_dim")]
        width = next((role for role in self._sizes if role.name == "hidden_size"), None)
        if of_heads and width is not None:  # the width of all heads together
            yield self._reading(bound | dict.fromkeys(of_heads, width))

    def _with_less(self) -> Iterator[tuple[Binding, dict[str, Any]]]:
        """Yield the readings without options, which may exclude each other, and by the names listed alone."""
        needed = {each.name for each in self._parameters if each.default is each.empty}
        if not set(self._bound) <= needed:
            yield self._reading({name: role for name, role in self._bound.items() if name in needed})
        if self._bound != self._listed:
            yield self._reading(self._listed)


OF_SIZES = r"\b(?:Embedding|Embed|Linear|Dense|zeros|ones|empty|randn)\((?:[^()]*,)? *"
"""Pattern of a call that makes a layer or an array of some sizes, up to one of them."""


def _is_number(parameter: inspect.Parameter, source: str) -> bool:
    """Return True for a parameter that its annotation, or a layer or an array that is made with it, shows to be a whole number."""
    return parameter.annotation in (int, "int") or re.search(rf"{OF_SIZES}{parameter.name} *[,)]", source) is not None


NUM_OPERANDS = 3
"""Number of the operands of an attention: queries, keys and values."""


def _factors(bound: Mapping[str, Role], sizes: Sequence[Role], source: str) -> dict[str, Role]:
    """Return the expansion for an inner width that the source multiplies by the width: `Linear(d_model, d_model * d_mlp)`."""
    expansion = next((role for role in sizes if role.name == "expansion"), None)
    width = next((name for name, role in bound.items() if role.name == "hidden_size"), None)
    inner = next((name for name, role in bound.items() if role.name == "intermediate_size"), None)
    if expansion is None or expansion in bound.values() or width is None or inner is None:
        return {}
    product = rf"\b{width} *\* *(self\.)?{inner}\b|(?<![\w.]){inner} *\* *(self\.)?{width}\b"
    return {inner: expansion} if re.search(product, source) else {}


FRACTIONS = ("eps", "expansion")
"""Sizes that need not be whole numbers."""


def _can_be_size(name: str, role: Role, parameters: Sequence[inspect.Parameter]) -> bool:
    """Return True unless a parameter is a layer, or its default a flag, a text, or a fraction where a whole number is meant: `length_factor=1.0`."""
    parameter = next(each for each in parameters if each.name == name)
    if is_layer(parameter):
        return False
    default = parameter.default
    kinds = int | float if role.name in FRACTIONS else int
    return default is inspect.Parameter.empty or default is None or (isinstance(default, kinds) and not isinstance(default, bool))


def _is_width(name: str) -> bool:
    """Return True for the name of a width by itself: `d_model` next to `input_size`, but not `embedding`, which may be a layer."""
    return re.fullmatch(WIDTH, snake(name)) is not None and re.search("model|dim|size|width|^d_", snake(name)) is not None


def _fused_weight(parameters: Sequence[inspect.Parameter], exercise: Exercise) -> list[Role]:
    """Return the role of a fused weight for a constructor that requires one and the output weight: `w_qkv` alone may be a layer or a flag."""
    fused, output = (next((role for role in exercise.roles if role.name == name), None) for name in ("fused_weight", "output_weight"))
    needed = [each.name for each in parameters if each.default is each.empty]
    if fused is None or output is None or not all(any(is_named(name, role) for name in needed) for role in (fused, output)):
        return []
    return [replace(fused, size_of=joined_weights)]


def _constructor_roles(exercise: Exercise) -> list[Role]:
    """Return the roles that a constructor may take: weights, sizes, scalars, optional operands and a tokenizer."""
    arrays = {name for inputs in exercise.inputs for name, value in inputs.items() if isinstance(value, numpy.ndarray)}
    scalars = {name for inputs in exercise.inputs for name in inputs} - arrays
    return [
        role
        for role in exercise.roles
        if role.is_weight or role.is_size or role.size_of or role.name in {*scalars, "tokenizer"} or role.neutral is not MISSING
    ]
