"""cross_entropy: the mean of -log softmax(logits)[target]."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.message import Message
from headway.practice.outputs import Raised
from headway.practice.recipes.activations import softmax
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.encoding import changed
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("cross_entropy")
ROLES = Roles("cross_entropy")


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """Return the log-softmax, in NumPy."""
    shifted = x - x.max(axis, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis, keepdims=True))


def pick(log_probs: Any, targets: Any) -> Any:
    """Return the element of each row at its target."""
    return numpy.take_along_axis(log_probs, targets[..., None], -1)[..., 0]


def mean(surprise: Any, counts: Any, logits: Any) -> Any:
    """Return the mean over the rows that are not ignored."""
    return numpy.where(counts, surprise, 0).sum() / max(counts.sum(), 1)


def one_hot(log_probs: Any, targets: Any) -> Any:
    """Return arrays with 1 at each row's target and 0 elsewhere."""
    return numpy.eye(log_probs.shape[-1])[targets]


STEPS = {
    "operands": lambda logits, targets: (logits, targets),
    "log_probs": log_softmax,
    "counts": lambda targets, ignored: numpy.ones(targets.shape, bool) if ignored is None else targets != ignored,
    "pick": pick,
    "spread": lambda smoothing, logits: smoothing,
    "unit": lambda: 1.0,
    "reduce": mean,
}


def steps_of(function: Any) -> dict[str, Any]:
    """Return steps for another function from log-probabilities and targets to the loss."""
    return {
        "pick": lambda log_probs, targets: -numpy.asarray(function(log_probs, targets)),
        "reduce": lambda surprise, counts, logits: surprise,
    }


def _binary(log_probs: Any, targets: Any) -> Any:
    hot = one_hot(log_probs, targets)
    return -(hot * log_probs + (1 - hot) * numpy.log1p(-numpy.exp(log_probs)))


def _shifted(logits: Any, targets: Any) -> tuple[Any, Any]:
    """Return the logits with the targets of the next rows."""
    return logits[..., :-1, :], targets[..., 1:]


MISTAKES = (
    TEXTS.mistake("no_shift", log_probs=lambda logits: logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))),
    TEXTS.mistake("no_shift_in_softmax", log_probs=lambda logits: numpy.log(numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True))),
    TEXTS.mistake("logits_taken_for_probabilities", log_probs=numpy.log),
    TEXTS.mistake("logarithm_missing", log_probs=softmax),
    TEXTS.mistake("softmax_missing", log_probs=unchanged),
    TEXTS.mistake("softmax_twice", log_probs=lambda logits: log_softmax(softmax(logits))),
    TEXTS.mistake("softmax_over_rows", log_probs=lambda logits: log_softmax(logits, 0)),
    TEXTS.mistake("softmax_over_everything", log_probs=lambda logits: log_softmax(logits, None)),
    TEXTS.mistake("sign_missing", finish=lambda loss: -loss),
    TEXTS.mistake("summed", reduce=lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum()),
    TEXTS.mistake("averaged_over_classes", reduce=lambda surprise, counts, logits: mean(surprise, counts, logits) / logits.shape[-1]),
    TEXTS.mistake("smoothing_exchanged", spread=lambda smoothing, logits: 1 - smoothing),
    TEXTS.mistake("ignored_averaged_in", reduce=lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / counts.size),
    TEXTS.mistake(
        "averaged_over_batch_alone",
        reduce=lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / (surprise.shape or (1,))[0],
    ),
    TEXTS.mistake("not_averaged", reduce=unchanged),
    TEXTS.mistake("perplexity_returned", finish=numpy.exp),
    TEXTS.mistake("every_row_with_every_target", **steps_of(lambda log_probs, targets: -log_probs[:, targets].mean())),
    TEXTS.mistake(
        "every_row_with_every_target_summed",
        **steps_of(lambda log_probs, targets: -log_probs[:, targets].sum() / targets.shape[-1]),
        said_as="every_row_with_every_target",
    ),
    TEXTS.mistake("rows_of_targets", **steps_of(lambda log_probs, targets: -log_probs[targets].mean())),
    TEXTS.mistake(
        "targets_counted_from_one",
        targets=lambda targets: targets - 1,
        pick=lambda log_probs, targets: pick(log_probs, targets % log_probs.shape[-1]),
    ),
    TEXTS.mistake("largest_for_target", pick=lambda log_probs, targets: log_probs.max(-1)),
    TEXTS.mistake("all_classes_averaged", **steps_of(lambda log_probs, targets: -log_probs.mean())),
    TEXTS.mistake("entropy_returned", pick=lambda log_probs, targets: (numpy.exp(log_probs) * log_probs).sum(-1)),
    TEXTS.mistake("binary_cross_entropy", **steps_of(lambda log_probs, targets: _binary(log_probs, targets).mean())),
    TEXTS.mistake("binary_cross_entropy_summed", **steps_of(lambda log_probs, targets: _binary(log_probs, targets).sum(-1).mean())),
    TEXTS.mistake(
        "squared_error", **steps_of(lambda log_probs, targets: ((numpy.exp(log_probs) - one_hot(log_probs, targets)) ** 2).mean())
    ),
    TEXTS.mistake("shifted_inside", operands=_shifted),
    TEXTS.mistake("ignored_counted", counts=lambda targets, ignored: numpy.ones(targets.shape, bool), pick=pick),
    TEXTS.mistake("fractions_cut_off", finish=numpy.trunc),
)


def _unit(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the loss, which is 1/ln 2 in bits."""
    measured = []
    for vocab_size in (4, 7):
        inputs = {
            "logits": numpy.linspace(-1, 1, 3 * vocab_size).reshape(3, vocab_size) ** 3,
            "targets": numpy.array([1, 0, vocab_size - 1]),
        }
        answer = ask(inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != () or not numpy.isfinite(answer):
            return []
        measured.append((inputs, float(answer) / float(-pick(log_softmax(inputs["logits"]), inputs["targets"]).mean())))
    is_named = min(abs(measured[0][1] - each) for each in (3, -1, 1 / 4)) < 1e-5
    return [] if is_named else measured


LARGEST_GUARD = 1.5e-7
"""Largest number in place of a probability of 0 that is a guard against log(0), not a change of the loss."""


def guards(ask: Any) -> list[Convention] | None:
    """Return the conventions of a loss that computes a softmax, with or without a guard of its logarithm; None for another loss."""
    forms = (
        UNLIKELY,
        {name: value[None] for name, value in UNLIKELY.items()},
        {name: numpy.asarray(value[0]) for name, value in UNLIKELY.items()},
    )
    losses = [_loss(ask, each) for each in forms]
    if any(loss is not None and not numpy.isfinite(loss) for loss in losses):
        return [Convention(TEXTS["logarithm_of_softmax"], _without_underflow, role="logits")]
    added = _added(ask)
    sums = [added] if added else []
    found = [number for number in map(_floor_of, losses) if number is not None and 1e-16 < number < LARGEST_GUARD]
    floors = [float(f"{number:.2g}") for number in found[:1]]
    return [
        *(_guarded(TEXTS["guarded_sum"], number, lambda logits: _log_softmax_with(logits, sums[0])) for number in sums),
        *(_guarded(TEXTS["guarded"], number, lambda logits: numpy.log(softmax(logits) + floors[0])) for number in floors),
        *(_guarded(TEXTS["guarded"], number, lambda logits: numpy.log(numpy.maximum(softmax(logits), floors[0]))) for number in floors),
        *(
            _guarded(TEXTS["guarded"], number, lambda logits: numpy.log(numpy.clip(softmax(logits), floors[0], 1 - floors[0])))
            for number in floors
        ),
    ] or None


OF_SMOOTHING = r"(?i)smooth|\b1(\.0?)? *- *(eps|epsilon|alpha|ls)\b"
"""Source of a function that may smooth the targets."""


def smoothed(ask: Any) -> list[Convention] | None:
    """Return the conventions of a loss that spreads a share of each target over all classes, or over the others; None for another loss."""
    shares = [(vocab_size, _share(ask, vocab_size, slope)) for vocab_size in (4, 7) for slope in (1.0, -0.6)]
    found: list[Convention] = []
    for of_others in (False, True):
        numbers = [share * (size - of_others) / size for size, share in shares if share is not None]
        if len(numbers) == len(shares) and 0.001 < numbers[0] < 0.5 and numpy.ptp(numbers) < 1e-4:
            says = TEXTS["smooths_over_others"] if of_others else TEXTS["smooths_over_all"]
            found.append(_smoothing(says, float(f"{numbers[0]:.3g}"), of_others=of_others))
    return found or None


def _share(ask: Any, vocab_size: int, slope: float) -> float | None:
    """Return the share of the mean over all classes in the loss of one row; None without one."""
    log_probs = log_softmax(slope * numpy.arange(vocab_size)[None] ** 1.3)
    row = {"logits": log_probs, "targets": numpy.array([1])}
    found = (_loss(ask, each) for each in (row, {name: value[None] for name, value in row.items()}))
    loss = next((each for each in found if each is not None), None)
    likely, mean_of_all = -log_probs[0, 1], -log_probs.mean()
    return None if loss is None else float((loss - likely) / (mean_of_all - likely))


def _smoothing(says: Message, share: float, *, of_others: bool) -> Convention:
    def smooth(log_probs: Any, targets: Any) -> Any:
        size = log_probs.shape[-1]
        spread = share * size / (size - of_others)
        return (1 - spread) * pick(log_probs, targets) + spread * log_probs.mean(-1)

    return Convention(says.format(share=f"{share:g}"), steps={"pick": smooth})


UNLIKELY = {"logits": numpy.array([[0.0, -2000.0]] * 2), "targets": numpy.array([1, 1])}
"""Rows whose targets have a probability that underflows to 0."""


def _loss(ask: Any, inputs: Inputs) -> float | None:
    """Return the loss for inputs; None if it is not a single number."""
    answer = ask(inputs)
    return None if isinstance(answer, Raised) or numpy.size(answer) != 1 else float(numpy.reshape(answer, ()))


def _floor_of(loss: float | None) -> float | None:
    """Return the smallest probability that a loss of unlikely targets takes the logarithm of; None if there is none."""
    return float(numpy.exp(-numpy.float64(loss))) if loss is not None and 1 < loss < 700 else None


def _without_underflow(inputs: Inputs) -> Inputs | None:
    """Return inputs if no probability underflows to 0 in float32: the loss of log(0) is not compared."""
    return inputs if softmax(inputs["logits"]).min() > float(numpy.finfo(numpy.float32).tiny) else None


def _guarded(says: Message, number: float, log_probs: Any) -> Convention:
    return Convention(says.format(floor=f"{number:g}"), steps={"log_probs": log_probs})


def _added(ask: Any) -> float | None:
    """Measure the small number that is added to the sum of the exponentials: the loss of a certain prediction."""
    loss = _loss(ask, UNLIKELY | {"targets": numpy.array([0, 0])})
    return float(f"{loss:.2g}") if loss is not None and 1e-16 < loss < LARGEST_GUARD else None


def _log_softmax_with(logits: Any, added: float) -> Any:
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True) + added)


def _floor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the smallest probability that the loss takes the logarithm of."""
    floor = _floor_of(_loss(ask, UNLIKELY))
    return [] if floor is None else [(UNLIKELY, floor)]


RECOVERIES = (
    TEXTS.recovery("unit", "unit", measure=_unit, wrong=lambda number_of: lambda: number_of({}), right_name="nats"),
    TEXTS.recovery(
        "floor",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(softmax(logits) + number_of({})),
        right=0.0,
        right_name="nothing",
    ),
    TEXTS.recovery(
        "clipped_at",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(numpy.maximum(softmax(logits), number_of({}))),
        right=0.0,
        right_name="nothing",
    ),
)


def recipe(
    steps: Any, logits: Any, targets: Any, ignored: int | None = None, mask: Any = None, smoothing: float = 0.0, **off: float
) -> Any:
    """The definition as named steps: operands, log_probs, counts, targets, pick, spread, unit, reduce, finish."""
    logits, targets = steps.operands(logits.astype(numpy.float64), targets)
    counts = steps.counts(targets, ignored)
    counts = counts if mask is None else counts & mask
    log_probs = steps.log_probs(logits)
    picked = steps.pick(log_probs, steps.targets(numpy.where(counts, targets, 0)))
    if smoothing:
        share = steps.spread(smoothing, logits)
        picked = (1 - share) * picked + share * log_probs.mean(-1)
    surprise = -steps.unit() * picked
    return steps.finish(steps.reduce(surprise, counts, logits))


def definition(logits: Any, targets: Any, ignored: int | None = None, mask: Any = None, smoothing: float = 0.0, **off: float) -> Any:
    """Return headway.functions' cross-entropy of the targets at which a mask is True; with smoothing, a share of it is the mean over all targets."""
    if smoothing:
        every = [functions.cross_entropy(logits, 0 * targets + each) for each in range(logits.shape[-1])]
        return (1 - smoothing) * functions.cross_entropy(logits, targets) + smoothing * sum(every) / len(every)
    if mask is None:
        return functions.cross_entropy(logits, targets, ignored=ignored)
    hidden = -100 if ignored is None else ignored
    return functions.cross_entropy(logits, array_namespace(targets).where(mask, targets, hidden), ignored=hidden)


BATCH = TEXTS["batch"]
OTHERWISE = TEXTS["otherwise"]

OF_PADDING = r"\bdef \w+\([^)]*\bpad(ding)?(_?token)?(_?(id|idx|index))?\b(?! *(: *[^=,()]+)?= *-)"
"""Pattern of the source of a function that leaves out the targets of padding, which is a class: no index of none, such as -100."""


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
        Probe(
            "ignored", drawn(5, 4) | {"targets": numpy.array([3, -100, 1, -100, 0]), "ignored": -100}, TEXTS["no_class"], unless=OF_PADDING
        ),
        Probe("ignored class", drawn(5, 4) | {"targets": numpy.array([3, 2, 1, 2, 0]), "ignored": 2}),
        Probe(
            "ignored in sequences",
            drawn(2, 3, 5) | {"targets": numpy.array([[3, 1, -100], [4, -100, -100]]), "ignored": -100},
            BATCH,
            OTHERWISE,
            unless=OF_PADDING,
        ),
        Probe("masked", drawn(5, 4) | {"mask": numpy.array([True, False, True, True, False])}, TEXTS["masked"]),
        Probe("smoothing", drawn(6, 4) | {"smoothing": 0.2}),
        Probe("smoothing of more classes", drawn(4, 7) | {"smoothing": 0.1}),
        Probe(
            "masked sequences",
            drawn(2, 3, 5) | {"mask": numpy.array([[True, True, False], [True, False, False]])},
            BATCH,
            OTHERWISE,
        ),
        Probe(
            "ignored class in sequences",
            drawn(2, 3, 5) | {"targets": numpy.array([[3, 1, 0], [4, 0, 0]]), "ignored": 0},
            BATCH,
            OTHERWISE,
        ),
    )


def _probabilities(inputs: Inputs) -> Inputs | None:
    """Return inputs with probabilities if none underflows: the result for log(0) is not checked."""
    probabilities = softmax(inputs["logits"])
    return inputs | {"logits": probabilities} if probabilities.min() > 1e-3 else None


def _with_mask(inputs: Inputs) -> Inputs:
    """Return inputs with a mask, which is True everywhere if they have none."""
    return {"mask": numpy.ones(inputs["targets"].shape, bool)} | inputs


def _with_numbers(inputs: Inputs) -> Inputs:
    """Return inputs whose mask has the numbers 1.0 and 0.0."""
    return inputs | {"mask": inputs["mask"].astype(numpy.float64)} if "mask" in inputs else inputs


def _batched(inputs: Inputs) -> Inputs:
    """Return inputs with rows as two sequences, or as one if their number is odd."""
    logits, targets = inputs["logits"], inputs["targets"]
    if logits.ndim != 2:
        return inputs
    count = 1 if len(targets) % 2 else 2
    rows = {name: inputs[name].reshape(count, -1) for name in ("targets", "mask") if name in inputs}
    return inputs | rows | {"logits": logits.reshape(count, -1, logits.shape[-1])}


def _first(logits: Any, targets: Any) -> tuple[Any, Any]:
    return (logits[0], targets[0]) if logits.ndim == 2 else (logits, targets)


def _first_row(inputs: Inputs) -> Inputs | None:
    """Return inputs with the first row alone; None for sequences."""
    logits, targets = _first(inputs["logits"], inputs["targets"])
    return inputs | {"logits": logits, "targets": targets} if logits.ndim == 1 and "mask" not in inputs else None


ONE_ROW = r"\A(?!(.|\n)*(?m:^[^#\n]*(mean|sum\(|average)))(.|\n)*\[\s*(int\()?\w+\)?\s*\]"
"""Source of a function that takes the prediction at one target, and averages nothing outside of its comments."""

OF_ONE_ROW = (
    r"(?i)\A(?!(.|\n)*(mean|average|batch|axis|rows|samples|logits|softmax))(.|\n)*: *(a )?vector of (\w+ )?probabilities\b(.|\n)*sum\("
)
"""Source of a function that describes its operands as two vectors of probabilities, and averages nothing."""

OF_ONE_TARGET = (
    r"(?m)^ *(\w+) *= *\w+\.(zeros\(\w+\)[^\n]*\n+ *\1\[\w+\] *= *1\b|array\(\[(0(\.0?)?, *)*1(\.0?)?(, *0(\.0?)?)*\]\)|eye\(\w+\)\[\w+\])"
    r"(.|\n)*\b(loss|cross_?entropy)\w*\([^()\n]*\b\1\)"
)
"""Source of a file that calls the loss with one one-hot vector as its target."""
WITHOUT_ROWS = r"\A(?!(.|\n)*(mean|average|axis|\bdim\b|shape|len\(|size|batch))"
"""Source of a function that averages nothing and counts no rows."""

OF_TWO_LISTS = r"def \w+\(\s*\w+ *: *list\[float\],\s*\w+ *: *list\[float\]"
"""Source of a function of two lists of numbers."""

_CLASSES = r"(num_classes|n_classes|classes|num_labels|vocab_size|vocab|c|k|v)"
DESCRIBED_AS_ONE_ROW = (
    rf"(?i)\A(?!(.|\n)*(mean|average|batch|\b(axis|dim)\b|rows|samples))(?=(.|\n)*\b(logits|scores|z)\b *:[^\n(]*\( *{_CLASSES} *,? *\))"
    rf"(.|\n)*\b(y|t|target|label)\w* *: *([^\n(]*\( *{_CLASSES} *,? *\)|(a )?(scalar|int))"
)
"""Source of a function that describes its logits as one number per class and its target as that of one row, and averages nothing."""

FOUND_IN_ONE_ROW = r"\A(?!(.|\n)*(mean|average|batch|\b(axis|dim)\b))(.|\n)*(where|nonzero)\((\w+)( *(>|==) *\d)?\)\[0\]\[0\](.|\n)*\blog\("
"""Source of a function that looks for the only place of the class in its target, and averages nothing."""

OF_ONE_CLASS = r"def \w+\([^()]*\b(target|label|y)\w* *: *int\b"
"""Source of a function whose target is annotated as one number."""

TRUE_FIRST = r"def \w+\(\s*p\b[^,)]*,\s*q\b"
"""Source of a function of the true distribution p and a predicted one q, in the notation of H(p, q)."""


def _exchanged(inputs: Inputs) -> Inputs | None:
    """Return inputs with the true distribution in place of the predicted one; None for class numbers and masks."""
    logits, targets = inputs["logits"], inputs["targets"]
    return inputs | {"logits": targets, "targets": logits} if targets.shape == logits.shape and "mask" not in inputs else None


def _hot(inputs: Inputs) -> Inputs:
    """Return inputs with one-hot targets, except with ignored targets, which need class numbers."""
    return inputs if "ignored" in inputs else inputs | {"targets": numpy.eye(inputs["logits"].shape[-1])[inputs["targets"]]}


def _hot_rows(inputs: Inputs) -> Inputs | None:
    """Return rows with one-hot targets; None for sequences."""
    return _hot(inputs) if inputs["logits"].ndim == 2 else None


def _hot_row_or_rows(inputs: Inputs) -> Inputs | None:
    """Return a single row, or rows, with one-hot targets; None for sequences."""
    return _hot(inputs) if inputs["logits"].ndim <= 2 else None


def _hot_columns(inputs: Inputs) -> Inputs | None:
    """Return logits and one-hot targets with one column for each row; None for other axes."""
    found = _hot_rows(inputs)
    return (
        None
        if found is None or "ignored" in inputs or "mask" in inputs
        else found | {name: found[name].T for name in ("logits", "targets")}
    )


OVER_COLUMNS = r"\A(?!(.|\n)*axis *= *(-|1))(.|\n)*\bsum\(.*axis *= *0"
"""Source of a function that sums over the classes along the first axis."""
OF_COLUMNS = rf"\A(?=(.|\n)*def (gradient|backward|derivative))(?!(.|\n)*(mean|average)){OVER_COLUMNS[2:]}"
"""Source of a class with a gradient of its own that leaves the mean over the columns to its caller."""

A_ROW = r"\(\(?1, *(-1|\w+\.size\b(?!\()|\w+\.shape\[0\]|len\(\w+\))"
"""Pattern of the shape of a matrix of one row, as reshape takes it."""

ROWS_ALONE = (
    rf"(?!(.|\n)*(\bseq|reshape(?!{A_ROW})|\.view\(|vocab|\(\w+, *\w+, *\w+\)\W|tokens?\b))(.|\n)*(shape\[0\]|size\(0\)|len\(|\bshape\b)"
)
OF_ROWS = rf"(?i)\A{ROWS_ALONE}"
"""Source of a function that divides by the number of rows and names nothing of sequences."""

OF_BATCHES = r"\A(?!(.|\n)*\bif \w+\.ndim *== *1 *:)(.|\n)*(shape|size|transpose|permute|rearrange)"
"""Source of a function that may take sequences alone: it does not make a single row a matrix."""

OF_ONE_OR_ROWS = (
    rf"(?i)\A(?=(.|\n)*\bif \w+\.ndim *== *1 *:\s*\w+(, *\w+)? *= *\w+(\.reshape{A_ROW}|\[(None|np\.newaxis)\b))"
    rf"{ROWS_ALONE}"
)
"""Source of such a function that makes a single row a matrix of one row."""

PROBABILITIES = TEXTS["probabilities"]
CALLED_PROBABILITIES = r"prob|pred|hat|^al$|^p$|^q$|^y_?p|output|softmax"


WITHOUT_SOFTMAX = r"\A(?!(.|\n)*(exp\(|softmax|logits))"
"""Source of a function that leaves softmax to its caller."""

OF_GUARDED = (
    rf"{WITHOUT_SOFTMAX}(.|\n)*\bdef \w+\((?:[^()]*, *)?\s*(?P<given>\w+)\b[^()]*\)"
    r"(.|\n)*\blog\( *((\w+\.)?(clip|clamp|maximum)\( *(?P=given) *,|(?P=given) *\+ *(1e-|[^\W\d])|(?P=given)\.(clip|clamp)\()"
)
"""Source of a function without a softmax that takes the logarithm of an operand with a guard against 0, which logits do not need."""


OF_SOFTMAX = (
    r"\A(?=[\s\S]*\bdef \w+\(\s*(?:self, *)?(?P<given>\w+)\b[^()]*\)((?!\bdef )[\s\S])*\blog\( *(?P=given)\b)"
    r"[\s\S]*\b(?P=given) *= *(\w+\.)*softmax\("
)
"""Source of a file with a function that takes the logarithm of its first operand, and with a softmax under the same name."""


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
SUM_BY_DEFAULT = r"(?s)\bdef \w+\([^()]*= *['\"]sum['\"].*(mean|average)"
"""Source of a function with an option whose default is the sum, and which may be the mean."""


AVERAGED_BY_BASE = (
    r"\bclass (\w+)\b[^\n]*:((?!\nclass )(.|\n))*(\bmean\(\s*self\.(forward|loss|__call__)\("
    r"|\b(\w+) *= *self\.(forward|loss|__call__)\([^()\n]*\)\s+[^\n]*\bmean\(\s*\6\b)(.|\n)*\bclass \w+\( *\1 *\)"
)
"""Source of a file with a base class of losses that takes the mean of the numbers which the classes derived from it return for each row."""


def _mean_of_sum(answer: Any, inputs: Inputs) -> Any:
    """Return the mean for a sum and the number of targets that it counts."""
    is_pair = isinstance(answer, tuple) and len(answer) == 2 and all(numpy.ndim(each) == 0 for each in answer)
    num_counted = int(((inputs["targets"] != inputs.get("ignored")) & inputs.get("mask", True)).sum())
    return answer[0] / answer[1] if is_pair and num_counted and float(answer[1]) == num_counted else answer


def _only_number(answer: Any, inputs: Inputs) -> Any:
    """Return the number of an array of one number."""
    return answer.reshape(()) if isinstance(answer, numpy.ndarray) and answer.shape and answer.size == 1 else answer


KEEPS_AXIS = r"-> *['\"]?[^'\"\n]*(\(\)|\b1)['\"]|keepdims?\b|\bmatmul\(|\bdot\(| @ "
"""Source of a function whose last reduction may leave an axis of length 1."""


def _lengths(inputs: Inputs) -> Any:
    """Return the lengths of sequences without padding, of rows those of the sequences that they are passed as."""
    num_sequences, length = (*_batched(inputs)["targets"].shape, 1, 1)[:2]
    return numpy.full(num_sequences, length)


OF_INPUTS = r"\breturn +(\w+), *\1[ \t]*(#|\n|\Z)|\bloss\w*\((\w+, *)?(\w+), *\4\)"
"""Source of a file whose batches, or whose calls of the loss, have the inputs themselves as targets."""


EXERCISE = Exercise(
    name="cross_entropy",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("logits"),
        ROLES("targets"),
        ROLES("ignored", off=-100),
        ROLES("mask", neutral=None),
        ROLES("smoothing", neutral=0.0, off=0.0),
        ROLES("lengths", neutral=_lengths),
        ROLES("penalty", neutral=0.0, off=0.0),
        ROLES("penalized", neutral=lambda inputs: {}),
        ROLES("vocab_size", size_of=lambda inputs: numpy.shape(inputs["logits"])[-1]),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(PROBABILITIES, _probabilities, role="logits", named=CALLED_PROBABILITIES),
            Convention(TEXTS["log_probabilities"], changed(logits=log_softmax), role="logits", named=r"log_?p|log_?soft|logp"),
            *(_with_floor(floor) for floor in (1e-8, 1e-7)),
            Convention(reads=guards),
            *(_with_floor(floor, named=r"^y$", source=WITHOUT_SOFTMAX) for floor in (0.0, 1e-8, 1e-7)),
            *(_with_floor(floor, named=r"^[a-z]$", source=OF_GUARDED) for floor in (0.0, 1e-8, 1e-7)),
            Convention(PROBABILITIES, _probabilities, role="logits", named=r"^[a-z]$", source=WITHOUT_SOFTMAX, file_source=OF_SOFTMAX),
        ),
        optional(
            Convention(reads=smoothed, source=OF_SMOOTHING),
            Convention(
                TEXTS["smoothing_over_others"],
                steps={"spread": lambda smoothing, logits: smoothing * logits.shape[-1] / (logits.shape[-1] - 1)},
                role="smoothing",
            ),
        ),
        optional(
            Convention(TEXTS["summed_as_its_gradient"], steps=SUMMED, source=GRADIENT_OF_SUM),
            Convention(TEXTS["summed_by_default"], steps=SUMMED, source=SUM_BY_DEFAULT),
            Convention(TEXTS["loss_of_each_row"], steps=OF_EACH_ROW, source=PER_ROW),
            Convention(
                TEXTS["averaged_by_base"],
                steps=OF_EACH_ROW,
                source=r"\A(?!(.|\n)*(mean|averag))\s*class \w+\(\w+\)",
                file_source=AVERAGED_BY_BASE,
            ),
            Convention(TEXTS["loss_of_each_column"], decode=lambda answer, inputs: answer.ravel(), steps=OF_EACH_ROW, source=OF_COLUMNS),
        ),
        optional(
            Convention(TEXTS["batched"], _batched, source=OF_BATCHES),
            Convention(TEXTS["one_row"], _first_row, role="targets", named=r"(?<!s)$", source=ONE_ROW, steps={"operands": _first}),
            *(
                Convention(TEXTS["one_row"], _first_row, role="targets", source=source, steps={"operands": _first})
                for source in (OF_ONE_ROW, OF_TWO_LISTS, OF_ONE_CLASS, DESCRIBED_AS_ONE_ROW, FOUND_IN_ONE_ROW)
            ),
            Convention(
                TEXTS["one_row"],
                _first_row,
                role="targets",
                source=WITHOUT_ROWS,
                file_source=OF_ONE_TARGET,
                steps={"operands": _first},
            ),
        ),
        optional(
            Convention(TEXTS["one_hot_targets"], _hot, role="targets"),
            Convention(TEXTS["one_hot_targets"], _hot_rows, role="targets", source=OF_ROWS),
            Convention(TEXTS["one_hot_targets"], _hot_row_or_rows, role="targets", source=OF_ONE_OR_ROWS),
            Convention(TEXTS["one_hot_columns"], _hot_columns, role="targets", source=OVER_COLUMNS),
        ),
        optional(Convention(TEXTS["true_first"], _exchanged, role="logits", source=TRUE_FIRST)),
        optional(Convention(TEXTS["inputs_as_targets"], steps={"operands": _shifted}, source=r"1 *:", file_source=OF_INPUTS)),
        optional(Convention(encode=_with_mask, role="mask", is_required=True)),
        optional(Convention(encode=_with_numbers, role="mask")),
        optional(
            *RETURNS[1:],
            Convention(TEXTS["sum_and_count"], decode=_mean_of_sum, source=r"sum|count"),
            Convention(TEXTS["array_of_one"], decode=_only_number, source=KEEPS_AXIS),
        ),
    ),
    recoveries=RECOVERIES,
)
