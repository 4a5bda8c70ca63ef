"""Outputs that are right under another convention than the one that is tried: the mistake may have hidden the program's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.repair.milestones import Milestones
from headway.practice.diagnosis.repair.observation import Signature, signature
from headway.practice.diagnosis.repair.outcomes import is_called_alike, is_right
from headway.practice.exercise import Probe
from headway.practice.outputs import Raised
from headway.practice.recipes.attention import CAUSAL

MAX_RIVALS = 12

CAUSAL_MASK = r"\btri[ul]\(|causal_mask|subsequent_mask|look_?ahead"
"""Pattern of the source of a program with a causal mask of its own."""


def sees_what_it_masks(trial: Trial) -> bool:
    """Return True for conventions without a causal mask where the program makes one: a change that fits them would disable it."""
    may_be_causal = CAUSAL in trial.exercise.conventions and not trial.call.binding.takes("is_causal")
    code = trial.call.subject.code
    return may_be_causal and CAUSAL[1] not in trial.conventions and re.search(CAUSAL_MASK, code) is not None


@dataclass
class Rivals:
    """Conventions that give a program the same inputs as a trial.

    trial    the one that is tried
    trials   all that are known of the subject
    """

    trial: Trial
    trials: Sequence[Trial]
    _same: dict[str, list[Trial]] = field(default_factory=dict)
    _right: dict[str, Milestones] = field(default_factory=dict)

    def suit(self, probe: Probe, answer: Any) -> bool:
        """Return True if one of them makes an output right, or if it contains all numbers of the right one in another order."""
        if isinstance(answer, Raised):
            return False
        if probe.name not in self._same:
            others = (each for each in self.trials if each is not self.trial)
            alike = (each for each in others if is_called_alike(each, self.trial, probe))
            same = [*{id(each.expected(probe)): each for each in alike}.values()][:MAX_RIVALS]  # equal outputs are one object
            right = [part for each in (self.trial, *same) for part in _arrays(each.expected(probe))]
            found: dict[Signature, None] = dict.fromkeys(each for part in right if (each := signature(part)) is not None)
            self._same[probe.name], self._right[probe.name] = same, Milestones(tuple(found))
        if any(is_right(rival, probe, answer) for rival in self._same[probe.name]):
            return True
        numbers = self._right[probe.name]
        return bool(numbers.known) and any(each is not None and numbers.has(each) for each in map(signature, _arrays(answer)))


def _arrays(answer: Any) -> Iterator[Any]:
    """Yield the arrays in an output."""
    if isinstance(answer, tuple | list):
        for part in answer[:8]:
            yield from _arrays(part)
    else:
        yield answer
