"""Check of a causal attention with an optional mask: torch's attention refuses a mask together with `is_causal=True`.

The kernel for processors applies both; the definition of `scaled_dot_product_attention` in torch's documentation and the kernels for other
devices raise an exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.two_masks import APPLIES_MASKS, parameters_called
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

REFUSAL = "attn_mask should not be set when is_causal"
"""Part of the message with which torch's `scaled_dot_product_attention` refuses a mask."""

SETS_FLAG = r"\bis_causal *="
"""Pattern of the line that sets the flag."""


def mask_with_flag_cause(trial: Trial) -> Cause | None:
    """Return a cause if a call with a mask raises because `is_causal` is set as well; None if it does not, or no mask is taken."""
    subject = trial.call.subject
    line = subject.line_of(SETS_FLAG)
    if trial.call.library != "torch" or line is None or not re.search(APPLIES_MASKS, trial.exercise.name):
        return None
    from torch.nn.attention import SDPBackend, sdpa_kernel

    for name, arguments in _with_masks(trial):
        try:
            with sdpa_kernel(SDPBackend.MATH):
                trial.call.invoke(arguments)
        except Exception as error:  # any other exception may be due to the form of the mask
            if REFUSAL in str(error):
                says = TEXTS["mask_with_flag"].format(name=name)
                return Cause("mask_with_flag", says, TEXTS["flag_without_mask"].format(name=name), EMPTY, line=line)
    return None


def _with_masks(trial: Trial) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each parameter for a mask, and the arguments of a call that gives it the lower triangle."""
    call, inputs = trial.call, trial.probes[0].inputs
    query, encoded = inputs.get("query", inputs.get("x")), encoded_for(call, trial.conventions, inputs)
    if query is None or encoded is None:
        return
    for each in parameters_called(call):
        if "mask" in each.name.lower():
            yield each.name, {**call.arguments(encoded), each.name: call.array(numpy.tri(query.shape[-2]) > 0)}
