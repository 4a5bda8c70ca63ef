"""padding_mask: padding keys are hidden from every query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes.masks import FORMS_MISTAKES, OPTIONS, Form, fill_recovery, forms
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("padding_mask")
ROLES = Roles("padding_mask")


def recipe(steps: Any, x: Any, pad_id: int | None = None) -> Any:
    """The definition as named steps: pad, real, place, say; the output is (batch, 1, keys)."""
    return steps.say(steps.place(steps.real(x, steps.pad(pad_id))))


def definition(x: Any, pad_id: int | None = None) -> Any:
    """Return headway.functions' padding mask for the lengths, without the head axis."""
    is_real = x != (0 if pad_id is None else pad_id)
    return functions.padding_mask(is_real.sum(-1), x.shape[-1], is_left=not is_real[..., 0].all())[:, 0]


def _shifted(by: int) -> Callable[[Any, int], Any]:
    """Return a step that treats `by` more tokens as real."""
    return lambda x, pad_id: numpy.arange(x.shape[-1]) < (x != pad_id).sum(-1, keepdims=True) + by


STEPS = {
    "pad": lambda given: 0 if given is None else given,
    "real": lambda x, pad_id: x != pad_id,
    "place": lambda real: real[:, None, :],
}


MISTAKES = (
    TEXTS.mistake("one_pad_visible", real=_shifted(1)),
    TEXTS.mistake("last_token_hidden", real=_shifted(-1)),
    TEXTS.mistake("on_rows", place=lambda real: real[:, :, None]),
    TEXTS.mistake("pad_id_ignored", pad=lambda given: 0),
    TEXTS.mistake("smaller_ids_hidden", real=lambda x, pad_id: x > pad_id),
    TEXTS.mistake("left_for_right", real=lambda x, pad_id: numpy.arange(x.shape[-1]) >= (x == pad_id).sum(-1, keepdims=True)),
    TEXTS.mistake("first_sequence_for_all", real=lambda x, pad_id: numpy.broadcast_to((x != pad_id)[:1], x.shape)),
    TEXTS.mistake("nothing_hidden", real=lambda x, pad_id: numpy.ones(x.shape, bool)),
    *FORMS_MISTAKES,
)


def _decoded(answer: Any, inputs: Inputs, form: Form) -> Any:
    """Return (batch, 1, keys), or (batch, queries, 1) if the mask is along the rows."""
    if not isinstance(answer, numpy.ndarray) or not 2 <= answer.ndim <= 4:
        return answer
    if answer.ndim == 4:
        answer = answer[:, 0] if answer.shape[1] == 1 else answer
    if answer.ndim == 2:
        answer = answer[:, None]
    read = form.read(answer)
    if read.ndim != 3 or read.shape[1] == 1 or read.shape[2] == 1:
        return read
    return _narrowed(read)


def _narrowed(mask: Any) -> Any:
    """Return one row of a mask with equal rows, apart from padding rows; one column if all columns are equal."""
    if _are_alike(mask, mask[:, :, :1]) and not _are_alike(mask, mask[:, :1]):
        return mask[:, :, :1]
    if mask.dtype != bool:
        return mask[:, :1] if _are_alike(mask, mask[:, :1]) else mask
    fullest = numpy.take_along_axis(mask, mask.sum(-1).argmax(-1)[:, None, None], 1)
    return fullest if ((mask == fullest).all(-1) | ~mask.any(-1)).all() else mask


def _are_alike(mask: Any, part: Any) -> bool:
    return numpy.array_equal(mask, numpy.broadcast_to(part, mask.shape), equal_nan=mask.dtype.kind == "f")


def _lengths(inputs: Inputs) -> Any:
    return (inputs["x"] != inputs.get("pad_id", 0)).sum(-1)


def _is_right_padded(inputs: Inputs) -> bool:
    return bool((inputs["x"][:, 0] != inputs.get("pad_id", 0)).all())


def _as_lengths(*, is_told: bool) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding as lengths, with the row length if the function takes it."""

    def encode(inputs: Inputs) -> Inputs | None:
        if "pad_id" in inputs or not _is_right_padded(inputs):
            return None
        lengths, longest = _lengths(inputs), inputs["x"].shape[-1]
        if is_told:
            return {"lengths": lengths, "seq_len": longest}
        return {"lengths": lengths} if lengths.max() == longest else None

    return encode


def _with_pad_id(pad_id: int, inputs: Inputs) -> Inputs:
    """Return the inputs with this id in place of padding, and the id 0 in place of tokens that have it."""
    if "pad_id" in inputs:
        return inputs
    x = inputs["x"]
    return inputs | {"x": numpy.select([x == 0, x == pad_id], [pad_id, 0], x)}


def _as_mask(inputs: Inputs) -> Inputs | None:
    """Return an encoding as 1 for real tokens and 0 for padding; None with a padding id."""
    return None if "pad_id" in inputs else inputs | {"x": (inputs["x"] != 0).astype(numpy.int64)}


def _as_flags(inputs: Inputs, *, of_padding: bool) -> Inputs | None:
    """Return an encoding as flags, True for real tokens or for padding; None with a padding id."""
    return None if "pad_id" in inputs else inputs | {"x": (inputs["x"] == 0) == of_padding}


def _examples() -> list[Inputs]:
    """Return one example with padding at the end, as token ids and as one-hot vectors, both with the lengths."""
    x = numpy.array([[5, 6, 7, 8], [5, 6, 0, 0], [5, 0, 0, 0]])
    rest = {"lengths": numpy.array([4, 2, 1]), "seq_len": 4}
    given = rest | {"x": x, "queries": x[:1].repeat(3, 0)}
    return [given, given | {"x": numpy.eye(9)[x] * (x != 0)[..., None]}]


def _masks() -> list[Inputs]:
    """Return the same example as a mask, in numbers and as flags."""
    return [{"x": (each["x"] != 0).astype(kind)} for kind in (numpy.int64, bool) for each in _examples()]


def _paddings() -> list[Inputs]:
    """Return the same example as flags of padding."""
    return [{"x": _examples()[0]["x"] == 0}]


def _with_lengths(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the lengths of the sequences; None with a padding id, or with padding on the left."""
    return None if "pad_id" in inputs or not _is_right_padded(inputs) else inputs | {"lengths": _lengths(inputs)}


def _ones_with_lengths(inputs: Inputs) -> Inputs | None:
    """Return values of one with the lengths of the sequences."""
    encoded = _with_lengths(inputs)
    return None if encoded is None else encoded | {"x": numpy.ones(inputs["x"].shape)}


def _kept_values(answer: Any, inputs: Inputs) -> Any:
    """Return where the values of one are kept; what replaces the first of them, which is no padding, is no mask."""
    return answer == 1 if answer[0, 0] == 1 else answer - 1


def _features(inputs: Inputs) -> Inputs | None:
    """Return features of ones, padding included, in place of ids, with the lengths of the sequences."""
    encoded = _with_lengths(inputs)
    return None if encoded is None else encoded | {"x": numpy.ones((*inputs["x"].shape, 2))}


def _one_hot(inputs: Inputs) -> Inputs | None:
    """Return one-hot vectors in place of ids, zeros for padding; None with a padding id."""
    x = inputs["x"]
    return None if "pad_id" in inputs else inputs | {"x": numpy.eye(1 + x.max())[x] * (x != 0)[..., None]}


def _positions_first(inputs: Inputs) -> Inputs:
    """Return ids with a column for each sequence, as recurrent layers and torch.nn.Transformer take them."""
    return inputs | {"x": inputs["x"].T}


def _as_row(answer: Any, inputs: Inputs) -> Any:
    """Return a column of 1 for real tokens and 0 for padding, by which a sequence of vectors is multiplied, as a row."""
    is_real = inputs["x"] != inputs.get("pad_id", 0)
    is_column = answer.dtype.kind in "fiu" and answer.shape == (*is_real.shape, 1)
    return answer.swapaxes(1, 2) if is_column and answer[0, is_real[0].argmax(), 0] == 1 else answer


OF_FLAGS = r"\bdtype *(==|!=|is|is not) *(\w+\.)?bool_?\b"
"""Pattern of the source of a function that asks for flags."""

TAKES = optional(
    Convention(
        TEXTS["fills_values"],
        _ones_with_lengths,
        _kept_values,
        role="lengths",
        source=r"def \w+\([^,()]+, *\w*len\w*[^,()]*, *\w*(value|fill)",
        may_write=True,
    ),
    Convention(TEXTS["positions_first"], _positions_first, role="x", source=r"\.(transpose|swapaxes|permute|t|T)\b"),
    Convention(encode=_as_lengths(is_told=True), role="seq_len"),
    Convention(encode=_with_lengths, role="lengths", source=r"def \w+\([^,()]+, *\w*len"),
    Convention(encode=_as_lengths(is_told=False), role="lengths"),
    Convention(encode=_features, role="lengths", source=r"def \w+\([^,()]+, *\w*len"),
    Convention(TEXTS["takes_one_hot"], _one_hot, role="x", source=r"\.(sum|any|abs)\("),
    Convention(encode=lambda inputs: {"pad_id": 0, **inputs}, role="pad_id", source=r"\n\s+(assert|raise)\b"),
    Convention(encode=lambda inputs: inputs | {"queries": numpy.arange(11, 11 + 3 * len(inputs["x"])).reshape(-1, 3)}, role="queries"),
    Convention(TEXTS["takes_mask"], _as_mask, role="x", named="mask"),
    Convention(TEXTS["takes_padding"], partial(_as_flags, of_padding=True), role="x", named="pad", source=OF_FLAGS),
    Convention(TEXTS["takes_mask"], partial(_as_flags, of_padding=False), role="x", named="mask", source=OF_FLAGS),
)
MOST_NUMBERS = 8
PAD_IDS = optional(
    *(
        Convention(TEXTS["default_pad_id"].format(number=pad_id), partial(_with_pad_id, pad_id), role="x")
        for pad_id in (1, -1, -100, 50256)
    ),
    *(Convention(TEXTS["default_pad_id"], role="x", by_number=_with_pad_id, place=place) for place in range(MOST_NUMBERS)),
)
"""The id of padding; any other than the usual ones is a number of the source, or a constant that it names."""


def probes() -> tuple[Probe, ...]:
    """Right padding with several ids, rows longer than needed, no padding, and left padding."""
    x = numpy.array([[5, 6, 7, 8, 9], [9, 4, 3, 0, 0], [3, 0, 0, 0, 0], [7, 1, 3, 4, 0]])
    return (
        Probe("four sequences", {"x": x}),
        Probe("two sequences", {"x": x[:2, :4].copy() + 0}),
        Probe("square", {"x": numpy.array([[2, 3, 4], [2, 3, 0], [9, 0, 0]])}),
        Probe("longer", {"x": numpy.array([[5, 6, 0, 0], [9, 4, 3, 0]])}, TEXTS["longer"]),
        Probe("another id", {"x": numpy.array([[5, 0, 7, 7], [9, 4, 3, 0], [2, 7, 7, 7]]), "pad_id": 7}),
        Probe("a large id", {"x": numpy.array([[5, 0, 99], [1, 4, 3]]), "pad_id": 99}),
        Probe("left", {"x": numpy.array([[0, 0, 5, 6], [0, 9, 4, 3]])}, TEXTS["left"]),
    )


EXERCISE = Exercise(
    name="padding_mask",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        ROLES("pad_id", neutral=0),
        ROLES("num_queries", neutral=3),
        *ROLES.each("queries", "lengths"),
        ROLES("queries_pad_id", neutral=1),
        ROLES("seq_len", neutral=None),
        ROLES("is_causal", neutral=False, off=False),
        *OPTIONS,
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            *(replace(each, role="x", named="mask") for each in forms(_masks, (0, ..., 0), _decoded)),
            *(replace(each, role="x", named="pad", source=OF_FLAGS) for each in forms(_paddings, (0, ..., 0), _decoded)),
            *forms(_examples, (0, ..., 0), _decoded),
        ),
        TAKES,
        PAD_IDS,
        optional(Convention(TEXTS["multiplies_vectors"], decode=_as_row, called=r"non_?pad")),
    ),
    recoveries=(fill_recovery({"x": numpy.array([[5, 6, 0], [5, 0, 0], [5, 6, 7]])}),),
    calls="mask",
)
