"""Accepted conventions for masks and for the axes of x, shared by several exercises."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.message import Message
from headway.practice.outputs import Raised
from headway.practice.recipes.encoding import first_of_tuple
from headway.practice.texts import Texts

TEXTS = Texts("shared/conventions")


def _masked(change: Any) -> Any:
    """Return an encoding that changes the mask, for arrays of any library if the change is arithmetic."""

    return lambda inputs: inputs if inputs.get("mask") is None else inputs | {"mask": change(inputs["mask"])}


OF_ONE_DEF = r"(?:(?!\bdef )[\s\S])*"
NOT_TURNED = rf"\A(?![\s\S]*\bdef \w+\([^()]*\b(\w*mask\w*)\b{OF_ONE_DEF}\b1(\.0*)? *- *\1\b{OF_ONE_DEF}softmax)"
"""Pattern of the source of a function that does not take its mask from 1 before softmax, as one of 1 and 0 is turned into numbers to add."""

MASKS = optional(
    Convention(TEXTS["true_is_masked"], _masked(numpy.logical_not), undo=_masked(lambda mask: ~mask), role="mask"),
    Convention(TEXTS["one_is_visible"], _masked(lambda mask: mask.astype(numpy.int64)), undo=_masked(lambda mask: mask != 0), role="mask"),
    Convention(
        TEXTS["one_is_masked"], _masked(lambda mask: (~mask).astype(numpy.int64)), undo=_masked(lambda mask: mask == 0), role="mask"
    ),
    Convention(
        TEXTS["added_infinity"],
        _masked(lambda mask: numpy.where(mask, 0.0, -numpy.inf)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
        source=NOT_TURNED,
    ),
    Convention(
        TEXTS["added_large_number"],
        _masked(lambda mask: numpy.where(mask, 0.0, -1e9)),
        undo=_masked(lambda mask: mask > -1),
        role="mask",
        source=NOT_TURNED,
    ),
)
"""Meaning of mask values; probes contain boolean masks with True = may attend."""


SEVERAL_VALUES = TEXTS["several_values"]
OUTPUT_KEY = r"(att(entio)?n_?)?(out(put)?s?|context|result)|last_hidden_state|hidden_states|y"
"""Pattern of the key under which a dict of several values has the output."""


ATTENTION_KEY, WEIGHTS_KEY = r"att(entio)?n|attended", r"\w*(weight|prob|score)s?\w*"
"""Patterns of the keys of an attention's output, and of the weights next to which it is the output."""


def named_output(answer: Any, inputs: Inputs) -> Any:
    """Return the output of a dict of several values with one key for it; other outputs stay."""
    names = [key for key in answer if isinstance(key, str)] if isinstance(answer, dict) else []
    keys = [key for key in names if re.fullmatch(OUTPUT_KEY, key.lower())]
    if not keys and any(re.fullmatch(WEIGHTS_KEY, key.lower()) for key in names):
        keys = [key for key in names if re.fullmatch(ATTENTION_KEY, key.lower())]
    return answer[keys[0]] if len(keys) == 1 else answer


RETURNS = optional(
    Convention(SEVERAL_VALUES, decode=first_of_tuple()),
    Convention(TEXTS["named_values"], decode=named_output, source=r"\breturn\s+(dict\(|\{)"),
)
"""Values returned in addition to the output, such as what a backward pass needs."""


DEFAULT_AXIS = optional(
    *(
        Convention(
            says,
            encode=lambda inputs: {"axis": -1} | inputs,
            role="axis",
            source=rf"def \w+\([^)]*\b(dim|axis)\b[^,)]*= *{default} *[,)]",
        )
        for says, default in ((TEXTS["default_axis"], "0"), (TEXTS["second_default_axis"], "1"), (TEXTS["every_entry"], "None"))
    )
)
"""A default axis other than the last one, or all axes together; the probes pass the last one."""


def one_length(
    encode: Callable[[Inputs], Inputs | None],
    shorter: Callable[[], Sequence[Inputs]],
    named: str = r"constructor__(?!.*(max|context|block|limit))|^(n|num)_patches$",
) -> Convention:
    """Return the convention of a table of positions for sequences of one length, which the class is constructed with.

    encode    probe inputs → inputs with a table as long as the sequence
    named     pattern of the names of parameters for the length
    shorter   inputs whose sequences are shorter than the table; a class of this convention raises for all of them
    """
    found = Convention(TEXTS["one_length"], encode)

    def read(ask: Callable[[Inputs], Any]) -> Convention | None:
        return found if all(isinstance(ask(each), Raised) for each in shorter()) else None

    return Convention(reads=read, role="max_seq_len", named=named)


def _batch_of_two(inputs: Inputs) -> Inputs | None:
    """Return rows, or a vector as one row, as the first sequence of two, so that an operation along the batch shows; None for more axes."""
    x = inputs["x"]
    if x.ndim > 3:
        return None
    rows = x[None] if x.ndim == 1 else x
    return inputs | {"x": numpy.stack([rows, rows[::-1] + 1])} if rows.ndim == 2 else inputs


def _of_first(decode: Callable[[Any, Inputs], Any]) -> Callable[[Any, Inputs], Any]:
    """Return a decoding of the first of several values, such as an output with what a function for gradients needs; the others stay."""

    def decode_first(answer: Any, inputs: Inputs) -> Any:
        if isinstance(answer, tuple) and answer:
            return (decode(answer[0], inputs), *answer[1:])
        return decode(answer, inputs)

    return decode_first


@_of_first
def _first_of_batch(answer: Any, inputs: Inputs) -> Any:
    num_axes = numpy.ndim(inputs["x"])
    if num_axes > 2 or numpy.ndim(answer) != 3 or len(answer) != 2:
        return answer
    return answer[0, 0] if num_axes == 1 else answer[0]


def _turned(inputs: Inputs | None) -> Inputs | None:
    """Return the inputs with the positions of x as its last axis, as convolutions take them."""
    return None if inputs is None else inputs | {"x": numpy.ascontiguousarray(inputs["x"].swapaxes(1, 2))}


def _vector(inputs: Inputs) -> Inputs | None:
    """Return the inputs if x is a vector."""
    return inputs if numpy.ndim(inputs["x"]) == 1 else None


def _matrix(inputs: Inputs) -> Inputs | None:
    """Return a matrix, or a vector as one of two rows; None for more axes."""
    x = inputs["x"]
    if x.ndim > 2:
        return None
    return inputs | {"x": numpy.stack([x, x[::-1] + 1])} if x.ndim == 1 else inputs


@_of_first
def _first_row(answer: Any, inputs: Inputs) -> Any:
    return answer[0] if numpy.ndim(inputs["x"]) == 1 and numpy.ndim(answer) == 2 and len(answer) == 2 else answer


OF_SCORES = r"(?i)\A(?!(.|\n)*(att(entio)?n|transformer|multi_?head))"
"""Pattern of the names of a file without attention, in which softmax may be that of vectors or of one row per example."""


OVER_ROWS = (
    r"(?i)\A(?!(.|\n)*((axis|dim) *= *(-|[02-9])|keepdims?=True\)?, *-|\(-1(?!, *1\))|heads?\b|seq|3-?d\b|4-?d\b|(?<!\w)\(\w+, *\w+, *\w+\)\W))"
    r"(.|\n)*((axis|dim) *= *1\b|\b(sum|max|amax|logsumexp)\((\w+, *)?1\b)"
)
"""Pattern of the source of a function that reduces over the second axis alone."""

OF_MATRICES = (
    r"\A(?=(.|\n)*(@ *|(dot|matmul)\([\w.]+, *)[\w.]+\.T\b)(?!(.|\n)*(transpose\([^()]*,|swapaxes|permute|einsum|batch|(axis|dim) *= *(2|3|-2)\b|shape\[2\]|:, *:,"
    r"|\w+, *\w+, *\w+ *= *\w+\.(shape|size)))"
)
"""Pattern of the source of a file whose functions all take matrices, such as scores = Q @ K.T."""


def _unchanged(answer: Any, inputs: Inputs) -> Any:
    """Return the output: a convention with a decoding is in effect, so that the verdict states it."""
    return answer


def _of_axes(
    says: Message,
    encode: Callable[[Inputs], Inputs | None],
    decode: Callable[[Any, Inputs], Any],
    source: str | None = None,
    file_names: str | None = None,
    file_source: str | None = None,
) -> Convention:
    """Return the convention of a function that takes x with some numbers of axes alone, by the patterns of its source and file."""
    return Convention(says, encode, decode, role="x", without="axis", source=source, file_names=file_names, file_source=file_source)


def _of_vectors(source: str | None = None, file_names: str | None = None, file_source: str | None = None) -> Convention:
    """Return the convention of a function of vectors alone, by the patterns of its source and file."""
    return _of_axes(TEXTS["vectors"], _vector, _unchanged, source, file_names, file_source)


def _of_matrices(source: str, file_names: str | None = None, file_source: str | None = None) -> Convention:
    """Return the convention of a function of matrices alone, by the patterns of its source and file."""
    return _of_axes(TEXTS["matrices"], _matrix, _first_row, source, file_names, file_source)


def _vector_or_matrix(inputs: Inputs) -> Inputs | None:
    """Return the inputs with x of one or two axes; None for more."""
    return inputs if numpy.ndim(inputs["x"]) <= 2 else None


SPLITS_COLUMNS = r"\b(split|chunk)\([^,()\n]+, *3, *(axis *= *|dim *= *)?1\)"
"""Pattern of the source of a file whose queries, keys and values are columns of one matrix."""

SCORES_OF_MATRICES = (
    r"\A(?!([\s\S]*(?<!def )\b\w*softmax\w*\(){2})[\s\S]*\bdef "
    rf"(?!{OF_ONE_DEF}(transpose\([^()]*,|swapaxes|permute|einsum|(?<!\w)shape\[[23]\]|-2\b))"
    rf"(?={OF_ONE_DEF}(?<!def )\b\w*softmax\w*\(){OF_ONE_DEF}(@ *|(dot|matmul)\([\w.]+, *)[\w.]+\.T\b"
)
"""Pattern of the source of a file with a single call of softmax, in a function of matrices: the scores are Q @ K.T."""

WITH_SIZES = r"\bdef \w+\([^)]*\boutput\b[^)]*, *[BMN](: *int)?, *[CDN](: *int)?[,)]"
"""Pattern of the head of a function that writes into an output of two axes, whose sizes it is given."""

ASSERTS_MATRICES = (
    r"\A(?![\s\S]*((transpose|swapaxes)\([^()]*(-|[2-9])|permute|einsum|shape\[[23]\]|mT\b|heads))[\s\S]*\n +assert (\w+\.ndim *== *)+2\b"
)
"""Pattern of the source of a file that asserts that all operands of a function are matrices, and has no arrays of more axes."""

OF_ROWS = _of_matrices(OVER_ROWS, file_source=rf"{OF_MATRICES}|{SPLITS_COLUMNS}|{SCORES_OF_MATRICES}|{WITH_SIZES}|{ASSERTS_MATRICES}")

WITH_SOFTMAX_OF_ROWS = r"def \w*softmax\(\w+\):\s*(.*\n)?[^\n]*\baxis *= *1\b"
OF_ROWS_AS_SOFTMAX = _of_matrices(OVER_ROWS, file_source=WITH_SOFTMAX_OF_ROWS)
"""A function over the second axis in a file whose softmax is over it, too: both take matrices."""

_OF_SEQUENCES = r"heads?\b|seq|batch\w*, *\w+, *\w|[34]-?d\b|shape\[2\]"
GRADIENTS_OF_ROWS = (
    rf"(?i)\A(?!(.|\n)*((axis|dim) *= *(-|[(\[2-9])|{_OF_SEQUENCES}))(?=(.|\n)*\b(axis|dim) *= *1\b)"
    r"(.|\n)*(gamma|beta|weight|bias|scale|shift|gain)\w* *\+?= *[^\n]*\bsum\([^\n]*, *(axis|dim) *= *0\b"
)
"""Pattern of the source of a class over the second axis whose backward adds the gradients of its gain or shift along the first axis alone."""

WITH_GRADIENTS_OF_ROWS = _of_matrices(GRADIENTS_OF_ROWS)

AT_MOST_TWO_AXES = _of_axes(
    TEXTS["vectors_and_matrices"],
    _vector_or_matrix,
    _unchanged,
    rf"(?i)\A(?!(.|\n)*({_OF_SEQUENCES}))(.|\n)*\b(1-?d(imensional)?,? (or|and) (a )?2|2-?d(imensional)?,? (or|and) (a )?1)-?d",
)
"""A function whose documentation names vectors and matrices alone."""

TRIED_ON_VECTORS = r"\A(?!(.|\n)*(\[\s*\[|\baxis\b|\bdim\b|keepdims?|rand\w*\(\w+, *\w|shape))(.|\n)*array\(\[ *-?[\d.]"
"""Pattern of the source of a file that names no axis, and whose examples are vectors."""

OF_ONE_VECTOR = (
    r"(?i)\A(?!(.|\n)*(batch|samples\b|examples\b|sequences?\b|(axis|dim) *= *(-|[1-9])))"
    r"(.|\n)*(flattened (array|vector)|\b(in|out)put vector\b|: *\(\w+, *1\))"
)
"""Pattern of the source of a file that describes a vector or a single column, and reduces over no other axis than the first."""

ONE_VECTOR = _of_vectors(file_names=OF_SCORES, file_source=OF_ONE_VECTOR)

OF_ONE_SIZE = r"\bdef \w+\((?![^)]*\b[BMCD]\b)[^)]*\boutput\b[^)]*, *N(: *int)?[,)](?!(.|\n)*\b(axis|dim) *=)"
"""Pattern of a function that names no axis, and writes into an output whose only size it is given."""

INTO_VECTOR = _of_vectors(source=OF_ONE_SIZE)

PRODUCT_OF_LISTS = _of_vectors(source=r"\bsum\(\(? *\w+ *\* *\w+ +for +\w+, *\w+ +in +zip\(")
"""Convention of a function that computes the product of a matrix and a vector from lists of numbers."""

DRAWN_FROM = (
    r"(?i)\A(?![\s\S]*(?:(?<!\w)(?:batch|rows?)(?!\w)|keepdims?\b|\b(?:axis|dim) *=))[\s\S]*\b(\w+) *= *(?:\w+\.)?\w*softmax\w*\("
    r"[\s\S]*\bchoice\([^\n]*\bp *= *\1\b"
)
"""Pattern of the source of a file that names no axis and draws from the outputs of softmax, as NumPy does from one vector alone."""

JACOBIAN_OF_VECTOR = (
    r"(?i)\A(?!(.|\n)*(\b(axis|dim)\b|keepdims?|rows?\b|batch|\b(zip|enumerate)\(|\[ *(:|\.\.\.|None)))"
    r"(.|\n)*(\bdiag(flat)?\((?P<p>\w+)\) *- *[\w.]*\b(outer|dot)\((?P=p)\b|\b(?P<s>\w+)\[(?P<i>\w+)\] *\* *\([^\n]*- *(?P=s)\[(?!(?P=i)\b)\w+\]\))"
)
"""Pattern of the source of a class that names no axis and whose derivative is the square Jacobian of one vector: diag(s) - outer(s, s)."""

_EXAMPLES = r"\b(m|N|batch_size|(num|n)_(examples|samples))"
EXAMPLES_IN_COLUMNS = rf"\A(?![\s\S]*{_EXAMPLES} *= *\w+\.shape\[0\])[\s\S]*{_EXAMPLES} *= *\w+\.shape\[1\]"
"""Pattern of the source of a file that counts its examples along the second axis of its arrays, so that the classes are rows."""


def _turned_matrix(inputs: Inputs) -> Inputs | None:
    """Return rows as columns, a vector as a single one; None for more axes."""
    x = inputs["x"]
    return None if x.ndim > 2 or "axis" in inputs else inputs | {"x": numpy.ascontiguousarray(numpy.atleast_2d(x).T)}


@_of_first
def _turned_back(answer: Any, inputs: Inputs) -> Any:
    """Return columns as rows, and the only column of a vector as the vector."""
    if numpy.ndim(answer) != 2:
        return answer
    return answer.T[0] if numpy.ndim(inputs["x"]) == 1 and answer.shape[1] == 1 else answer.T


IN_COLUMNS = Convention(
    TEXTS["examples_in_columns"],
    _turned_matrix,
    _turned_back,
    role="x",
    without="axis",
    source=r"(?i)\A(?![\s\S]*(axis|dim) *= *(-|[1-9]))[\s\S]*\b(axis|dim) *= *0\b",
    file_names=OF_SCORES,
    file_source=EXAMPLES_IN_COLUMNS,
)
"""A function whose vectors are the columns of a matrix."""

FEWER_AXES = (
    ONE_VECTOR,
    INTO_VECTOR,
    IN_COLUMNS,
    _of_vectors(source=JACOBIAN_OF_VECTOR),
    _of_vectors(file_names=OF_SCORES, file_source=DRAWN_FROM),
    _of_vectors(file_names=OF_SCORES, file_source=TRIED_ON_VECTORS),
    _of_vectors(
        source=r"(?i)\A(?!(.|\n)*(axis|dim|\[ *(:|\.\.\.|None|-1)|\.T\b|rows?\b|batch|matri|2-?d\b|\([NB], *\w))"
        r"(?=(.|\n)*(vector|(\b|_)1-?d\b|\blist\b|math\.|\(\w+,\)))(.|\n)*\bdef ",
        file_names=OF_SCORES,
    ),
    _of_vectors(
        source=r"(?i)\A(?!(.|\n)*(\b(axis|dim)\b|rows?\b|batch|\[ *(:|\.\.\.|None)))(.|\n)*(\bflatten(ed)?\b|\bravel\b|reshape\(-1\))",
        file_names=OF_SCORES,
    ),
    _of_matrices(
        OVER_ROWS,
        file_names=OF_SCORES,
    ),
    OF_ROWS,
    AT_MOST_TWO_AXES,
    _of_matrices(r"(?m)^ *\w+, *\w+ *= *\w+\.(shape|size\(\)) *(#.*)?$"),
    _of_matrices(r"\A(?!(.|\n)*(\b(axis|dim)\b|\b(np|numpy|jnp|jax|torch|mx|F)\.|\.(sum|max|softmax)\())(.|\n)*\bdef \w+\(\w+\)"),
)
"""A function that is written for a vector or a list, or flattens its input, and names no axis, or of matrices alone: its axis is the second, it needs
both sizes, or it computes with functions for lists of lists."""

OF_ELEMENTS = _of_vectors(source=r"\breturn \[[^\[\]\n]*\bfor \w+(, *\w+)* in [^\[\]\n]*\]")
"""A function that returns a list of one number for each element of x."""

OF_VECTORS = _of_vectors(source=r"def \w+\(\s*(self, *)?\w+: *\w+\[\w+, *[\"'] *\w+ *[\"']\]")
"""A function whose annotation states a single axis: `x: Float[Array, " dim"]`."""

NUM_AXES = optional(
    Convention(
        TEXTS["three_axes"],
        _batch_of_two,
        _first_of_batch,
        role="x",
        used_source=r"(?i)einops|rearrange|einsum|unsqueeze\(0\)|[\"']batch \w+ \w+[\"']|\w+, *\w+, *\w+ *= *[\w.]+\.(shape|size)|\.(dim\(\)|ndim|shape\)) *[!=]= *3|\([Bb](atch\w*)?, *\w+, *\w+\)|\b(axis|dim)(: *int)? *= *2\b|[\[(]1, *1, *(-1|[\w.]+)[\])]"
        r"|\bConv1d\((.|\n)*\.(transpose\(1, *2\)|permute\(0, *2, *1\))",
    ),
    Convention(
        TEXTS["vectors"],
        _vector,
        _unchanged,
        role="x",
        source=r"\A(?=(.|\n)*\b(eqx|equinox)\b)(?!(.|\n)*(vmap|axis))\s*(@.*\s+)*class \w+\((\w+\.)*Module\b",
    ),
    Convention(
        TEXTS["positions_last"],
        lambda inputs: _turned(_batch_of_two(inputs)),
        lambda answer, inputs: _first_of_batch(answer.swapaxes(1, 2), inputs),
        role="x",
        used_source=r"\A(?!(.|\n)*(transpose|permute|swap|rearrange|\.mT\b))(.|\n)*\bConv1d\(",
    ),
    OF_ROWS,
    OF_VECTORS,
    _of_matrices(r"(\.ndim|\.dim\(\)|len\(\w+\.(shape|size\(\))\)) *!= *2\b"),
)
"""Number of axes of x: any, exactly (batch, positions, width) or (batch, width, positions), that of a vector for modules of Equinox, which `vmap` calls for each vector, or
exactly (positions, width)."""
