"""Mistakes in the layers of the original Transformer: residual connections, norms, order, feed-forward, attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.activations import normed, scaled
from headway.practice.recipes.layers import Add, Pair, Sublayer, in_turn, layer_norm
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, WEIGHTS
from headway.practice.texts import Texts

TEXTS = Texts("shared/layer_mistakes")


def _from_input(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
    """Start every residual connection at the layer's input."""
    start = x
    for part, norm, add in parts:
        x = sublayer(x, part, norm, lambda _, y, add=add: add(start, y))
    return x


def _normed_residual(x: Any, part: Sublayer, norm: Sublayer, add: Add) -> Any:
    normed = norm(x)
    return add(normed, part(normed))


def _normed_at(place: int) -> Callable[..., Any]:
    """Start one residual connection after its norm."""

    def wire(x: Any, parts: Sequence[tuple[Sublayer, Sublayer, Add]], sublayer: Callable[..., Any]) -> Any:
        for index, (part, norm, add) in enumerate(parts):
            x = (_normed_residual if index == place else sublayer)(x, part, norm, add)
        return x

    return wire


def _left_out(place: int) -> Callable[..., Any]:
    """Leave out one sublayer with its norm and residual connection."""
    return lambda x, parts, sublayer: in_turn(x, [each for index, each in enumerate(parts) if index != place], sublayer)


def _unused(place: int) -> Callable[..., Any]:
    """Connect the input of one sublayer in place of its output."""
    return lambda x, parts, sublayer: in_turn(
        x, [((lambda x: x) if index == place else part, norm, add) for index, (part, norm, add) in enumerate(parts)], sublayer
    )


def _without(place: int) -> Callable[[int], Add]:
    return lambda index: (lambda x, y: y) if index == place else (lambda x, y: x + y)


def _bare(place: int) -> Callable[[list[Sublayer]], list[Sublayer]]:
    return lambda norms: [(lambda x: x) if each == place else norm for each, norm in enumerate(norms)]


def _moved(places: Sequence[int], *, with_norms: bool) -> Callable[[list[Pair]], list[Pair]]:
    def order(pairs: list[Pair]) -> list[Pair]:
        return [(pairs[place][0], pairs[place if with_norms else now][1]) for now, place in enumerate(places)]

    return order


NORM = r"norm|ln"
SUBLAYER, FEED_FORWARD = r"norm|att|ff|mlp|feed", r"(\b|_)ff|mlp|feed"
"""Patterns of the calls of any sublayer, and of the last one."""


def _of_each(
    parts: Sequence[Message],
    name: str,
    steps: Mapping[str, Callable[[int], Any]],
    *,
    pattern: str,
    key: str,
    said_as: str | None = None,
    last: str | None = None,
) -> list[Mistake]:
    """Return a mistake for the place of each part: the steps for the place, and a name with its number, counted from 1.

    last   pattern of the line of the last part, if it has one of its own
    """
    return [
        TEXTS.mistake(
            name.format(place + 1),
            pattern=(last or pattern) if place == len(parts) - 1 else pattern,
            said_as=said_as,
            key=key,
            part=part,
            **{step: make(place) for step, make in steps.items()},
        )
        for place, part in enumerate(parts)
    ]


def wiring(parts: Sequence[Message]) -> tuple[Mistake, ...]:
    """Return the mistakes between sublayers with these names."""
    count = len(parts)
    return (
        *_of_each(parts, "residual_{}_missing", {"add": _without}, pattern=SUBLAYER, key="residual_of_one_missing", last=FEED_FORWARD),
        *_of_each(parts, "sublayer_{}_missing", {"wire": _left_out}, pattern=SUBLAYER, key="sublayer_missing"),
        *_of_each(parts, "sublayer_{}_unused", {"wire": _unused}, pattern=r"drop|att|ff|mlp|feed", key="sublayer_unused"),
        TEXTS.mistake("input_added_again", wire=lambda x, parts, sublayer: x + in_turn(x, parts, sublayer)),
        TEXTS.mistake("residuals_missing", add=lambda place: lambda x, y: y),
        TEXTS.mistake("residual_from_input", wire=_from_input),
        TEXTS.mistake("residual_from_normalised", sublayer=_normed_residual, pattern=NORM),
        *_of_each(
            parts,
            "residual_{}_from_normalised",
            {"wire": _normed_at},
            pattern=NORM,
            said_as="residual_from_normalised",
            key="residual_of_one_from_normalised",
        ),
        TEXTS.mistake("parts_normalised_afterwards", sublayer=lambda x, part, norm, add: add(x, norm(part(x))), pattern=NORM),
        TEXTS.mistake("norms_missing", norms=lambda norms: [lambda x: x] * len(norms)),
        *_of_each(parts, "norm_{}_missing", {"norms": _bare}, pattern=NORM, key="norm_of_one_missing"),
        *(
            TEXTS.mistake(
                f"norm_{place + 1}_for_all",
                norms=lambda norms, place=place: [norms[place]] * len(norms),
                pattern=NORM,
                said_as="norm_shared",
            )
            for place in range(count)
        ),
        TEXTS.mistake("in_parallel", wire=lambda x, parts, sublayer: x + sum(part(norm(x)) for part, norm, _ in parts)),
        TEXTS.mistake(
            "in_parallel_post_norm",
            wire=lambda x, parts, sublayer: parts[-1][1](x + sum(part(x) for part, _, _ in parts)),
            pattern=r"\+",
            said_as="in_parallel",
        ),
        TEXTS.mistake("variance_of_n_minus_one", norm=lambda x, weight, bias: layer_norm(x, weight, bias, ddof=1)),
        TEXTS.mistake("norm_over_all_positions", norm=lambda x, weight, bias: scaled(normed(x, axis=(-2, -1)), weight, bias), pattern=NORM),
    )


def moved(texts: Texts, name: str, places: Sequence[int], pattern: str) -> tuple[Mistake, ...]:
    """Return the mistakes of sublayers in another order, with or without their norms; `texts` describe them."""
    return (
        texts.mistake(name, order=_moved(places, with_norms=True), pattern=pattern),
        texts.mistake(f"{name}_norms_in_place", order=_moved(places, with_norms=False), pattern=pattern, said_as=name),
    )


THINKING = (
    TEXTS.mistake("activation_missing", bend=lambda hidden, down, activation: down(hidden)),
    TEXTS.mistake("activation_after_second", bend=lambda hidden, down, activation: activation(down(hidden))),
)


def chosen(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes with these names."""
    return tuple(each for each in mistakes if each.name in names)


ATTENDING = (
    TEXTS.mistake("scale_missing", scale=lambda given: 1.0),
    TEXTS.mistake("scale_of_whole_width", scale=lambda given: (given["query"].shape[-1] * given["num_heads"]) ** -0.5),
    *chosen(HEADS, "heads_viewed_not_split", "heads_viewed_not_merged", "attends_over_heads", "split_before_projecting"),
    *chosen(OUTPUT, "no_output_projection"),
    *chosen(WEIGHTS, "key_from_the_query_projection", "value_from_the_key_projection"),
)
MASKING = chosen(MASKS, "mask_on_rows", "hidden_score_is_zero", "mask_after_softmax")
