"""linear_regression: gradient descent on the mean squared error of features @ weights."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message
from headway.practice.recipes.descent import LOOP, MISTAKES, RATE_NAMES, RETURNS, START_NAMES, STEPS_NAMES, descend


def recipe(
    steps: Any, features: Any, targets: Any, learning_rate: float, num_steps: int, start: Any = None, start_bias: float | None = None
) -> Any:
    """The definition in the steps of the loop, and: intercept, residual, average, slope. An intercept is the last element of the output."""
    width = features.shape[1]
    point = numpy.zeros(width) if start is None else start
    if start_bias is not None or steps.intercept():
        features = numpy.concatenate([features, numpy.ones((len(features), 1))], 1)
        point = numpy.append(point, 0.0 if start_bias is None else start_bias)

    def slope(theta: Any) -> Any:
        residual = steps.residual(features, theta, targets)
        return steps.slope(features, residual, width) * steps.average(features, width)

    return descend(steps, point, slope, learning_rate, num_steps)


def definition(
    features: Any, targets: Any, learning_rate: float, num_steps: int, start: Any = None, start_bias: float | None = None
) -> Any:
    """Run headway.functions' gradient descent on half the mean squared error."""
    start = 0.0 * features[0] if start is None else start
    if start_bias is not None:
        xp = array_namespace(features)
        features = xp.concat([features, xp.ones_like(features[:, :1])], axis=1)
        start = xp.concat([start, start_bias * xp.ones_like(start[:1])], axis=0)
    return functions.gradient_descent(
        lambda theta: features.T @ (features @ theta - targets) / len(features),
        start,
        learning_rate=learning_rate,
        tolerance=0.0,
        max_steps=num_steps,
    ).point


STEPS = {
    **LOOP,
    "intercept": lambda: False,
    "residual": lambda features, theta, targets: features @ theta - targets,
    "slope": lambda features, residual, width: features.T @ residual,
    "average": lambda features, width: 1 / len(features),
}

MEAN = Message("divide by the number of rows: features.T @ residual / m", "除以行数：features.T @ residual / m")
BIAS = Message("use bias -= learning_rate * mean(residual)", "使用 bias -= learning_rate * mean(residual)")


def _without_bias(features: Any, residual: Any, width: int) -> Any:
    slope = features.T @ residual
    return numpy.concatenate([slope[:width], 0 * slope[width:]])


def _weights_first(point: Any, gradient: Any, rate: float, slope: Any) -> Any:
    """Update the weights, then the intercept with the residuals of the new weights."""
    moved = point - rate * gradient
    if len(point) < 2:
        return moved
    moved[-1] = point[-1]
    moved[-1] -= rate * slope(moved)[-1]
    return moved


OWN = (
    Mistake(
        "not_averaged",
        {"average": lambda features, width: 1.0},
        Message(
            "sums the gradient over the rows instead of averaging (1/m is missing): steps grow with the number of rows",
            "梯度对各行求了和而没有取平均（缺少 1/m）：行数越多步长越大",
        ),
        MEAN,
        hides=Message("the mistake is not visible with a small learning rate and few rows", "学习率小、数据少时看不出来"),
        pattern=r"@|dot|sum",
    ),
    Mistake(
        "averaged_over_features",
        {"average": lambda features, width: 1 / width},
        Message("divides the gradient by the number of features instead of rows", "梯度除以的是特征数，而不是行数"),
        MEAN,
        pattern=r"shape\[1\]|/|len",
    ),
    Mistake(
        "bias_not_updated",
        {"slope": _without_bias},
        Message("never updates the intercept: it keeps its initial value", "截距没有更新：一直是初始值"),
        BIAS,
        hides=Message("the mistake is not visible for data through the origin", "数据经过原点时看不出来"),
        pattern=r"\bb\b|bias|intercept",
    ),
    Mistake(
        "bias_after_weights",
        {"move": _weights_first},
        Message("updates the intercept with the residuals of the new weights instead of the old", "更新截距时用了新权重的残差，而不是旧的"),
        Message("compute both gradients first, then update both", "先算出两个梯度，再一起更新"),
        hides=Message("the mistake is visible in the first step only if the weights change", "第一步中只有权重有变化时才看得出来"),
        pattern=r"\bb\b|bias|intercept",
    ),
    Mistake(
        "features_not_in_gradient",
        {"slope": lambda features, residual, width: numpy.full(features.shape[1], residual.sum())},
        Message("updates every weight by the mean residual: the factor x is missing", "每个权重都按平均残差更新：缺少因子 x"),
        Message("use the gradient features.T @ residual / m", "梯度用 features.T @ residual / m"),
        hides=Message("this is the correct gradient of the intercept, not of the weights", "这只是截距的梯度，不是权重的梯度"),
        pattern=r"mean|sum",
    ),
    Mistake(
        "targets_not_used",
        {"residual": lambda features, theta, targets: features @ theta},
        Message("the targets are not subtracted: all weights converge to 0", "没有减去目标值：所有权重都趋于 0"),
        Message("use residual = features @ weights - targets", "使用 residual = features @ weights - targets"),
        pattern=r"@|dot",
    ),
    Mistake(
        "weights_not_used",
        {"residual": lambda features, theta, targets: -targets},
        Message("the prediction is not used: every step has the same gradient", "没有用到预测值：每一步的梯度都一样"),
        Message("use residual = features @ weights - targets", "使用 residual = features @ weights - targets"),
        hides=Message("the first step from weights of zero is correct", "从零权重出发时，第一步是对的"),
        pattern=r"@|dot",
    ),
    Mistake(
        "absolute_error",
        {"residual": lambda features, theta, targets: numpy.sign(features @ theta - targets)},
        Message(
            "computes the gradient of the absolute error: uses only the sign of the residual", "算的是绝对误差的梯度：只用了残差的符号"
        ),
        Message("use the residual, not its sign", "使用残差，而不是它的符号"),
        pattern=r"sign|abs",
    ),
    Mistake(
        "first_row_alone",
        {
            "residual": lambda features, theta, targets: (features @ theta - targets) * (numpy.arange(len(features)) == 0),
            "average": lambda features, width: 1.0,
        },
        Message("uses only the first row", "只用了第一行"),
        MEAN,
        pattern=r"\[0\]",
    ),
)


def _drawn(random: Any, rows: int, width: int, num_steps: int, rate: float = 0.05, **more: Any) -> Inputs:
    features = random.standard_normal((rows, width)) + 0.7
    targets = features @ (numpy.arange(width) + 1.0) + 1.5 + 0.1 * random.standard_normal(rows)
    return {"features": features, "targets": targets, "learning_rate": rate, "num_steps": num_steps} | more


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the length of the first step relative to the correct one; factors with a named mistake are left out."""
    random, measured = numpy.random.default_rng(5), []
    for rows, width in ((5, 2), (7, 3)):
        inputs = _drawn(random, rows, width, 1, start=numpy.zeros(width))
        answer, right = ask(inputs), definition(**inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != right.shape:
            return []
        ratio = answer / right
        if (
            not numpy.isfinite(ratio).all()
            or numpy.ptp(ratio) > 1e-4 * abs(ratio[0])
            or min(abs(ratio[0] - each) for each in (0, -1, 2, rows, rows / width)) < 1e-4
        ):
            return []
        measured.append((inputs, float(ratio[0])))
    return measured


RECOVERIES = (
    Recovery(
        "step_length",
        "rate",
        measure=_scale,
        wrong=lambda number_of: lambda learning_rate, step: number_of({"learning_rate": learning_rate}) * learning_rate,
        sizes=lambda inputs: {"learning_rate": float(inputs["learning_rate"])},
        right=lambda inputs: 1.0,
        right_name="1",
        says=Message(
            "the step is {value}{names} times learning_rate · gradient; expected {right} (or 2)",
            "步长是 learning_rate · gradient 的 {value}{names} 倍；应为 {right} 倍（或 2 倍）",
        ),
        fix=MEAN,
        pattern=r"\*|-=|/",
    ),
)

MANY = Message("more than one feature", "多于一个特征")


def probes() -> tuple[Probe, ...]:
    """Several numbers of rows, one step and several, one feature; with a start and an intercept for functions that take them."""
    random = numpy.random.default_rng(15)
    return (
        Probe("one step", _drawn(random, 5, 2, 1), MANY),
        Probe("four steps", _drawn(random, 5, 2, 4), MANY),
        Probe("more rows", _drawn(random, 8, 3, 3), MANY),
        Probe("one feature", _drawn(random, 6, 1, 2)),
        Probe("one feature, more rows", _drawn(random, 9, 1, 5)),
        Probe("given start", _drawn(random, 5, 2, 3, start=numpy.array([0.5, -1.0])), MANY),
        Probe("given start, one feature", _drawn(random, 5, 1, 3, start=numpy.array([0.5]))),
        Probe("intercept", _drawn(random, 5, 2, 3, start=numpy.array([0.5, -1.0]), start_bias=0.3), MANY),
        Probe("intercept, more rows", _drawn(random, 8, 3, 2, start=numpy.array([0.5, -1.0, 0.2]), start_bias=-0.4), MANY),
        Probe("intercept, one feature", _drawn(random, 5, 1, 3, start=numpy.array([0.5]), start_bias=0.3)),
    )


def _column(inputs: Inputs) -> Inputs:
    start = {"start": inputs["start"][:, None]} if "start" in inputs else {}
    return inputs | {"targets": inputs["targets"][:, None]} | start


def _numbers(inputs: Inputs) -> Inputs | None:
    """Return the features as one number per row if there is one feature."""
    if inputs["features"].shape[1] > 1:
        return None
    start = {"start": float(inputs["start"][0])} if "start" in inputs else {}
    return inputs | {"features": inputs["features"][:, 0].copy()} | start


def _flat(answer: Any) -> Any:
    return answer.reshape(-1) if isinstance(answer, numpy.ndarray) and answer.ndim != 1 else answer


def _with_intercept(answer: Any, inputs: Inputs) -> Any:
    """Return weights and intercept as one array, the intercept last."""
    if isinstance(answer, tuple) and len(answer) >= 2 and all(isinstance(each, numpy.ndarray) for each in answer[:2]):
        return numpy.concatenate([answer[0].reshape(-1), answer[1].reshape(-1)])
    return answer


def _intercept_first(answer: Any, inputs: Inputs) -> Any:
    answer = _with_intercept(answer, inputs)
    return numpy.roll(answer, -1) if isinstance(answer, numpy.ndarray) and answer.ndim == 1 else answer


def _flattened(convention: Convention) -> Convention:
    return Convention(convention.name, decode=lambda answer, inputs: _flat(convention.decode(answer, inputs)))


INTERCEPT = {"intercept": lambda: True}


def _no_start(inputs: Inputs) -> Inputs | None:
    """Return None for a start without a start of the intercept, which a function that fits an intercept cannot use."""
    return None if "start" in inputs and "start_bias" not in inputs else inputs


EXERCISE = Exercise(
    name="linear_regression",
    title=Message("linear regression by gradient descent", "用梯度下降做线性回归"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("features", ("x", "x_train", "a", "data", "inputs", "design", "x_data", "xs", "feature_matrix")),
        Role("targets", ("y", "y_train", "target", "labels", "y_true", "b_train", "outputs", "y_data", "ys")),
        Role("start", tuple(name for name in START_NAMES if name != "x")),
        Role("start_bias", ("b", "b_in", "bias", "intercept", "b_init", "b0", "initial_bias", "initial_b")),
        Role("learning_rate", tuple(name for name in RATE_NAMES if name != "a")),
        Role("num_steps", STEPS_NAMES),
    ),
    called=r"^(?!.*(logistic|normal_eq|closed|ridge|lasso|predict|loss|cost)).*(linear_?regression|lin_?reg|least_?squares|fit_?line|mse_?(gd|descent))",
    probes=probes,
    mistakes=(*MISTAKES, *OWN),
    conventions=(
        (
            Convention(),
            Convention(
                Message(
                    "the gradient has the factor 2 of the squared error, 2/m; the definition uses half the mean squared error (both are fine)",
                    "梯度带平方误差的系数 2（2/m）；定义用的是均方误差的一半（两种都可以）",
                ),
                steps={"average": lambda features, width: 2 / len(features)},
            ),
        ),
        (
            Convention(),
            Convention(encode=_column, role="targets"),
            Convention(encode=_numbers, role="features"),
        ),
        (
            *(_flattened(each) for each in RETURNS),
            Convention(
                Message("also fits an intercept", "还拟合了截距"),
                _no_start,
                lambda answer, inputs: _flat(_with_intercept(answer, inputs)),
                steps=INTERCEPT,
            ),
            Convention(
                Message("also fits an intercept, and returns it first", "还拟合了截距，并放在最前面返回"),
                _no_start,
                lambda answer, inputs: _flat(_intercept_first(answer, inputs)),
                steps=INTERCEPT,
            ),
        ),
    ),
    recoveries=RECOVERIES,
    equation="weights ← weights - learning_rate · featuresᵀ @ (features @ weights - targets) / m",
    hints=(
        Message("The residual is prediction minus target, one number per row.", "残差是预测值减目标值，每行一个数。"),
        Message(
            "The gradient of a weight is the mean of residual times feature; that of the intercept is the mean residual.",
            "权重的梯度是“残差乘对应特征”的平均；截距的梯度是残差的平均。",
        ),
        Message(
            "weights -= learning_rate * features.T @ (features @ weights - targets) / m",
            "weights -= learning_rate * features.T @ (features @ weights - targets) / m",
        ),
    ),
    is_trained_through=False,
)
