"""cross_entropy: the mean of -log softmax(logits)[target]."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.exercises.log_softmax import SMALL
from headway.practice.words import Words


def recipe(steps: Any, logits: Any, targets: Any, ignored: int | None = None) -> Any:
    """The definition in steps: operands, log_probs, counts, targets, pick, unit, reduce, finish."""
    logits, targets = steps.operands(logits.astype(numpy.float64), targets)
    counts = steps.counts(targets, ignored)
    surprise = -steps.unit() * steps.pick(steps.log_probs(logits), steps.targets(numpy.where(counts, targets, 0)))
    return steps.finish(steps.reduce(surprise, counts, logits))


def softmax(x: Any, axis: Any = -1) -> Any:
    """The definition's, on NumPy."""
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """The definition's, on NumPy."""
    shifted = x - x.max(axis, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis, keepdims=True))


def _pick(log_probs: Any, targets: Any) -> Any:
    return numpy.take_along_axis(log_probs, targets[..., None], -1)[..., 0]


def _mean(surprise: Any, counts: Any, logits: Any) -> Any:
    return numpy.where(counts, surprise, 0).sum() / max(counts.sum(), 1)


def _one_hot(log_probs: Any, targets: Any) -> Any:
    return numpy.eye(log_probs.shape[-1])[targets]


STEPS = {
    "operands": lambda logits, targets: (logits, targets),
    "log_probs": log_softmax,
    "counts": lambda targets, ignored: numpy.ones(targets.shape, bool) if ignored is None else targets != ignored,
    "targets": lambda targets: targets,
    "pick": _pick,
    "unit": lambda: 1.0,
    "reduce": _mean,
    "finish": lambda loss: loss,
}

USE = Words(
    "the mean over the rows of -log_softmax(logits)[row, target[row]]", "对每一行取 -log_softmax(logits)[row, target[row]]，再求平均"
)
LSE = Words(
    "loss = log Σ exp(logits - max) - (logits[target] - max): no probability is ever formed",
    "loss = log Σ exp(logits - max) - (logits[target] - max)：不必真的算出概率",
)
MEAN = Words("divide by the number of rows (of targets that count)", "除以行数（即参与计算的目标个数）")
PAIR = Words("pair them: log_probs[np.arange(n), targets]", "要一一对应：log_probs[np.arange(n), targets]")
PAD = Words("without padding nothing shows it", "没有填充时看不出来")


def instead(function: Any) -> dict[str, Any]:
    """Another way from all log-probabilities and targets to the loss."""
    return {
        "pick": lambda log_probs, targets: -numpy.asarray(function(log_probs, targets)),
        "reduce": lambda surprise, counts, logits: surprise,
    }


def _binary(log_probs: Any, targets: Any) -> Any:
    hot = _one_hot(log_probs, targets)
    return -(hot * log_probs + (1 - hot) * numpy.log1p(-numpy.exp(log_probs)))


def _shifted(logits: Any, targets: Any) -> Any:
    return logits[..., :-1, :], targets[..., 1:]


MISTAKES = (
    Mistake(
        "logarithm_of_softmax",
        {"log_probs": lambda logits: numpy.log(softmax(logits))},
        Words(
            "it takes the logarithm of a finished softmax: a probability that rounds to 0 makes the loss inf",
            "对算好的 softmax 取对数：舍入成 0 的概率会让损失变成 inf",
        ),
        LSE,
        hides=SMALL,
        pattern=r"log\(",
    ),
    Mistake(
        "no_shift",
        {"log_probs": lambda logits: logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))},
        Words("the maximum is not subtracted: exp overflows for large logits", "没有减去最大值：logits 很大时 exp 溢出"),
        LSE,
        hides=Words("for logits below 88 (float32) the answer is right", "logits 小于 88（float32）时结果是对的"),
        pattern=r"exp\(",
    ),
    Mistake(
        "no_shift_in_softmax",
        {"log_probs": lambda logits: numpy.log(numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True))},
        Words(
            "its softmax subtracts no maximum: inf/inf is NaN for large logits",
            "其中的 softmax 没有减去最大值：logits 很大时 inf/inf 是 NaN",
        ),
        LSE,
        hides=Words("for logits below 88 (float32) the answer is right", "logits 小于 88（float32）时结果是对的"),
        pattern=r"exp\(",
    ),
    Mistake(
        "logits_taken_for_probabilities",
        {"log_probs": numpy.log},
        Words(
            "it takes the logarithm of the logits themselves: softmax is missing, and negative logits give NaN",
            "直接对 logits 取对数：缺少 softmax，负的 logits 会得到 NaN",
        ),
        Words("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"log\(",
    ),
    Mistake(
        "logarithm_missing",
        {"log_probs": softmax},
        Words("it averages -probability: the logarithm is missing", "平均的是 -概率：缺少对数"),
        Words("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"softmax|sum",
    ),
    Mistake(
        "softmax_missing",
        {"log_probs": lambda logits: logits},
        Words(
            "it averages -logits[target]: log_softmax is missing, so the other classes play no part",
            "平均的是 -logits[target]：缺少 log_softmax，其他类别不起作用",
        ),
        Words("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"\[",
    ),
    Mistake(
        "softmax_twice",
        {"log_probs": lambda logits: log_softmax(softmax(logits))},
        Words(
            "softmax is applied twice: the loss stays near log(vocab_size), whatever the logits",
            "softmax 用了两次：无论 logits 如何，损失都停在 log(vocab_size) 附近",
        ),
        Words("a model returns logits; let the loss apply softmax, once", "模型返回 logits，softmax 由损失函数做一次即可"),
        pattern=r"softmax",
    ),
    Mistake(
        "softmax_over_rows",
        {"log_probs": lambda logits: log_softmax(logits, 0)},
        Words("softmax runs over axis 0, the rows, not over the classes", "softmax 沿第 0 轴（各行）进行，而不是沿类别"),
        Words("use axis=-1", "使用 axis=-1"),
        pattern=r"axis|dim|max\(|sum\(",
    ),
    Mistake(
        "softmax_over_everything",
        {"log_probs": lambda logits: log_softmax(logits, None)},
        Words("softmax runs over the whole array", "softmax 对整个数组进行"),
        Words("use axis=-1, keepdims=True", "使用 axis=-1，keepdims=True"),
        hides=Words("for a single row the two are the same", "只有一行时两者相同"),
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "sign_missing",
        {"finish": lambda loss: -loss},
        Words(
            "the minus sign is missing: the loss is negative, and falls as the model gets worse", "缺少负号：损失为负，模型越差它反而越小"
        ),
        USE,
        pattern=r"return|mean|log",
    ),
    Mistake(
        "summed",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum()},
        Words("the rows are summed, not averaged: the loss grows with the batch", "各行求了和而没有取平均：损失随批大小增长"),
        MEAN,
        hides=Words("for a single row the two are the same", "只有一行时两者相同"),
        pattern=r"sum\(",
    ),
    Mistake(
        "averaged_over_classes",
        {"reduce": lambda surprise, counts, logits: _mean(surprise, counts, logits) / logits.shape[-1]},
        Words(
            "it averages over rows and classes: the loss is too small by the number of classes",
            "对行和类别一起取了平均：损失小了“类别数”倍",
        ),
        MEAN,
        pattern=r"mean\(",
    ),
    Mistake(
        "ignored_averaged_in",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / counts.size},
        Words(
            "ignored targets add nothing, but are counted in the mean: padding lowers the loss",
            "被忽略的目标不产生损失，却仍计入平均的个数：填充会压低损失",
        ),
        MEAN,
        hides=PAD,
        pattern=r"mean\(|len|size|shape",
    ),
    Mistake(
        "averaged_over_batch_alone",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / (surprise.shape or (1,))[0]},
        Words(
            "it divides by the batch, not by the number of tokens: the loss grows with the length",
            "除以的是批大小而不是词元总数：损失随长度增长",
        ),
        MEAN,
        hides=Words("on a matrix of logits the two are the same", "logits 是矩阵时两者相同"),
        pattern=r"shape\[0\]|len\(|/",
    ),
    Mistake(
        "not_averaged",
        {"reduce": lambda surprise, counts, logits: surprise},
        Words("it returns one number per row: the mean is missing", "每一行返回一个数：没有取平均"),
        MEAN,
        pattern=r"return",
    ),
    Mistake(
        "perplexity_returned",
        {"finish": numpy.exp},
        Words("it returns the perplexity, exp(loss)", "返回的是困惑度 exp(loss)"),
        Words("return the loss itself", "返回损失本身"),
        pattern=r"exp\(",
    ),
    Mistake(
        "every_row_with_every_target",
        instead(lambda log_probs, targets: -log_probs[:, targets].mean()),
        Words("log_probs[:, targets] pairs every row with every target", "log_probs[:, targets] 把每一行与每个目标都配了对"),
        PAIR,
        hides=Words("for a single row, or one target for all, the two are the same", "只有一行、或所有目标相同时两者一样"),
        pattern=r"\[:, *|\[\.\.\.,",
    ),
    Mistake(
        "rows_of_targets",
        instead(lambda log_probs, targets: -log_probs[targets].mean()),
        Words("log_probs[targets] takes whole rows, those with the targets' numbers", "log_probs[targets] 取的是整行，行号用成了目标"),
        PAIR,
        pattern=r"\[",
    ),
    Mistake(
        "targets_counted_from_one",
        {"targets": lambda targets: targets - 1, "pick": lambda log_probs, targets: _pick(log_probs, targets % log_probs.shape[-1])},
        Words("class target - 1 is taken: classes count from 0", "取的是第 target - 1 类：类别从 0 开始"),
        USE,
        pattern=r"- *1\]|- *1",
    ),
    Mistake(
        "largest_for_target",
        {"pick": lambda log_probs, targets: log_probs.max(-1)},
        Words(
            "it takes the largest log-probability, not the target's: the targets play no part",
            "取的是最大的对数概率，而不是目标的：目标不起作用",
        ),
        USE,
        hides=Words("where the model is right the two are the same", "模型猜对时两者相同"),
        pattern=r"max\(",
    ),
    Mistake(
        "all_classes_averaged",
        instead(lambda log_probs, targets: -log_probs.mean()),
        Words("it averages over all classes: the targets play no part", "对所有类别取了平均：目标不起作用"),
        USE,
        pattern=r"mean\(",
    ),
    Mistake(
        "entropy_returned",
        {"pick": lambda log_probs, targets: (numpy.exp(log_probs) * log_probs).sum(-1)},
        Words("it is the entropy of the prediction, Σ -p log p: the targets play no part", "这是预测分布的熵 Σ -p log p：目标不起作用"),
        USE,
        pattern=r"\*",
    ),
    Mistake(
        "binary_cross_entropy",
        instead(lambda log_probs, targets: _binary(log_probs, targets).mean()),
        Words("it is the binary cross-entropy of every class, averaged over all", "这是逐类别的二元交叉熵，再对全部取平均"),
        USE,
        pattern=r"1 *-",
    ),
    Mistake(
        "binary_cross_entropy_summed",
        instead(lambda log_probs, targets: _binary(log_probs, targets).sum(-1).mean()),
        Words(
            "it is the binary cross-entropy of every class: the other classes count as well", "这是逐类别的二元交叉熵：其他类别也被算进去了"
        ),
        USE,
        pattern=r"1 *-",
    ),
    Mistake(
        "squared_error",
        instead(lambda log_probs, targets: ((numpy.exp(log_probs) - _one_hot(log_probs, targets)) ** 2).mean()),
        Words("it is the mean squared error between probabilities and one-hot targets", "这是概率与 one-hot 目标之间的均方误差"),
        USE,
        pattern=r"\*\* *2|square",
    ),
    Mistake(
        "shifted_inside",
        {"operands": _shifted},
        Words(
            "it shifts once more inside: row i is compared with target i + 1, and the last row is dropped",
            "函数内部又错开了一位：第 i 行与第 i + 1 个目标比较，最后一行被丢掉",
        ),
        Words(
            "compare row i with target i: inputs and targets are shifted where the batch is made",
            "第 i 行与第 i 个目标比较：错位应在构造批次时完成",
        ),
        pattern=r":-1|1:",
    ),
    Mistake(
        "ignored_counted",
        {"counts": lambda targets, ignored: numpy.ones(targets.shape, bool), "pick": _pick},
        Words("ignored targets are counted like any other", "被忽略的目标也照常计入了"),
        Words("leave them out of the sum and out of the count", "求和与计数时都要去掉它们"),
        hides=PAD,
        pattern=r"ignore|pad",
    ),
    Mistake(
        "fractions_cut_off",
        {"finish": numpy.trunc},
        Words("it returns whole numbers", "返回的是整数"),
        Words("compute in floating point", "用浮点数计算"),
        pattern=r"int",
    ),
)


def _unit(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor on the loss, which is 1/ln 2 in bits."""
    measured = []
    for vocab_size in (4, 7):
        inputs = {
            "logits": numpy.linspace(-1, 1, 3 * vocab_size).reshape(3, vocab_size) ** 3,
            "targets": numpy.array([1, 0, vocab_size - 1]),
        }
        answer = ask(inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != () or not numpy.isfinite(answer):
            return []
        measured.append((inputs, float(answer) / float(-_pick(log_softmax(inputs["logits"]), inputs["targets"]).mean())))
    is_named = min(abs(measured[0][1] - each) for each in (3, -1, 1 / 4)) < 1e-5
    return [] if is_named else measured


def _floor(ask: Any) -> list[tuple[Inputs, float]]:
    """What is left of a probability of 0 before its logarithm is taken."""
    inputs = {"logits": numpy.array([[0.0, -2000.0]] * 2), "targets": numpy.array([1, 1])}
    answer = ask(inputs)
    if isinstance(answer, Raised) or numpy.shape(answer) != () or not 1 < float(answer) < 700:
        return []
    return [(inputs, float(numpy.exp(-numpy.float64(answer))))]


RECOVERIES = (
    Recovery(
        "unit",
        "unit",
        measure=_unit,
        wrong=lambda number_of: lambda: number_of({}),
        sizes=lambda inputs: {},
        right=lambda inputs: 1.0,
        right_name="nats",
        says=Words(
            "your loss is {value}{names} times the right one (1/ln 2 = 1.443: bits where nats are asked)",
            "你的损失是正确值的 {value}{names} 倍（若为 1/ln 2 = 1.443，则是以比特而非奈特计）",
        ),
        fix=Words("use the natural logarithm", "使用自然对数"),
        pattern=r"log2|log10|\*|/",
    ),
    Recovery(
        "floor",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(softmax(logits) + number_of({})),
        sizes=lambda inputs: {},
        right=lambda inputs: 0.0,
        right_name="nothing",
        says=Words(
            "{value} is added to the probabilities before the logarithm: a wrong, certain model is punished far too little",
            "取对数之前给概率加了 {value}：模型错得很肯定时，惩罚太轻",
        ),
        fix=LSE,
        hides=SMALL,
        pattern=r"1e-|eps",
    ),
    Recovery(
        "clipped_at",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(numpy.maximum(softmax(logits), number_of({}))),
        sizes=lambda inputs: {},
        right=lambda inputs: 0.0,
        right_name="nothing",
        says=Words(
            "probabilities are kept from falling below {value}: a wrong, certain model is punished far too little",
            "概率被限制为不小于 {value}：模型错得很肯定时，惩罚太轻",
        ),
        fix=LSE,
        hides=SMALL,
        pattern=r"clip|clamp|max|1e-|eps",
    ),
)

BATCH = Words("a batch of sequences (batch, seq, vocab)", "一批序列 (batch, seq, vocab)")
OTHERWISE = Words(
    "of (batch, seq, vocab) it does not take the mean over all tokens: flatten to (batch · seq, vocab) first",
    "对 (batch, seq, vocab) 它取的不是全部词元的平均：请先展平成 (batch · seq, vocab)",
)
SINGLE = Words("a single row", "单独一行")


def probes() -> tuple[Probe, ...]:
    """Rows, as many rows as classes, a batch of sequences; large and hard logits; ignored targets; one row alone."""
    random = numpy.random.default_rng(14)

    def drawn(*shape: int) -> Inputs:
        return {"logits": random.standard_normal(shape) * 1.5, "targets": random.integers(0, shape[-1], shape[:-1])}

    return (
        Probe("rows", drawn(3, 5) | {"targets": numpy.array([4, 0, 2])}),
        Probe("more rows than classes", drawn(6, 4) | {"targets": numpy.array([3, 0, 2, 2, 1, 0])}),
        Probe("as many rows as classes", drawn(4, 4) | {"targets": numpy.array([3, 0, 1, 1])}),
        Probe("large logits", {"logits": numpy.array([[1000.0, 1001.0, 1002.0], [900.0, 901.0, 900.5]]), "targets": numpy.array([2, 1])}),
        Probe("small logits", {"logits": numpy.array([[-1000.0, -1003.0, -1001.0], [0.5, 1.0, 0.0]]), "targets": numpy.array([1, 1])}),
        Probe("hard logits", {"logits": numpy.array([[0.0, 1000.0, 2.0], [40.0, -40.0, 0.0]]), "targets": numpy.array([0, 1])}),
        Probe("sequences", drawn(2, 3, 5), BATCH, OTHERWISE),
        Probe("one row", {"logits": random.standard_normal(5), "targets": numpy.array(3)}, SINGLE),
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
    """Probabilities, where none rounds to 0: what a function makes of log(0) is its own affair."""
    probabilities = softmax(inputs["logits"])
    return inputs | {"logits": probabilities} if probabilities.min() > 1e-3 else None


def _hot(inputs: Inputs) -> Inputs:
    """One-hot targets; who leaves some out by their number takes numbers."""
    return inputs if "ignored" in inputs else inputs | {"targets": numpy.eye(inputs["logits"].shape[-1])[inputs["targets"]]}


PROBABILITIES = Words(
    "it takes probabilities, not logits: the softmax is its caller's", "它接受的是概率而不是 logits：softmax 由调用者完成"
)
CALLED_PROBABILITIES = r"prob|pred|hat|^p$|^q$|^y_?p|output|softmax"


def _with_floor(floor: float) -> Convention:
    says = Words(f"{PROBABILITIES.en}; it adds {floor:g} before the logarithm", f"{PROBABILITIES.zh}；取对数之前加了 {floor:g}")
    steps = {"log_probs": lambda logits: numpy.log(softmax(logits) + floor)}
    return Convention(says, _probabilities, role="logits", named=CALLED_PROBABILITIES, steps=steps)


EXERCISE = Exercise(
    name="cross_entropy",
    title=Words("cross-entropy", "交叉熵"),
    definition=functions.cross_entropy,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role(
            "logits",
            (
                "inputs",
                "input",
                "x",
                "scores",
                "outputs",
                "output",
                "y_pred",
                "preds",
                "pred",
                "predictions",
                "z",
                "y_hat",
                "probs",
                "probabilities",
                "predicted_probs",
                "p",
                "q",
                "yhat",
                "softmax_output",
            ),
        ),
        Role(
            "targets",
            (
                "target",
                "labels",
                "y",
                "y_true",
                "label",
                "true_labels",
                "ids",
                "t",
                "ground_truth",
                "targets_ids",
                "token_ids",
                "one_hot",
                "y_onehot",
            ),
        ),
        Role("ignored", ("ignore_index", "pad_id", "padding_idx", "pad_token_id", "ignored_index", "pad_idx", "pad", "ignore")),
    ),
    called=r"^(?!.*(binary|bce|back|grad|deriv|regression)).*(cross_?entropy|nll|softmax_loss|(^|_)ce(_loss)?$|neg(ative)?_?log|lm_loss)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(),
            Convention(PROBABILITIES, _probabilities, role="logits", named=CALLED_PROBABILITIES),
            *(_with_floor(floor) for floor in (1e-8, 1e-7)),
        ),
        (Convention(), Convention(Words("your targets are one-hot vectors", "你的目标是 one-hot 向量"), _hot, role="targets")),
        (
            Convention(),
            Convention(
                Words("it returns more than the loss; its first value was checked", "它返回的不止损失；检查的是第一个值"),
                decode=lambda answer, inputs: answer[0] if isinstance(answer, tuple) and answer else answer,
            ),
        ),
    ),
    recoveries=RECOVERIES,
    equation="cross_entropy(logits, targets) = mean of -log softmax(logits)[target]",
    hints=(
        Words("How surprised is the model at the right answer? Average that over the rows.", "模型对正确答案有多“意外”？对各行取平均。"),
        Words(
            "The surprise is -log of the probability; take log_softmax, and no probability is formed.",
            "意外程度是概率的 -log；直接用 log_softmax，不必算出概率。",
        ),
        Words("-log_softmax(logits)[np.arange(n), targets].mean()", "-log_softmax(logits)[np.arange(n), targets].mean()"),
    ),
)
