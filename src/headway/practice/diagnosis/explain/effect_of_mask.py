"""The mask's effect on outputs of which those at padded positions are not compared: it tells a mask without effect from one of the queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.explaining import Explanation

WITHOUT_EFFECT = "mask_ignored"


def without_disproved(found: Sequence[Explanation]) -> list[Explanation]:
    """Return several explanations without those of a mask that has no effect, if the mask changes an output."""
    names = {each.cause.name for each in found}
    if WITHOUT_EFFECT not in names or len(names) == 1:
        return list(found)
    return [each for each in found if each.cause.name != WITHOUT_EFFECT or not _has_effect(each.trial)]


def _has_effect(trial: Trial) -> bool:
    """Return True if a function returns something else for a mask that hides nothing."""
    for probe in trial.probes:
        mask = probe.inputs.get("mask")
        if not isinstance(mask, numpy.ndarray) or mask.dtype != bool:
            continue
        given = (encoded_for(trial.call, trial.conventions, probe.inputs | {"mask": each}) for each in (mask, numpy.ones_like(mask)))
        answers = [None if each is None else trial.call(each) for each in given]
        arrays = [each for each in answers if isinstance(each, numpy.ndarray)]
        if len(arrays) == 2 and not numpy.allclose(arrays[0], arrays[1], equal_nan=True):
            return True
    return False
