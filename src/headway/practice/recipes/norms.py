"""Conventions and recoveries shared by layer_norm and rms_norm, mainly for the epsilon, which affects only the last decimals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, Recovery, Role, Step, optional
from headway.practice.message import Message
from headway.practice.outputs import Raised
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("shared/norms")
ROLES = Roles("norms")

Ask = Callable[[Inputs], Any]

USUAL = (1e-5, 1e-6, 1e-12, 1e-8, 1e-3)
"""Default epsilons: GPT-2, Llama and T5, BERT, papers, Keras."""


def size_roles() -> tuple[Role, ...]:
    """Return the roles of the width of a norm."""
    return (
        ROLES.size("hidden_size", extent("x", -1)),
        ROLES.size("normalized_shape", lambda inputs: (inputs["x"].shape[-1],)),
    )


def eps_of(default: float) -> Step:
    """Return the step that selects the given eps or a default."""
    return lambda given: default if given is None else given


def _asked(ask: Ask, x: Any, **more: Any) -> float | None:
    """Return the first minus the last output number for weights of one, so that a bias cancels."""
    weights = {"weight": numpy.ones(x.size), "bias": numpy.zeros(x.size)}
    for given in (x, x[None], x[None, None]):  # a function may need rows, or a batch
        answer = ask({"x": given, **weights} | more)
        answer = answer[0] if isinstance(answer, tuple) and answer else answer
        if not isinstance(answer, Raised) and answer is not None and numpy.shape(answer) == given.shape:
            break
    else:
        return None
    difference = float(numpy.asarray(answer, numpy.float64).reshape(-1)[0] - numpy.asarray(answer, numpy.float64).reshape(-1)[-1])
    return difference / 2 if numpy.isfinite(difference) and difference else None


def takes_eps(ask: Ask) -> bool:
    """Return True if a given eps has an effect."""
    x = numpy.array([0.5, -0.5])
    return _asked(ask, x, eps=0.5) != _asked(ask, x, eps=0.05)


def inner_eps(ask: Ask, **given: Any) -> float | None:
    """Return the number added inside the root: (d / output)² is d² + eps for x = (d, -d), and eps for tiny d."""
    tiny = _asked(ask, numpy.array([1e-9, -1e-9]), **given)
    if tiny is None:
        return None
    eps = (1e-9 / tiny) ** 2 - 1e-18
    size = abs(eps) ** 0.5
    again = _asked(ask, numpy.array([size, -size]), **given)
    return eps if again is not None and eps > 1e-16 and abs((size / again) ** 2 / (2 * eps) - 1) < 1e-3 else None


def outer_eps(ask: Ask, **given: Any) -> float | None:
    """Return the number added to the root: for x = (d, -d), d / output is d + eps, or √2 d + eps for the deviation of a sample."""
    tiny = _asked(ask, numpy.array([1e-12, -1e-12]), **given)
    if tiny is None:
        return None
    eps = 1e-12 / tiny - 1e-12
    again = _asked(ask, numpy.array([abs(eps), -abs(eps)]), **given)
    if again is None or eps < 1e-14:
        return None
    return eps if any(abs(1 / again / (deviation + 1) - 1) < 1e-3 for deviation in (1.0, 2**0.5)) else None


OF_ONE_NUMBER = r"(ones|zeros)\(\(?1,?\)"
"""Pattern of the source of a norm with a gain and a shift of one number each."""

MACHINE = (2.0**-23, 2.0**-52, 2.0**-10, 2.0**-7)
"""Distance from 1 to the next number in float32, float64, float16 and bfloat16; some libraries use it as eps."""


def short(eps: float) -> float:
    """Return the number rounded to the digits that people write; a machine epsilon as it is."""
    machine = next((own for own in MACHINE if abs(eps / own - 1) < 1e-2), None)
    return machine or float(f"{eps:.3g}")


def eps_conventions(default: float) -> tuple[Convention, ...]:
    """Return the conventions for eps: the definition's, the given one, a measured default, or a common one."""

    def with_default(eps: float) -> Convention:
        return Convention(TEXTS["eps_fixed"].format(eps=f"{eps:g}"), steps={"eps": eps_of(eps)})

    def read(ask: Ask) -> Convention | None:
        eps = None if takes_eps(ask) else inner_eps(ask) or outer_eps(ask)
        return with_default(short(eps)) if eps is not None and 1e-16 < eps < 2e-3 and short(eps) != default else None

    def usual(eps: float) -> Convention:
        found = with_default(eps)
        return Convention(reads=lambda ask: None if takes_eps(ask) or inner_eps(ask) is not None else found)

    return optional(
        Convention(encode=lambda inputs: {"eps": default} | inputs, role="eps"),
        Convention(reads=read),
        *(usual(eps) for eps in USUAL if eps != default),
    )


def eps_recovery(default: float, fix: Message) -> Recovery:
    """Return the recovery of an eps inside the root that is wrong: its square, its root, or far too large."""

    def measure(ask: Ask) -> list[tuple[Inputs, float]]:
        measured = []
        is_taken = takes_eps(ask)
        for given in ({"eps": 0.3}, {"eps": 0.02}) if is_taken else ({},):
            eps = inner_eps(ask, **given)
            if eps is None:
                return []
            measured.append((dict(given), eps if is_taken else short(eps)))
        return measured

    return TEXTS.recovery(
        "eps",
        "eps",
        measure=measure,
        wrong=lambda number_of: lambda given: number_of({"eps": default if given is None else given}),
        sizes=lambda inputs: {"eps": float(inputs["eps"])} if inputs.get("eps") is not None else {},
        right=lambda inputs: float(inputs.get("eps", default)),
        right_name="eps",
        fix=fix,
    )


HALF = TEXTS["half"]
ROWS = TEXTS["rows"]
VECTOR = TEXTS["vector"]
WHOLE = TEXTS["whole"]
