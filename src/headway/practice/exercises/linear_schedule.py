"""linear_schedule: a learning rate that rises linearly, then falls along a straight line to a minimum."""

from __future__ import annotations

import math

from headway import functions
from headway.practice.recipes import schedules
from headway.practice.texts import Texts

TEXTS = Texts("linear_schedule")

EXERCISE = schedules.SCHEDULE(
    name="linear_schedule",
    definition=schedules.definition(functions.linear_schedule),
    steps=schedules.STEPS | {"fall": lambda progress: max(0.0, 1 - progress)},
    mistakes=schedules.mistakes(
        TEXTS.mistake("rises", fall=lambda progress: progress),
        TEXTS.mistake("constant", fall=lambda progress: 1.0),
        TEXTS.mistake("half_cosine", fall=lambda progress: 0.5 * (1 + math.cos(math.pi * progress))),
        TEXTS.mistake("squared", fall=lambda progress: (1 - progress) ** 2),
        TEXTS.mistake("below_the_minimum", fall=lambda progress: 1 - progress, after=lambda low, high, rate: rate),
    ),
)
