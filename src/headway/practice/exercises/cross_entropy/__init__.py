"""cross_entropy: the mean of -log softmax(logits)[target]."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe
from headway.practice.exercises.cross_entropy.mistakes import MISTAKES
from headway.practice.exercises.cross_entropy.recoveries import RECOVERIES, guards
from headway.practice.exercises.cross_entropy.steps import STEPS, log_softmax, softmax
from headway.practice.recipes.encoding import changed
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("cross_entropy")
ROLES = Roles("cross_entropy")


def recipe(steps: Any, logits: Any, targets: Any, ignored: int | None = None, smoothing: float = 0.0) -> Any:
    """The definition as named steps: operands, log_probs, counts, targets, pick, unit, reduce, finish."""
    logits, targets = steps.operands(logits.astype(numpy.float64), targets)
    counts = steps.counts(targets, ignored)
    surprise = -steps.unit() * steps.pick(steps.log_probs(logits), steps.targets(numpy.where(counts, targets, 0)))
    return steps.finish(steps.reduce(surprise, counts, logits))


BATCH = TEXTS["batch"]
OTHERWISE = TEXTS["otherwise"]


def probes() -> tuple[Probe, ...]:
    """Rows, as many rows as classes, a batch of sequences, large and extreme logits, ignored targets, and a single row."""
    random = numpy.random.default_rng(14)

    def drawn(*shape: int) -> Inputs:
        return {"logits": random.standard_normal(shape) * 1.5, "targets": random.integers(0, shape[-1], shape[:-1])}

    return (
        Probe("rows", drawn(3, 5) | {"targets": numpy.array([4, 0, 2])}),
        Probe("more rows than classes", drawn(6, 4) | {"targets": numpy.array([3, 0, 2, 2, 1, 0])}),
        Probe("as many rows as classes", drawn(4, 4) | {"targets": numpy.array([3, 0, 1, 1])}),
        Probe("large logits", {"logits": numpy.array([[1000.0, 1001.0, 1002.0], [900.0, 901.0, 900.5]]), "targets": numpy.array([2, 1])}),
        Probe("small logits", {"logits": numpy.array([[-1000.0, -1003.0, -1001.0], [0.5, 1.0, 0.0]]), "targets": numpy.array([1, 1])}),
        Probe("extreme logits", {"logits": numpy.array([[0.0, 1000.0, 2.0], [40.0, -40.0, 0.0]]), "targets": numpy.array([0, 1])}),
        Probe("sequences", drawn(2, 3, 5), BATCH, OTHERWISE),
        Probe("one row", {"logits": random.standard_normal(5), "targets": numpy.array(3)}, TEXTS["single"]),
        Probe("ignored", drawn(5, 4) | {"targets": numpy.array([3, -100, 1, -100, 0]), "ignored": -100}),
        Probe("ignored class", drawn(5, 4) | {"targets": numpy.array([3, 2, 1, 2, 0]), "ignored": 2}),
        Probe(
            "ignored in sequences",
            drawn(2, 3, 5) | {"targets": numpy.array([[3, 1, -100], [4, -100, -100]]), "ignored": -100},
            BATCH,
            OTHERWISE,
        ),
    )


def _probabilities(inputs: Inputs) -> Inputs | None:
    """Return inputs with probabilities if none underflows: the result for log(0) is not checked."""
    probabilities = softmax(inputs["logits"])
    return inputs | {"logits": probabilities} if probabilities.min() > 1e-3 else None


def _batched(inputs: Inputs) -> Inputs:
    """Return inputs with rows as two sequences, or as one if their number is odd."""
    logits, targets = inputs["logits"], inputs["targets"]
    if logits.ndim != 2:
        return inputs
    count = 1 if len(targets) % 2 else 2
    return inputs | {"logits": logits.reshape(count, -1, logits.shape[-1]), "targets": targets.reshape(count, -1)}


def _hot(inputs: Inputs) -> Inputs:
    """Return inputs with one-hot targets, except with ignored targets, which need class numbers."""
    return inputs if "ignored" in inputs else inputs | {"targets": numpy.eye(inputs["logits"].shape[-1])[inputs["targets"]]}


def _hot_rows(inputs: Inputs) -> Inputs | None:
    """Return rows with one-hot targets; None for sequences."""
    return _hot(inputs) if inputs["logits"].ndim == 2 else None


OF_ROWS = r"(?i)\A(?!(.|\n)*(\bseq|reshape|\.view\(|vocab|\(\w+, *\w+, *\w+\)\W|tokens?\b))(.|\n)*(shape\[0\]|size\(0\)|len\(|\bshape\b)"
"""Source of a function that divides by the number of rows and names nothing of sequences."""

PROBABILITIES = TEXTS["probabilities"]
CALLED_PROBABILITIES = r"prob|pred|hat|^p$|^q$|^y_?p|output|softmax"


WITHOUT_SOFTMAX = r"\A(?!(.|\n)*(exp\(|softmax|logits))"
"""Source of a function that leaves softmax to its caller."""


def _with_floor(floor: float, named: str = CALLED_PROBABILITIES, source: str | None = None) -> Convention:
    says = TEXTS["probabilities_and_floor"].format(probabilities=PROBABILITIES, floor=floor)
    steps = {"log_probs": lambda logits: numpy.log(softmax(logits) + floor)}
    return Convention(says, _probabilities, role="logits", named=named, source=source, steps=steps)


SUMMED = {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum()}
OF_EACH_ROW = {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0)}
PER_ROW = (
    r"(?i)reduction *= *['\"]none|\A(?!(.|\n)*(mean|averag))"
    r"(.|\n)*(with_integer_labels|\bper[- _](example|sample|token|row|position|element)|unreduced)"
)
"""Source of a function that returns the loss of each row, as optax does."""
GRADIENT_OF_SUM = r"\A(?!(.|\n)*(mean|average|shape|len\(|size|batch))(.|\n)*def (backward|gradient|derivative)"
"""Source of a class whose own gradient is that of the sum: it never counts the targets."""


def _mean_of_sum(answer: Any, inputs: Inputs) -> Any:
    """Return the mean for a sum and the number of targets that it counts."""
    is_pair = isinstance(answer, tuple) and len(answer) == 2 and all(numpy.ndim(each) == 0 for each in answer)
    num_counted = int((inputs["targets"] != inputs.get("ignored")).sum())
    return answer[0] / answer[1] if is_pair and num_counted and float(answer[1]) == num_counted else answer


EXERCISE = Exercise(
    name="cross_entropy",
    definition=functions.cross_entropy,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("logits"), ROLES("targets"), ROLES("ignored", off=-100), ROLES("smoothing", neutral=0.0, off=0.0)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(),
            Convention(PROBABILITIES, _probabilities, role="logits", named=CALLED_PROBABILITIES),
            Convention(TEXTS["log_probabilities"], changed(logits=log_softmax), role="logits", named=r"log_?p|log_?soft|logp"),
            *(_with_floor(floor) for floor in (1e-8, 1e-7)),
            Convention(reads=guards),
            *(_with_floor(floor, named=r"^y$", source=WITHOUT_SOFTMAX) for floor in (0.0, 1e-8, 1e-7)),
        ),
        (
            Convention(),
            Convention(TEXTS["summed_as_its_gradient"], steps=SUMMED, source=GRADIENT_OF_SUM),
            Convention(TEXTS["loss_of_each_row"], steps=OF_EACH_ROW, source=PER_ROW),
        ),
        (Convention(), Convention(TEXTS["batched"], _batched, source=r"shape|size|transpose|permute")),
        (
            Convention(),
            Convention(TEXTS["one_hot_targets"], _hot, role="targets"),
            Convention(TEXTS["one_hot_targets"], _hot_rows, role="targets", source=OF_ROWS),
        ),
        (
            Convention(),
            Convention(
                TEXTS["several_values"], decode=lambda answer, inputs: answer[0] if isinstance(answer, tuple) and answer else answer
            ),
            Convention(TEXTS["sum_and_count"], decode=_mean_of_sum, source=r"sum|count"),
        ),
    ),
    recoveries=RECOVERIES,
)
