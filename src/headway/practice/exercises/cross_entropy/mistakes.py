"""Common mistakes in cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.cross_entropy.steps import log_softmax, mean, one_hot, pick, softmax
from headway.practice.exercises.log_softmax import SMALL
from headway.practice.message import Message

USE = Message("average -log_softmax(logits)[row, target[row]] over the rows", "对每一行取 -log_softmax(logits)[row, target[row]]，再求平均")
LSE = Message(
    "compute log Σ exp(logits - max) - (logits[target] - max), without the probabilities",
    "计算 log Σ exp(logits - max) - (logits[target] - max)，不必算出概率",
)
MEAN = Message("divide by the number of targets that are not ignored", "除以未被忽略的目标个数")
PAIR = Message("use one target per row: log_probs[np.arange(n), targets]", "每一行只取它自己的目标：log_probs[np.arange(n), targets]")
PAD = Message("the mistake is not visible without padding", "没有填充时看不出来")


def steps_of(function: Any) -> dict[str, Any]:
    """Return steps for another function from log-probabilities and targets to the loss."""
    return {
        "pick": lambda log_probs, targets: -numpy.asarray(function(log_probs, targets)),
        "reduce": lambda surprise, counts, logits: surprise,
    }


def _binary(log_probs: Any, targets: Any) -> Any:
    hot = one_hot(log_probs, targets)
    return -(hot * log_probs + (1 - hot) * numpy.log1p(-numpy.exp(log_probs)))


def _shifted(logits: Any, targets: Any) -> Any:
    return logits[..., :-1, :], targets[..., 1:]


MISTAKES = (
    Mistake(
        "logarithm_of_softmax",
        {"log_probs": lambda logits: numpy.log(softmax(logits))},
        Message(
            "takes the logarithm of a computed softmax: a probability that underflows to 0 makes the loss inf",
            "先算出 softmax 再取对数：下溢为 0 的概率会让损失变成 inf",
        ),
        LSE,
        hides=SMALL,
        pattern=r"log\(",
    ),
    Mistake(
        "no_shift",
        {"log_probs": lambda logits: logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))},
        Message("the maximum is not subtracted: exp overflows for large logits", "没有减去最大值：logits 很大时 exp 溢出"),
        LSE,
        hides=Message("the output is correct for logits below 88 (float32)", "logits 小于 88（float32）时结果正确"),
        pattern=r"exp\(",
    ),
    Mistake(
        "no_shift_in_softmax",
        {"log_probs": lambda logits: numpy.log(numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True))},
        Message(
            "softmax does not subtract the maximum: inf/inf is NaN for large logits",
            "其中的 softmax 没有减去最大值：logits 很大时 inf/inf 是 NaN",
        ),
        LSE,
        hides=Message("the output is correct for logits below 88 (float32)", "logits 小于 88（float32）时结果正确"),
        pattern=r"exp\(",
    ),
    Mistake(
        "logits_taken_for_probabilities",
        {"log_probs": numpy.log},
        Message(
            "takes the logarithm of the logits: softmax is missing, and negative logits give NaN",
            "直接对 logits 取对数：缺少 softmax，负的 logits 会得到 NaN",
        ),
        Message("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"log\(",
    ),
    Mistake(
        "logarithm_missing",
        {"log_probs": softmax},
        Message("averages -probability: the logarithm is missing", "平均的是 -概率：缺少对数"),
        Message("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"softmax|sum",
    ),
    Mistake(
        "softmax_missing",
        {"log_probs": lambda logits: logits},
        Message(
            "averages -logits[target]: log_softmax is missing, so the other classes have no effect",
            "平均的是 -logits[target]：缺少 log_softmax，其他类别不起作用",
        ),
        Message("use log_softmax(logits)", "使用 log_softmax(logits)"),
        pattern=r"\[",
    ),
    Mistake(
        "softmax_twice",
        {"log_probs": lambda logits: log_softmax(softmax(logits))},
        Message(
            "softmax is applied twice: the loss stays near log(vocab_size) for all logits",
            "softmax 用了两次：无论 logits 如何，损失都停在 log(vocab_size) 附近",
        ),
        Message("return logits from the model, and apply softmax once, in the loss", "模型返回 logits，softmax 由损失函数做一次即可"),
        pattern=r"softmax",
    ),
    Mistake(
        "softmax_over_rows",
        {"log_probs": lambda logits: log_softmax(logits, 0)},
        Message("applies softmax over axis 0, the rows, instead of over the classes", "softmax 沿第 0 轴（各行）进行，而不是沿类别"),
        Message("use axis=-1", "使用 axis=-1"),
        pattern=r"axis|dim|max\(|sum\(",
    ),
    Mistake(
        "softmax_over_everything",
        {"log_probs": lambda logits: log_softmax(logits, None)},
        Message("applies softmax over the whole array", "softmax 对整个数组进行"),
        Message("use axis=-1, keepdims=True", "使用 axis=-1，keepdims=True"),
        hides=Message("the output is the same for a single row", "只有一行时两者相同"),
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "sign_missing",
        {"finish": lambda loss: -loss},
        Message(
            "the minus sign is missing: the loss is negative, and falls as the model gets worse", "缺少负号：损失为负，模型越差它反而越小"
        ),
        USE,
        pattern=r"return|mean|log",
    ),
    Mistake(
        "summed",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum()},
        Message(
            "sums over the rows instead of averaging: the loss grows with the batch size", "对各行求了和而没有取平均：损失随批大小增长"
        ),
        MEAN,
        hides=Message("the output is the same for a single row", "只有一行时两者相同"),
        pattern=r"sum\(",
    ),
    Mistake(
        "averaged_over_classes",
        {"reduce": lambda surprise, counts, logits: mean(surprise, counts, logits) / logits.shape[-1]},
        Message(
            "averages over rows and classes: the loss is too small by a factor of the number of classes",
            "对行和类别一起取了平均：损失只有应有值的“类别数”分之一",
        ),
        MEAN,
        pattern=r"mean\(",
    ),
    Mistake(
        "ignored_averaged_in",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / counts.size},
        Message(
            "ignored targets add no loss but are counted in the mean: padding lowers the loss",
            "被忽略的目标不产生损失，却仍计入平均的个数：填充会压低损失",
        ),
        MEAN,
        hides=PAD,
        pattern=r"mean\(|len|size|shape",
    ),
    Mistake(
        "averaged_over_batch_alone",
        {"reduce": lambda surprise, counts, logits: numpy.where(counts, surprise, 0).sum() / (surprise.shape or (1,))[0]},
        Message(
            "divides by the batch size instead of the number of tokens: the loss grows with the sequence length",
            "除以的是批大小而不是词元总数：损失随序列长度增长",
        ),
        MEAN,
        hides=Message("the output is the same for a matrix of logits", "logits 是矩阵时两者相同"),
        pattern=r"shape\[0\]|len\(|/",
    ),
    Mistake(
        "not_averaged",
        {"reduce": lambda surprise, counts, logits: surprise},
        Message("returns one number per row: the mean is missing", "每一行返回一个数：没有取平均"),
        MEAN,
        pattern=r"return",
    ),
    Mistake(
        "perplexity_returned",
        {"finish": numpy.exp},
        Message("returns the perplexity, exp(loss)", "返回的是困惑度 exp(loss)"),
        Message("return the loss", "返回损失"),
        pattern=r"exp\(",
    ),
    Mistake(
        "every_row_with_every_target",
        steps_of(lambda log_probs, targets: -log_probs[:, targets].mean()),
        Message("log_probs[:, targets] combines every row with every target", "log_probs[:, targets] 把每一行与每个目标都配了对"),
        PAIR,
        hides=Message("the output is the same for a single row, or if all targets are the same", "只有一行、或所有目标相同时两者一样"),
        pattern=r"\[:, *|\[\.\.\.,",
    ),
    Mistake(
        "rows_of_targets",
        steps_of(lambda log_probs, targets: -log_probs[targets].mean()),
        Message("log_probs[targets] selects whole rows by the targets", "log_probs[targets] 取的是整行，把目标当成了行号"),
        PAIR,
        pattern=r"\[",
    ),
    Mistake(
        "targets_counted_from_one",
        {"targets": lambda targets: targets - 1, "pick": lambda log_probs, targets: pick(log_probs, targets % log_probs.shape[-1])},
        Message("uses class target - 1: classes start at 0", "取的是第 target - 1 类：类别从 0 开始"),
        USE,
        pattern=r"- *1\]|- *1",
    ),
    Mistake(
        "largest_for_target",
        {"pick": lambda log_probs, targets: log_probs.max(-1)},
        Message(
            "uses the largest log-probability instead of the target's: the targets have no effect",
            "取的是最大的对数概率，而不是目标的：目标不起作用",
        ),
        USE,
        hides=Message("the output is the same when the model's prediction is correct", "模型预测正确时两者相同"),
        pattern=r"max\(",
    ),
    Mistake(
        "all_classes_averaged",
        steps_of(lambda log_probs, targets: -log_probs.mean()),
        Message("averages over all classes: the targets have no effect", "对所有类别取了平均：目标不起作用"),
        USE,
        pattern=r"mean\(",
    ),
    Mistake(
        "entropy_returned",
        {"pick": lambda log_probs, targets: (numpy.exp(log_probs) * log_probs).sum(-1)},
        Message(
            "computes the entropy of the prediction, Σ -p log p: the targets have no effect", "算的是预测分布的熵 Σ -p log p：目标不起作用"
        ),
        USE,
        pattern=r"\*",
    ),
    Mistake(
        "binary_cross_entropy",
        steps_of(lambda log_probs, targets: _binary(log_probs, targets).mean()),
        Message("computes the binary cross-entropy of every class, averaged over all classes", "算的是逐类别的二元交叉熵，再对全部取平均"),
        USE,
        pattern=r"1 *-",
    ),
    Mistake(
        "binary_cross_entropy_summed",
        steps_of(lambda log_probs, targets: _binary(log_probs, targets).sum(-1).mean()),
        Message(
            "computes the binary cross-entropy of every class: the other classes are counted too",
            "算的是逐类别的二元交叉熵：其他类别也被算进去了",
        ),
        USE,
        pattern=r"1 *-",
    ),
    Mistake(
        "squared_error",
        steps_of(lambda log_probs, targets: ((numpy.exp(log_probs) - one_hot(log_probs, targets)) ** 2).mean()),
        Message("computes the mean squared error between probabilities and one-hot targets", "算的是概率与 one-hot 目标之间的均方误差"),
        USE,
        pattern=r"\*\* *2|square",
    ),
    Mistake(
        "shifted_inside",
        {"operands": _shifted},
        Message(
            "shifts the targets inside the loss: compares row i with target i + 1 and drops the last row",
            "损失函数内部又错开了一位：第 i 行与第 i + 1 个目标比较，最后一行被丢掉",
        ),
        Message(
            "compare row i with target i; shift inputs and targets when the batch is made",
            "第 i 行与第 i 个目标比较；错位应在构造批次时完成",
        ),
        pattern=r":-1|1:",
    ),
    Mistake(
        "ignored_counted",
        {"counts": lambda targets, ignored: numpy.ones(targets.shape, bool), "pick": pick},
        Message("counts ignored targets like any other", "被忽略的目标也照常计入了"),
        Message("leave them out of the sum and the count", "求和与计数时都要去掉它们"),
        hides=PAD,
        pattern=r"ignore|pad",
    ),
    Mistake(
        "fractions_cut_off",
        {"finish": numpy.trunc},
        Message("returns integers", "返回的是整数"),
        Message("compute in floating point", "用浮点数计算"),
        pattern=r"int",
    ),
)
