"""Binding of the parameters of functions and classes to the operands of a definition."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy

from headway.practice.chinese_names import in_english
from headway.practice.diagnosis.calls.filling_masks import filling_masks
from headway.practice.diagnosis.calls.given_outputs import given_outputs, sizes_of_arrays, zeros_for_output
from headway.practice.diagnosis.calls.rotation import same, table_for
from headway.practice.diagnosis.calls.wording import HIDDEN_SCORE, NOTHING, is_dropout, neutral_value, snake
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Inputs, Role
from headway.practice.names import fitting
from headway.practice.recipes.rotary_forms import COSINES, SINES
from headway.practice.recipes.toy_model import CPU

FILL_VALUE = Role(
    "fill_value", ("mask_value", "mask_fill", "neg_inf", "minus_inf", "masking_minus_inf", "negative_infinity"), neutral=HIDDEN_SCORE
)
"""Parameter for the score of what a mask hides."""

MODES = (
    Role("training", ("train", "is_training", "is_train"), neutral=False),
    Role("deterministic", ("inference", "is_eval"), neutral=True),
)
"""Parameters that choose between training and evaluation."""

DEVICE = Role("device", ("dev",), neutral=CPU)

BYSTANDERS = (
    DEVICE,
    Role("dtype", ("data_type",), neutral=None),
    Role("dataset", ("data_set", "logger", "writer"), neutral=None),
    Role("verbose", ("debug", "show_progress"), neutral=False),
    *MODES,
    Role("dropout_rate", ("dropout", "dropout_p", "drop_rate", "dropout_prob", "pdrop", "p_drop", "drop_prob"), neutral=0.0),
    Role("dropout_key", ("dropout_rng", "rng_key", "prng_key", "rng"), neutral=numpy.zeros(2, numpy.uint32)),
    Role(
        "chunk_size", ("q_chunk_size", "kv_chunk_size", "query_chunk_size", "key_chunk_size", "block_q", "block_k", "block_kv"), neutral=1
    ),
    FILL_VALUE,
    Role("sliding_window", ("sliding_window_size",), neutral=1 << 20),
    Role("enable_gqa", ("use_gqa",), neutral=False),
)
"""Required parameters that affect no output."""


@dataclass(frozen=True, eq=False)
class Binding:
    """Mapping from the parameters of a learner's function to roles; other parameters keep their defaults."""

    role_of: Mapping[str, Role]

    def takes(self, role: str) -> bool:
        """Return True if the function has a parameter for a role."""
        return any(each.name == role for each in self.role_of.values())

    def left_out(self, parameters: Iterable[inspect.Parameter]) -> list[str]:
        """Return the names of the parameters that have no role, or one with a value that has no effect."""
        return [each.name for each in parameters if each.name not in self.role_of or self.role_of[each.name].name.startswith(NO_EFFECT)]


def bind(subject: Subject, roles: Sequence[Role], style: int = 0) -> Binding | None:
    """Match parameters to roles, first by name, then by position; None if a required parameter matches no role.

    style   shape of tables of rotary positions that a function of attention takes
    """
    others = {name: Role(f"{GIVEN}{name}", size_of=lambda inputs: same) for name in _dropouts_called(subject)}
    others |= {name: Role(f"{NO_EFFECT}{name}", neutral=None) for name in _weights_not_read(subject, roles)}
    others |= _given_outputs(subject, roles)
    others |= {name: Role(f"{NO_EFFECT}{name}", neutral=UNLIMITED) for name in _two_sided_windows(subject, roles)}
    others |= {name: Role(f"{NO_EFFECT}{name}", neutral=kind) for name, kind in _kinds_of_parts(subject, roles).items()}
    others |= {name: Role(f"{NO_EFFECT}{name}", neutral="float32") for name in _types_as_texts(subject)}
    others |= _shares_of_smoothing(subject, roles)
    others |= _both_tables(subject, roles) | _arrays_by_default(subject, roles)
    others |= (
        _tables_of_rotation(subject, roles, style) | _bases_of_rotation(subject, roles) | masks_by_use(subject, subject.parameters, roles)
    )
    roles = [role for role in roles if role not in others.values() or role.name != "mask"]
    left = [each for each in subject.parameters if each.name not in others]
    bound = bind_parameters(left, roles, flags=subject.mask_flags, arrays=_arrays_read(subject), sliced=_sliced(subject))
    if bound is None or not others:
        return bound
    role_of = {**bound.role_of, **others}
    return Binding({each.name: role_of[each.name] for each in subject.parameters if each.name in role_of})


def masks_by_use(subject: Subject, parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the role of an optional mask under a name that no role lists, of an attention without another mask: `where(keep, scores, -inf)`."""
    if any("mask" in each.name.lower() or any(role.name == "mask" and fits_name(each.name, role) for role in roles) for each in parameters):
        return {}
    unlisted = [each for each in parameters if not any(fits_name(each.name, role) for role in roles)]
    return filling_masks(unlisted, roles, subject.code)


def _arrays_read(subject: Subject) -> list[str]:
    """Return the parameters of a function that are arrays, whose shapes it reads."""
    code = subject.code.partition(":\n")[2]
    return [each.name for each in subject.parameters if re.search(rf"(?<![\w.]){each.name}\.(shape\b|size\()", code)]


def _sliced(subject: Subject) -> list[str]:
    """Return the parameters of a function that it slices, which are no sizes: `ctx[:, -block_size:]` are tokens."""
    return [each.name for each in subject.parameters if re.search(rf"(?<![\w.]){each.name}\[ *:", subject.code)]


def _dropouts_called(subject: Subject) -> list[str]:
    """Return the parameters that are layers of dropout, which a function calls; one by default, `dropout=nn.Dropout(0.1)`, is in training."""
    return [
        each.name
        for each in subject.parameters
        if is_dropout(each.name)
        and (each.default is each.empty or each.default is None or callable(each.default))
        and re.search(rf"(?<![\w.]){each.name}\(", subject.code.partition(":\n")[2])
    ]


def _kinds_of_parts(subject: Subject, roles: Sequence[Role]) -> dict[str, str]:
    """Return the required parameters of a function that it compares with texts, and the only text that names a part: `method == "cross_entropy"`."""
    if inspect.isclass(subject.value):
        return {}
    compared = {
        name: re.findall(rf"(?<![\w.]){name}(?:\.lower\(\))? *== *['\"](\w+)['\"]", subject.code) for name in _unlisted(subject, roles)
    }
    parts = {name: [text for text in dict.fromkeys(texts) if fitting(text)[0]] for name, texts in compared.items() if len(texts) > 1}
    return {name: texts[0] for name, texts in parts.items() if len(texts) == 1}


def _types_as_texts(subject: Subject) -> list[str]:
    """Return the required parameters of a function that name a type of numbers in a library: `getattr(jnp, dtype)`."""
    if inspect.isclass(subject.value):
        return []
    read = {*re.findall(r"\bgetattr\((?:np|numpy|jnp|jax\.numpy|torch|mx), *(\w*dtype)\)", subject.code)}
    return [each.name for each in subject.parameters if each.default is each.empty and each.name in read]


WEIGHT = r"(?i)(w|b|weights?|bias)(_?[a-z0-9]{1,2})?|[a-z]+_(w|b|weights?|bias)"
"""Pattern of the names of weights."""


def _weights_not_read(subject: Subject, roles: Sequence[Role]) -> list[str]:
    """Return the required parameters for weights that a function never reads, of a part without weights: those of its caller."""
    if inspect.isclass(subject.value) or any(role.is_weight for role in roles):
        return []
    return [name for name in _unlisted(subject, roles) if re.fullmatch(WEIGHT, name) and len(re.findall(rf"\b{name}\b", subject.code)) == 1]


def _given_outputs(subject: Subject, roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of the parameters for arrays that a function writes its output into, `out[i] = …`, and of sizes next to them."""
    names = [] if all(role.name not in ("x", "query") for role in roles) else given_outputs(subject)
    if not names:
        return {}
    unlisted = _unlisted(subject, roles)
    sizes = sizes_of_arrays([each.name for each in subject.parameters if each.name in unlisted or each.annotation in (int, "int")])
    found = {name: Role(f"{NO_EFFECT}{name}", size_of=zeros_for_output, may_change=True) for name in names}
    return found | {name: Role(f"{NO_EFFECT}{name}", size_of=size) for name, size in sizes.items()}


UNLIMITED = (-1, -1)
"""Window without limits on both sides, in the form of FlashAttention."""

WINDOW = r"(?i)(sliding_?|attention_|attn_|local_)?window(_?size)?"
"""Pattern of the names of windows."""


def _two_sided_windows(subject: Subject, roles: Sequence[Role]) -> list[str]:
    """Return the required parameters of an attention for windows before and after a query: `window_size[0]`, `left, right = window_size`."""
    if inspect.isclass(subject.value) or all(role.name != "query" for role in roles):
        return []
    names = [name for name in _unlisted(subject, roles) if re.fullmatch(WINDOW, name)]
    return [name for name in names if re.search(rf"\b{name}\[[01]\]|(?m:^ *\w+, *\w+ *= *{name}$)", subject.code)]


def _unlisted(subject: Subject, roles: Sequence[Role]) -> list[str]:
    """Return the required parameters whose names no role lists."""
    return [
        each.name for each in subject.parameters if each.default is each.empty and not any(fits_name(each.name, role) for role in roles)
    ]


BOTH_TABLES = r"(?m)^\s*\w*(?:cos|sin)\w*, *\w*(?:cos|sin)\w* *= *(\w+)$"
"""Pattern of the statement that takes cosines and sines from one parameter."""


HELD_TABLES = rf"(?s)(?<![\w.])(\w+)\.{COSINES}\b(?!\().*(?<![\w.])\1\.{SINES}\b(?!\()"
"""Pattern of the source of a function that reads cosines and sines as attributes of one object."""


def _both_tables(subject: Subject, roles: Sequence[Role]) -> dict[str, Role]:
    """Return the role of a parameter under any name that holds cosines and sines: `cos, sin = waves`, `cos = cache.cos[positions]`."""
    tables = next((role for role in roles if role.name == "tables"), None)
    is_taken = tables is not None and not inspect.isclass(subject.value)
    names = {*re.findall(BOTH_TABLES, subject.code), *re.findall(HELD_TABLES, subject.code)} if is_taken else set()
    return {name: tables for name in _unlisted(subject, roles) if name in names and len(names) == 1 and tables is not None}


def _tables_of_rotation(subject: Subject, roles: Sequence[Role], style: int) -> dict[str, Role]:
    """Return the roles of the tables of rotary positions that a function of attention requires: `attention(q, k, v, cos, sin)`."""
    if inspect.isclass(subject.value) or all(role.name != "query" for role in roles):
        return {}
    tables = {name: table_for(name, style) for name in _unlisted(subject, roles)}
    return {name: Role(f"{TABLE}{name}", size_of=table) for name, table in tables.items() if table is not None}


BASE = Role("theta", ("rope_theta", "rope_base", "theta_base", "rotary_base", "freq_base"), neutral=10000.0)
"""Base of the angles of rotary positions, which a function of attention with rotary positions requires."""


def _bases_of_rotation(subject: Subject, roles: Sequence[Role]) -> dict[str, Role]:
    """Return the role of the base of rotary positions that a function of attention requires: `attention(…, theta, x)`."""
    if inspect.isclass(subject.value) or all(role.name != "query" for role in roles):
        return {}
    return {name: Role(f"{NO_EFFECT}{name}", neutral=BASE.neutral) for name in _unlisted(subject, roles) if fits_name(name, BASE)}


def _shares_of_smoothing(subject: Subject, roles: Sequence[Role]) -> dict[str, Role]:
    """Return the role of the share that a loss with smoothed targets takes from them: a required `epsilon` next to `1 - epsilon`, no guard of a logarithm."""
    smoothing = next((role for role in roles if role.name == "smoothing"), None)
    if smoothing is None or not re.search(r"smooth", subject.short_name, re.IGNORECASE):
        return {}
    shares = [name for name in _unlisted(subject, roles) if re.search(rf"\b1(\.0?)? *- *{re.escape(name)}\b", subject.code)]
    return {name: smoothing for name in shares if len(shares) == 1}


def _arrays_by_default(subject: Subject, roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of optional numbers whose axes a function reads, which its callers give as arrays: `scale=1`, `scale.ndim == 2`."""
    return {
        each.name: Role(f"{GIVEN}{each.name}", neutral=numpy.asarray(float(each.default)))
        for each in subject.parameters
        if isinstance(each.default, int | float)
        and not isinstance(each.default, bool)
        and not inspect.isclass(subject.value)
        and not any(fits_name(each.name, role) for role in roles)
        and re.search(rf"\b{each.name}\.(ndim|shape|dim\(|size\()", subject.code)
    }


CONSTRUCTOR_PREFIX = "constructor__"
"""Start of the names of a constructor's parameters next to those of its class's call."""


def _trains(parameter: inspect.Parameter) -> bool:
    """Return True for a flag whose default is training, which drops elements at random."""
    return any(fits_name(parameter.name, mode) and parameter.default is (not mode.neutral) for mode in MODES)


TARGETS = Role("targets", ("t", "target", "label", "labels", "y_true"))
"""Names of targets that make `y` the predictions next to them."""


def _likeliest_first(parameter: inspect.Parameter, parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> list[Role]:
    """Return the roles that a parameter's name fits, likeliest first.

    A name of several roles, such as hidden_dim, or `a` next to `lr`, is not the one that another parameter's name alone can mean. A role that
    lists it last comes last: `v` is a mean only next to `s`.
    """
    meant = [role for role in roles if fits_name(parameter.name, role)]
    if parameter.annotation in (int, "int"):  # of `h: int`, the number of heads, not the hidden states
        meant = [role for role in meant if role.size_of is not None] or meant
    if len(meant) < 2:
        return meant
    others = ([role for role in roles if fits_name(each.name, role)] for each in parameters if each is not parameter)
    taken = [fitting[0] for fitting in others if len(fitting) == 1]
    left = [role for role in meant if role not in taken] or meant
    name = parameter.name.lower()
    if not all(role.is_size for role in meant):
        return sorted(left, key=lambda role: role.called[-1:] == (name,))
    return sorted(left, key=lambda role: role.called.index(name) if name in role.called else -1)


def bind_parameters(
    parameters: Sequence[inspect.Parameter],
    roles: Sequence[Role],
    *,
    unnamed: Sequence[Role] | None = None,
    flags: Collection[str] = (),
    arrays: Collection[str] = (),
    sliced: Collection[str] = (),
) -> Binding | None:
    """Match a list of parameters to roles.

    unnamed   roles that a parameter with an unknown name may take; any by default
    flags     parameters for masks that are True or False: they ask for a causal mask
    arrays    parameters that are no numbers
    sliced    parameters that are no sizes
    """
    bound: dict[str, Role] = {}
    free = list(roles)
    exact = {parameter.name for parameter in parameters} & {role.name for role in roles if not role.is_size}
    if any(each.name == "key" and each.default is None for each in parameters) and any(each.name == "k" for each in parameters):
        exact -= {"key"}  # that of random numbers
    for parameter in parameters:
        if parameter.name in flags:
            asked = next((role for role in free if role.name == "is_causal"), None)
            if asked is not None or parameter.default is parameter.empty:
                bound[parameter.name] = asked or Role(f"{NO_EFFECT}{parameter.name}", neutral=False)
            free = [role for role in free if role is not asked]
            continue
        meant = _likeliest_first(parameter, [each for each in parameters if each.name not in bound], free)
        meant = [role for role in meant if not (role.is_size and parameter.name in sliced)]
        role = next((role for role in meant if role.name == parameter.name or role.name not in exact), None)
        if role is not None and role.name == "positions" and type(parameter.default) is int:  # the first of them
            role = next((role for role in free if role.name == "offset"), role)
        if role is not None and role.name == "scale" and _is_switch(parameter):
            free.remove(role)
            bound |= {parameter.name: Role(f"{GIVEN}{parameter.name}", neutral=True)} if parameter.default is not True else {}
            continue
        if role is not None and (_is_small(parameter, role) or (role.is_weight and _is_function(parameter, role))):
            continue
        if role is not None and role.name == "encoder_mask" and _is_beside_padding(parameter, parameters):
            continue
        is_prediction = parameter.name.lower() == "y" and any(fits_name(each.name, TARGETS) for each in parameters)
        if role is not None and not (is_prediction and role.name == TARGETS.name):
            bound[parameter.name] = role
            free.remove(role)
    worded = operands_by_word([each for each in parameters if each.name not in bound and each.default is each.empty], free)
    bound |= worded
    free = [role for role in free if role not in worded.values()]
    for parameter in parameters:
        if parameter.name in bound or parameter.name in flags or not (parameter.default is parameter.empty or _trains(parameter)):
            continue
        bystander = next((role for role in BYSTANDERS if fits_name(parameter.name, role)), None)
        if bystander is None and re.search(r"\bdevice\b", str(parameter.annotation)):
            bystander = DEVICE
        may_be_none = re.search(r"\bOptional\b|\bNone\b", str(parameter.annotation)) is not None or not parameter.name.strip("_")
        if bystander is None and (parameter.name.lower().endswith("dtype") or may_be_none):
            bystander = Role(f"{NO_EFFECT}{parameter.name}", neutral=None)
        suiting = (role for role in free if not (role.may_change and role.neutral is None) and role.name != DEVICE.name)
        by_place = (role for role in suiting if unnamed is None or role in unnamed)
        is_array = parameter.name in arrays
        role = bystander or next((each for each in by_place if not (is_array and type(each.neutral) in (int, float))), None)
        if role is None:
            return None
        bound[parameter.name] = role
        if role in free:
            free.remove(role)
    return Binding({each.name: bound[each.name] for each in parameters if each.name in bound})


def _is_switch(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter that is True or False: `scale: bool = True`."""
    return isinstance(parameter.default, bool) or parameter.annotation in (bool, "bool")


LARGE, SMALL = 1000, 16


def _is_small(parameter: inspect.Parameter, role: Role) -> bool:
    """Return True if a parameter of one letter has a small default where the role's usual number is large: `n=3` is no base of 10000."""
    is_large = isinstance(role.neutral, int | float) and role.neutral >= LARGE
    return is_large and len(parameter.name) == 1 and type(parameter.default) is int and parameter.default < SMALL


def _is_function(parameter: inspect.Parameter, role: Role) -> bool:
    """Return True for a parameter whose default is a function, such as an activation: `gate=sigmoid`, other than the one that makes the weight."""
    return callable(parameter.default) and parameter.default is not parameter.empty and parameter.default is not role.neutral


def _is_beside_padding(parameter: inspect.Parameter, parameters: Sequence[inspect.Parameter]) -> bool:
    """Return True for an optional mask of scores next to one of padding: `memory_mask=None, memory_key_padding_mask=None`."""
    of_padding = re.sub(r"(^|_)mask$", r"\1key_padding_mask", parameter.name)
    return parameter.default is None and of_padding != parameter.name and any(each.name == of_padding for each in parameters)


OPERANDS = ("query", "key", "value", "context")
NO_OPERAND = r"mask|len|cache|past|dim|size|num|head|weight|proj|norm|(^|_)w(_|$)|rng|pad"
"""Pattern of the names of what is no sequence."""


def operands_by_word(parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of two or three sequences of an attention by the words in their names: query_X, key_X; enc_k, enc_v; encoder_out, decoder_state."""
    found: dict[str, Role] = {}
    for parameter in parameters:
        name = snake(parameter.name)
        words = [] if re.search(NO_OPERAND, name) else name.split("_")
        meant = [role for role in roles if role.name in OPERANDS and any(fits_name(word, role) for word in words)]
        if len(meant) == 1 and meant[0] not in found.values():
            found[parameter.name] = meant[0]
    return found if len(found) > 1 else {}


TABLE = "table of "
"""Start of the names of roles for tables of rotary positions."""

NO_EFFECT = "neutral "
"""Start of the names of roles for what has no effect here."""

GIVEN = f"{NO_EFFECT}given "
"""Start of the names of those roles that are given a value in place of a parameter's default."""


def bind_call(
    parameters: Sequence[inspect.Parameter],
    roles: Sequence[Role],
    style: int = 0,
    called: Collection[str] = (),
    flags: Collection[str] = (),
) -> Binding | None:
    """Match the parameters of a method; those whose names say that they have no effect here get a neutral value.

    Such parameters are a cache, a first position or a flag, if they need a value at all.

    style    shape of tables of rotary positions
    called   parameters that are called: parts that rotate
    flags    parameters for masks that are True or False
    """
    listed = {each.name for each in parameters if any(fits_name(each.name, role) for role in roles)}
    masks = _masks([each for each in parameters if each.name not in flags], roles)
    roles = [role for role in roles if role not in masks.values()]
    required = [each for each in parameters if each.default is each.empty]
    neutral = _positions(required, roles)
    roles = [role for role in roles if role not in neutral.values()]
    inputs = [each for each in required if "mask" not in each.name.lower()]
    if len(inputs) == 1 and inputs[0].annotation not in (int, "int"):  # forward(batch): the sequences, not their number
        roles = [role for role in roles if not (role.name == "batch_size" and fits_name(inputs[0].name, role))]
    is_unlisted = not any(each.name in listed for each in inputs)
    for each in required if len(inputs) > 1 else ():  # a single one is the input, even if its name is `idx`
        table = table_for(each.name, style)
        if each.name in {*listed, *neutral, *flags} or (is_unlisted and re.fullmatch(OF_TOKENS, each.name.lower())):
            continue
        if table is not None and each.name in called:
            neutral[each.name] = Role(f"{NO_EFFECT}{each.name}", size_of=lambda inputs: same)
        elif table is not None:
            neutral[each.name] = Role(f"{TABLE}{each.name}", size_of=table)
        elif neutral_value(each.name) is not NOTHING:
            neutral[each.name] = Role(f"{NO_EFFECT}{each.name}", neutral=neutral_value(each.name))
    binding = bind_parameters([each for each in parameters if each.name not in neutral and each.name not in masks], roles, flags=flags)
    if binding is None:
        return None
    neutral |= masks
    return Binding(
        {
            each.name: neutral.get(each.name) or binding.role_of[each.name]
            for each in parameters
            if each.name in neutral or each.name in binding.role_of
        }
    )


OF_POSITIONS = r"(?!start|cur|offset|last|first|max|past|cache|input|layer)(\w+_)?pos(ition)?s?(_(ids?|idx|index|indices))?"
"""Pattern of the names of the positions of all tokens, other than the first or the last one."""


def _positions(required: Sequence[inspect.Parameter], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the role of the only required parameter for positions under a name that no role lists, of a part that rotates at positions: `token_pos`."""
    positions = next((role for role in roles if role.name == "positions"), None)
    if positions is None or any(fits_name(each.name, positions) for each in required):
        return {}
    unlisted = [each for each in required if not any(fits_name(each.name, role) for role in roles)]
    named = [each.name for each in unlisted if re.fullmatch(OF_POSITIONS, each.name.lower()) and each.annotation not in (int, "int")]
    return dict.fromkeys(named, positions) if len(named) == 1 else {}


OF_TOKENS = r"(?!layer|block|head|expert|pos|step)(\w+_)?idx"
"""Pattern of names that mean a sequence if no other parameter does, and otherwise the number of a layer."""

OF_QUERIES = r"q(uery|ueries)?_"
"""Start of the name of a mask of queries, which hides no keys."""

OF_SOURCE = r"cross|enc|src|source|memory|(^|_)e(_|$)"
"""Words in the name of a mask for the encoder's output."""


OF_LENGTHS = r"\w+_(lens|lengths)"
"""Pattern of the names of numbers of positions, one for each sequence, under a name that says whose: `context_lengths`."""


SOURCES = ("encoder", "source", "memory")
"""Starts of the names of the roles of masks for the encoder's output."""


def _masks(parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> dict[str, Role]:
    """Return the roles of masks under names that no role lists: `self_attention_mask`, `cross_attention_mask`, and `context_lengths` for one by lengths."""
    found: dict[str, Role] = {}
    left_out = [*_of_absent_source(parameters, roles), *_of_own_padding(parameters, roles)]
    considered = [each for each in parameters if each.name not in left_out]
    of_masks = [role for role in roles if role.name.endswith("mask") and not any(fits_name(each.name, role) for each in considered)]
    is_by_lengths = any("lengths" in role.called for role in of_masks)
    words = rf"mask|\A{OF_LENGTHS}\Z" if is_by_lengths else "mask"
    unlisted = [
        each for each in considered if re.search(words, each.name.lower()) and not any(fits_name(each.name, role) for role in roles)
    ]
    has_source = any(role.name.startswith(SOURCES) for role in of_masks)
    of_source = [
        each
        for each in unlisted
        if re.search(OF_SOURCE, each.name.lower()) and (has_source or not re.fullmatch(OF_LENGTHS, each.name.lower()))
    ]
    for parameter in sorted(unlisted, key=lambda each: bool(re.match(OF_QUERIES, each.name.lower()))):
        is_source = parameter in of_source
        free = [role for role in of_masks if role not in found.values() and (role.name.startswith(SOURCES) == is_source or not of_source)]
        role = next((role for role in free if role.name.startswith(SOURCES) == is_source), next(iter(free), None))
        if role is not None:
            found[parameter.name] = role
        elif parameter.default is parameter.empty:
            found[parameter.name] = Role(f"{NO_EFFECT}{parameter.name}", neutral=None)
    return found


SOURCE = r"enc|memory|source|src|context"
"""Words in the name of an encoder's output."""


def _of_absent_source(parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> list[str]:
    """Return the optional masks of an encoder's output that a part without encoder may leave out: `x, memory=None, src_mask=None, tgt_mask=None`."""
    absent = [each for each in parameters if each.default is None and not any(fits_name(each.name, role) for role in roles)]
    has_source = any(re.search(SOURCE, each.name.lower()) and "mask" not in each.name.lower() for each in absent)
    if not has_source or any(role.name.startswith(SOURCES) for role in roles):
        return []
    masks = [each for each in parameters if "mask" in each.name.lower()]
    of_source = [each.name for each in masks if each.default is None and re.search(OF_SOURCE, each.name.lower())]
    return of_source if len(of_source) < len(masks) else []


def _of_own_padding(parameters: Sequence[inspect.Parameter], roles: Sequence[Role]) -> list[str]:
    """Return the optional masks of padding under names that may mean the encoder's, next to one that says so: `pad_mask=None, cross_pad_mask=None`."""
    masks = [each for each in parameters if "mask" in each.name.lower()]
    of_source = [role for role in roles if role.name.startswith(SOURCES)]
    if not any(re.search(OF_SOURCE, each.name.lower()) and not any(fits_name(each.name, role) for role in roles) for each in masks):
        return []
    listed = [each for each in masks if each.default is None and any(fits_name(each.name, role) for role in of_source)]
    return [each.name for each in listed if not re.search(OF_SOURCE, each.name.lower())]


def computed(size_of: Callable[[Inputs], Any], inputs: Inputs) -> Any:
    """Return a size; None if the inputs lack what it is computed from."""
    try:
        return size_of(inputs)
    except (KeyError, IndexError, StopIteration):
        return None


def derivation(role: Role) -> Any:
    """Return a function that computes a role's value from the other inputs, or None if it does not follow from them."""
    return role.neutral if callable(role.neutral) else role.size_of


def fits_name(name: str, role: Role) -> bool:
    """Return True if a role lists a parameter's name, or the name without a word for an array."""
    return any(each == role.name or each in role.called for each in _spellings(name))


@cache
def _spellings(name: str) -> tuple[str, ...]:
    """Return a name in lower case, and without a word for an array or the letters of its axes; each name is compared with many roles."""
    name = in_english(name)
    plain = name.lower().strip("_")
    without_axes = re.sub(r"(?<=[a-z0-9])_([A-Z][A-Z0-9]{0,5}|b[tslhdk]{1,3})$", "", name).lower().strip("_")  # mask_TT, x_btd
    return tuple(dict.fromkeys((plain, re.sub(r"_(tensors?|matrix|vectors?|array|arr|batch)$", "", plain), without_axes)))
