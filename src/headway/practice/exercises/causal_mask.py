"""causal_mask: each query attends to its own position and the positions before it."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes import attention
from headway.practice.recipes.encoding import without
from headway.practice.recipes.masks import FORMS_MISTAKES, OPTIONS, Form, additive, fill_recovery, forms
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("causal_mask")
ROLES = Roles("causal_mask")


def recipe(steps: Any, query_len: int | None = None, past_len: int = 0, x: Any = None, pad_id: int = 0) -> Any:
    """The definition as named steps: triangle, keys, combine (with padding, if x is given), say."""
    query_len = query_len if x is None else x.shape[-1]
    allowed = steps.keys(steps.triangle(query_len, past_len), past_len)
    return steps.say(allowed if x is None else _real_rows(steps.combine(allowed, (x != pad_id)[:, None, :]), x, pad_id))


def definition(query_len: int | None = None, past_len: int = 0, x: Any = None, pad_id: int = 0) -> Any:
    """Return headway.functions' causal mask, with the padding of x hidden too."""
    if x is None:
        assert query_len is not None
        return functions.causal_mask(query_len, query_len + past_len)
    is_real = x != pad_id
    real = functions.padding_mask(is_real.sum(-1), x.shape[-1], is_left=not is_real[:, 0].all())[:, 0]
    return _real_rows(functions.causal_mask(x.shape[-1], like=x) & real, x, pad_id)


def _real_rows(allowed: Any, x: Any, pad_id: int) -> Any:
    """Clear the rows of padding tokens, whose values do not matter."""
    return allowed & (x != pad_id)[:, :, None]


def triangle(query_len: int, past_len: int, shift: int = 0) -> Any:
    """Return a mask that is True at and below the diagonal that ends in the corner, moved up by `shift`."""
    return attention.triangle(query_len, query_len + past_len, shift)


def _top_left(query_len: int, past_len: int) -> Any:
    return triangle(query_len, past_len, -past_len)


STEPS = {
    "triangle": triangle,
    "combine": lambda allowed, real: allowed & real,
}


MISTAKES = (
    TEXTS.mistake("diagonal_hidden", triangle=lambda query_len, past_len: triangle(query_len, past_len, -1)),
    TEXTS.mistake("one_later_visible", triangle=lambda query_len, past_len: triangle(query_len, past_len, 1)),
    TEXTS.mistake("nothing_hidden", triangle=lambda query_len, past_len: numpy.ones((query_len, query_len + past_len), bool)),
    TEXTS.mistake(
        "upper_triangle_kept",
        triangle=lambda query_len, past_len: numpy.triu(numpy.ones((query_len, query_len + past_len), bool), past_len),
        say=additive,
    ),
    TEXTS.mistake("aligned_top_left", triangle=_top_left),
    TEXTS.mistake("cache_hidden", keys=lambda allowed, past_len: allowed & (numpy.arange(allowed.shape[1]) >= past_len)),
    TEXTS.mistake("cache_left_out", keys=lambda allowed, past_len: allowed[:, past_len:]),
    *FORMS_MISTAKES,
)


def _decoded(answer: Any, inputs: Inputs, form: Form) -> Any:
    """Return (queries, keys), or (batch, queries, keys) with padding."""
    if not isinstance(answer, numpy.ndarray) or answer.ndim < 2:
        return answer
    x = inputs.get("x")
    if x is None:
        rows = answer.reshape(-1, *answer.shape[-2:])
        answer = rows[0] if len(rows) and numpy.array_equal(rows, numpy.broadcast_to(rows[:1], rows.shape), equal_nan=True) else answer
    elif answer.ndim == 4 and answer.shape[1] == 1:
        answer = answer[:, 0]
    read = form.read(answer)
    is_told = x is not None and isinstance(read, numpy.ndarray) and read.dtype == bool and read.ndim == 3
    return _real_rows(read, x, inputs.get("pad_id", 0)) if is_told else read


FIRST = 11
"""Smallest id of the tokens of sequences without padding, above the ids that functions take for padding."""


def _tokens(*shape: int) -> Any:
    return numpy.arange(FIRST, FIRST + int(numpy.prod(shape))).reshape(shape)


SEQUENCES = (
    lambda query_len, key_len: _tokens(2, query_len),
    lambda query_len, key_len: numpy.ones((2, query_len, 6)),
    lambda query_len, key_len: numpy.zeros((2, 3, query_len, key_len)),
)
"""Token ids, embeddings, and scores."""


def _examples() -> list[Inputs]:
    """Return one example per kind of sequence, each with four positions and with the sizes as numbers; then the sizes in other forms."""
    size = {"query_len": 4, "past_len": 0, "key_len": 4}
    sizes = [*(size | {"query_len": shape} for shape in ((2, 4), (4, 4))), size | {"query_len": _tokens(2, 4), "key_len": _tokens(2, 4)}]
    return [*(size | {"x": make(4, 4)} for make in SEQUENCES), *sizes]


def _as_key_len(inputs: Inputs) -> Inputs:
    rest = without(inputs, "past_len")
    return rest if "query_len" not in inputs else rest | {"key_len": inputs["query_len"] + inputs.get("past_len", 0)}


def _as_shape(inputs: Inputs) -> Inputs:
    return inputs | {"query_len": (2, inputs["query_len"])}


def _as_square(inputs: Inputs) -> Inputs:
    return inputs | {"query_len": (inputs["query_len"], inputs["query_len"])}


def _as_two_sequences(inputs: Inputs) -> Inputs | None:
    """Return the token ids of the queries and of the keys in place of their numbers."""
    if "query_len" not in inputs:
        return None
    length = inputs["query_len"]
    return without(inputs, "past_len") | {"query_len": _tokens(2, length), "key_len": _tokens(2, length + inputs.get("past_len", 0))}


def _as_sequence(make: Any) -> Any:
    def encode(inputs: Inputs) -> Inputs | None:
        if "x" in inputs:
            return inputs
        x = make(inputs["query_len"], inputs["query_len"] + inputs.get("past_len", 0))
        return None if "past_len" in inputs and x.ndim < 4 else {"x": x}

    return encode


SCORE = 0.5
"""Score of every query and key for a function that hides later positions in scores; another output than this is seen where it is kept."""


def _scores(query_len: int, key_len: int) -> Any:
    return numpy.full((2, 3, query_len, key_len), SCORE)


def _without_scores(answer: Any, inputs: Inputs) -> Any:
    """Return the mask that was added to the scores; NaN if more than one number is in the places of scores."""
    if not isinstance(answer, numpy.ndarray) or answer.dtype.kind != "f":
        return answer
    is_kept = answer == SCORE
    return numpy.where(is_kept, 0.0, answer) if len(numpy.unique(answer[~is_kept])) <= 1 else numpy.full_like(answer, numpy.nan)


def _positions_first(query_len: int, key_len: int) -> Any:
    return numpy.ones((query_len, 2, 6))


def _sequence_taken(ask: Any) -> Convention | None:
    """Return the convention of the first sequence kind that gives a mask of the right size."""
    for inputs, make in zip(_examples(), SEQUENCES, strict=False):
        answer = ask(inputs)
        if isinstance(answer, numpy.ndarray) and answer.shape[-2:] == (4, 4):
            return Convention(encode=_as_sequence(make))
    return None


NUM_EMPTY = 2
"""Number of places of a cache of fixed length that are not filled yet."""


def _as_capacity(inputs: Inputs) -> Inputs | None:
    """Return inputs with the length of a cache that has room for more keys; None for sequences."""
    return None if "query_len" not in inputs else {"past_len": 0} | inputs | {"key_len": _num_keys(inputs) + NUM_EMPTY}


def _num_keys(inputs: Inputs) -> int:
    return int(inputs["query_len"] + inputs.get("past_len", 0))


def _without_empty(answer: Any, inputs: Inputs) -> Any:
    """Return a mask without the empty places of a cache; the mask itself if it does not hide them."""
    if not isinstance(answer, numpy.ndarray) or "query_len" not in inputs or answer.shape[-1:] != (_num_keys(inputs) + NUM_EMPTY,):
        return answer
    filled, empty = answer[..., :-NUM_EMPTY], answer[..., -NUM_EMPTY:]
    is_hidden = (empty == empty.flat[0]).all() and (empty != filled[..., :1]).all()
    return filled if is_hidden else answer


TAKES = optional(
    Convention(TEXTS["of_a_cache"], _as_capacity, _without_empty, role="key_len", named="max|cache"),
    Convention(encode=_as_key_len, role="key_len"),
    Convention(encode=_as_shape, role="query_len", named="shape"),
    Convention(encode=_as_square, role="query_len", named="shape", source=r"\[-2:?\]"),
    Convention(TEXTS["hides_in_scores"], _as_sequence(_scores), _without_scores, role="x", named="score", without="query_len"),
    Convention(reads=_sequence_taken, role="x", without="query_len", called=r"^(?!_?(apply|add))"),
    Convention(TEXTS["sequence_first"], _as_sequence(_positions_first), role="x", without="query_len", called="future_mask"),
    Convention(encode=_as_two_sequences, role="key_len", without="x", source=r"\b(\w*q\w*)\.(shape|size)\b[^\n]*\b\w*k\w*\.(shape|size)\b"),
)
"""The number of queries and keys, as numbers, as a shape or as an array."""


def _without_pad_id(inputs: Inputs) -> Inputs:
    """Return the inputs without an id of padding of 0, which a function may know by itself."""
    return inputs if inputs.get("pad_id") else without(inputs, "pad_id")


def _hides_zeros(ask: Any) -> Convention | None:
    """Return the convention of a function that hides the id 0 without being given it; None if its mask is the same for any ids."""
    tokens = _tokens(2, 4)
    masks = [ask({"x": each}) for each in (tokens, tokens * (numpy.arange(4) < 3))]
    if not all(isinstance(each, numpy.ndarray) and each.shape[-2:] == (4, 4) for each in masks):
        return None
    return None if numpy.array_equal(masks[0], masks[1], equal_nan=masks[0].dtype.kind == "f") else Convention(encode=_without_pad_id)


def _with_fixed_id(pad_id: int, inputs: Inputs) -> Inputs | None:
    """Return token ids with this id in place of the padding 0, and 0 in place of tokens that have it; None for other inputs."""
    x = inputs.get("x")
    if x is None or x.dtype.kind != "i" or inputs.get("pad_id"):
        return None
    return without(inputs, "pad_id") | {"x": numpy.select([x == 0, x == pad_id], [pad_id, 0], x)}


MOST_NUMBERS = 8
PAD_IDS = (
    Convention(reads=_hides_zeros),
    Convention(),
    *(
        Convention(TEXTS["default_pad_id"], role="x", without="pad_id", source=r"!=|==|\b(ne|eq)\(", by_number=_with_fixed_id, place=place)
        for place in range(MOST_NUMBERS)
    ),
)
"""An id of padding that is given, known to be 0, or a number of the source: a function that hides it is judged on padded sequences."""

TOP_LEFT = optional(
    Convention(TEXTS["aligned_top_left"], steps={"triangle": _top_left}, role="key_len"),
    Convention(TEXTS["aligned_top_left"], steps={"triangle": _top_left}, role="x", named="score"),
)

CACHED = TEXTS["cached"]
PADDED = TEXTS["padded"]


def probes() -> tuple[Probe, ...]:
    """Several sizes, with a cache, and with padding."""
    tokens = numpy.array([[5, 6, 7, 0, 0], [8, 9, 4, 5, 0], [3, 4, 5, 6, 7]])
    return (
        Probe("five", {"query_len": 5}),
        Probe("three", {"query_len": 3}),
        Probe("eight", {"query_len": 8}),
        Probe("with a cache", {"query_len": 3, "past_len": 2}, CACHED),
        Probe("with a long cache", {"query_len": 4, "past_len": 5}, CACHED),
        Probe("one token", {"query_len": 1, "past_len": 4}, CACHED),
        Probe("padded", {"x": tokens, "pad_id": 0}, PADDED),
        Probe("padded, another id", {"x": numpy.where(tokens == 0, 9, tokens % 9), "pad_id": 9}, PADDED),
        Probe("padded on the left", {"x": numpy.array([[0, 0, 5, 6, 7], [0, 8, 9, 4, 5]]), "pad_id": 0}, caution=TEXTS["left"]),
    )


EXERCISE = Exercise(
    name="causal_mask",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("query_len"), ROLES("x"), ROLES("key_len"), ROLES("past_len", neutral=0), ROLES("pad_id", neutral=0), *OPTIONS),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(forms(_examples, (..., -1, 0), _decoded), TAKES, PAD_IDS, TOP_LEFT),
    recoveries=(fill_recovery({"query_len": 4}),),
    is_trained_through=False,
    calls="mask",
)
