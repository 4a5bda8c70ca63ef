"""Sampling: temperature, then top-k, then top-p, then a token drawn from the remaining ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Inputs, Mistake, Probe, Step, optional
from headway.practice.exercises import min_p as min_p_exercise
from headway.practice.exercises import top_k as top_k_exercise
from headway.practice.exercises import top_p as top_p_exercise
from headway.practice.exercises.temperature import largest, slope, temperature_recovery
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import FLAT, SEVERAL, STEEP, descending, of_rows, or_token, put_back, required, softmax
from headway.practice.recipes.encoding import without
from headway.practice.recipes.measuring import Ask, Measured
from headway.practice.recipes.toy_translator import FixedModel, prompt_of
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("sample")
ROLES = Roles("sample")


def recipe(steps: Any, logits: Any, temperature: Any = 1.0, top_k: Any = None, top_p: Any = None, min_p: Any = None, **rest: Any) -> Any:
    """The definition as named steps: at_zero, order (of scale, keep_k, nucleus and likely), draw."""
    if temperature == 0:
        return steps.at_zero(logits)

    def scale(x: Any) -> Any:
        return steps.scale(x, temperature)

    def keep_k(x: Any) -> Any:
        return x if top_k is None else numpy.where(steps.keep_k(x, top_k), x, -numpy.inf)

    def keep_p(x: Any) -> Any:
        x = x if top_p is None else numpy.where(steps.nucleus(x, top_p), x, -numpy.inf)
        return x if min_p is None else numpy.where(steps.likely(x, min_p), x, -numpy.inf)

    return steps.draw(steps.order(logits, scale, keep_k, keep_p))


def definition(logits: Any, temperature: float = 1.0, top_k: Any = None, top_p: Any = None, min_p: Any = None, **rest: Any) -> Any:
    """Return the probabilities computed with headway.functions."""
    if temperature == 0:
        return largest(logits)
    left = functions.scale_by_temperature(logits, temperature)
    left = left if top_k is None else functions.keep_top_k(left, top_k)
    left = left if top_p is None else functions.keep_top_p(left, top_p)
    return functions.softmax(left if min_p is None else functions.keep_min_p(left, min_p))


def nucleus(keep: Step) -> Step:
    """Return top-p with a rule for the sorted cumulative sum."""

    def kept(left: Any, top_p: float) -> Any:
        order = descending(left)
        return put_back(keep(numpy.cumsum(numpy.take_along_axis(softmax(left), order, axis=-1), axis=-1), top_p), order)

    return kept


def likely(left: Any, min_p: float) -> Any:
    """Return True for the tokens that are at least min_p times as likely as the likeliest."""
    probabilities = softmax(left)
    return min_p_exercise.STEPS["keep"](probabilities, min_p_exercise.STEPS["threshold"](probabilities, min_p))


STEPS: dict[str, Step] = {
    "at_zero": largest,
    "scale": lambda logits, temperature: logits / temperature,
    "keep_k": top_k_exercise.STEPS["keep"],
    "nucleus": nucleus(top_p_exercise.STEPS["keep"]),
    "likely": likely,
    "order": lambda logits, scale, keep_k, keep_p: keep_p(keep_k(scale(logits))),
    "draw": softmax,
}


def _of_top_k(name: str) -> Mistake:
    """Return a mistake of the exercise top_k as a mistake here."""
    made = next(each for each in top_k_exercise.MISTAKES if each.name == name)
    return Mistake(f"top_k_{name}", {"keep_k": made.steps["keep"]}, made.says, made.fix, made.hides, made.pattern)


def _of_top_p(name: str) -> Mistake:
    """Return a mistake of the exercise top_p as a mistake here."""
    made = next(each for each in top_p_exercise.MISTAKES if each.name == name)
    return Mistake(f"top_p_{name}", {"nucleus": nucleus(made.steps["keep"])}, made.says, made.fix, made.hides, made.pattern)


def _in_order(left: Any) -> Any:
    """Return the probabilities in the sorted order, as if a place in it were a token."""
    return -numpy.sort(-softmax(left), axis=-1)


MISTAKES = (
    TEXTS.mistake("zero_is_one", at_zero=softmax),
    TEXTS.mistake("most_likely_always", draw=largest),
    TEXTS.mistake("least_likely_at_zero", at_zero=lambda logits: (logits == logits.min(-1, keepdims=True)).astype(logits.dtype)),
    TEXTS.mistake("first_at_zero", at_zero=lambda logits: numpy.broadcast_to(numpy.arange(logits.shape[-1]) == 0, logits.shape) * 1.0),
    TEXTS.mistake("all_alike", draw=lambda left: numpy.isfinite(left) / numpy.isfinite(left).sum(-1, keepdims=True)),
    TEXTS.mistake("softmax_twice", draw=lambda left: softmax(softmax(left))),
    TEXTS.mistake("top_k_ignored", keep_k=lambda logits, top_k: numpy.ones_like(logits, bool)),
    *map(_of_top_k, ("keeps_one_more", "keeps_one_less", "keeps_the_least_likely", "drops_the_most_likely", "mask_not_put_back")),
    TEXTS.mistake("top_p_ignored", nucleus=lambda left, top_p: numpy.ones_like(left, bool)),
    *map(_of_top_p, ("crossing_token_dropped", "everything_may_be_dropped", "one_more_kept", "one_minus_p", "nucleus_dropped")),
    TEXTS.mistake(
        "top_p_mask_not_put_back",
        nucleus=lambda left, top_p: top_p_exercise.sum_before(numpy.cumsum(-numpy.sort(-softmax(left), axis=-1), axis=-1)) < top_p,
    ),
    TEXTS.mistake(
        "values_gathered",
        order=lambda logits, scale, keep_k, keep_p: top_p_exercise.gathered(keep_p(keep_k(scale(logits))), descending(logits)),
    ),
    TEXTS.mistake("sorted_not_put_back", draw=_in_order),
    TEXTS.mistake(
        "sorted_not_put_back_of_kept",
        draw=lambda left: _in_order(left) if numpy.isneginf(left).any() else softmax(left),
        said_as="sorted_not_put_back",
    ),
)


def _slope(ask: Ask) -> Measured:
    """Measure the slope of the log-probabilities over the logits; nothing if all tokens are equally likely."""
    found = slope(ask)
    return found if all(abs(number) > 1e-6 for _, number in found) else []


ORDERS = optional(
    Convention(
        TEXTS["temperature_last"], steps={"order": lambda logits, scale, keep_k, keep_p: scale(keep_p(keep_k(logits)))}, role="temperature"
    ),
    Convention(TEXTS["top_p_over_all"], steps={"order": lambda logits, scale, keep_k, keep_p: keep_k(keep_p(scale(logits)))}, role="top_k"),
    Convention(
        TEXTS["top_p_over_all_temperature_last"],
        steps={"order": lambda logits, scale, keep_k, keep_p: scale(keep_k(keep_p(logits)))},
        role="top_k",
    ),
)
"""The order of the options: all are correct, and the one found is reported."""


AT_ZERO = optional(Convention(TEXTS["zero"], steps={"at_zero": lambda logits: numpy.full_like(logits, numpy.nan)}, role="temperature"))
"""Temperature 0: the most likely token, or a division by 0 that the caller has to avoid."""


MODEL = Convention(
    TEXTS["takes_model"],
    lambda inputs: without(inputs, "logits") | {"model": FixedModel(inputs["logits"]), "prompt": prompt_of(inputs["logits"])},
    role="model",
)
"""A function that takes a model and token ids, and samples from the logits at the last position."""


def vocab_size(inputs: Inputs) -> int:
    """Return the number of tokens, of which top-k then keeps all."""
    logits = inputs["logits"] if "logits" in inputs else inputs["model"].logits
    return int(logits.shape[-1]) if hasattr(logits, "shape") else len(logits)


def _none_before(inputs: Inputs) -> numpy.ndarray:
    """Return the ids of the tokens before those that are sampled, of which there are none, so that no penalty has an effect."""
    return numpy.zeros((*inputs["logits"].shape[:-1], 0), numpy.int64) if "logits" in inputs else numpy.zeros((1, 0), numpy.int64)


OF_LOGITS_ALONE = r"def \w+\(\s*(self, *)?\w+(:[^,)]*)?\)"
"""Pattern of the head of a function of one operand."""

GREEDY = optional(
    Convention(TEXTS["greedy"], steps={"draw": largest}, called=r"greedy|arg_?max"),
    Convention(TEXTS["greedy"], steps={"draw": largest}, source=rf"{OF_LOGITS_ALONE}[\s\S]*greedy"),
    Convention(TEXTS["greedy"], steps={"draw": largest}, source=r"(method|strategy|mode)( *: *\w+)? *= *['\"]greedy['\"]"),
    Convention(
        TEXTS["picks_the_largest"], steps={"draw": largest}, called=r"^(?!.*sampl)", source=rf"{OF_LOGITS_ALONE}(?![\s\S]*multinomial)"
    ),
)
"""A function whose name says that it takes the most likely token, or one of logits alone whose source does, or whose name says nothing of sampling."""


def probes() -> tuple[Probe, ...]:
    """Each option separately, then combined; temperature 0; several rows."""
    return (
        Probe("plain", {"logits": FLAT}),
        Probe("hot", {"logits": FLAT, "temperature": 2.0}),
        Probe("at zero", {"logits": FLAT, "temperature": 0.0}, QUIET),
        Probe("top-k", {"logits": FLAT, "top_k": 3}),
        Probe("top-p", {"logits": FLAT, "top_p": 0.6}),
        Probe("top-p, one above p", {"logits": STEEP, "top_p": 0.9}),
        Probe("top-p of one", {"logits": FLAT, "top_p": 1.0}, caution=TEXTS["top_p_of_one"]),
        Probe("cold top-k", {"logits": FLAT, "temperature": 0.5, "top_k": 4}),
        Probe("cold top-p", {"logits": FLAT, "temperature": 0.3, "top_p": 0.6}),
        Probe("top-k and top-p", {"logits": FLAT, "top_k": 4, "top_p": 0.6}),
        Probe("all", {"logits": FLAT, "temperature": 2.5, "top_k": 5, "top_p": 0.55}),
        Probe("min-p", {"logits": FLAT, "min_p": 0.5}),
        of_rows("rows", SEVERAL, temperature=0.7),
        of_rows("rows at zero", SEVERAL, temperature=0.0),
    )


EXERCISE = distributions.SAMPLER(
    name="sample",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        distributions.LOGITS,
        distributions.TEMPERATURE,
        replace(required(distributions.TOP_K), off=vocab_size),
        required(distributions.TOP_P),
        required(ROLES("min_p")),
        distributions.RNG,
        distributions.AXIS,
        distributions.WORDS,
        ROLES("do_sample", neutral=True),
        ROLES("num_draws", neutral=1),
        *ROLES.each("model", "prompt"),
        ROLES("previous_tokens", neutral=_none_before),
        ROLES("banned_tokens", neutral=frozenset()),
        ROLES("repetition_penalty", neutral=1.0, off=1.0),
        *(ROLES(name, neutral=0.0, off=0.0) for name in ("presence_penalty", "frequency_penalty")),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        distributions.GIVEN,
        (*distributions.ROWS, distributions.by_token(is_filter=False)),
        optional(MODEL),
        tuple(map(or_token, (*distributions.RETURNED[:2], distributions.UNNORMALISED))),
        ORDERS,
        AT_ZERO,
        GREEDY,
    ),
    recoveries=(temperature_recovery(TEXTS, _slope),),
)
