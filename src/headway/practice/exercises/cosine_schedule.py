"""cosine_schedule: a learning rate that rises linearly, then falls along half a cosine to a minimum."""

from __future__ import annotations

import math

from headway import functions
from headway.practice.recipes import schedules
from headway.practice.texts import Texts

TEXTS = Texts("cosine_schedule")

EXERCISE = schedules.SCHEDULE(
    name="cosine_schedule",
    definition=schedules.definition(functions.cosine_schedule),
    steps=schedules.STEPS | {"fall": lambda progress: 0.5 * (1 + math.cos(math.pi * progress))},
    mistakes=schedules.mistakes(
        TEXTS.mistake("without_half", fall=lambda progress: 1 + math.cos(math.pi * progress)),
        TEXTS.mistake("cosine_alone", fall=lambda progress: math.cos(math.pi * progress)),
        TEXTS.mistake("one_not_halved", fall=lambda progress: 1 + 0.5 * math.cos(math.pi * progress)),
        TEXTS.mistake("rises", fall=lambda progress: 0.5 * (1 - math.cos(math.pi * progress))),
        TEXTS.mistake("sine", fall=lambda progress: 0.5 * (1 + math.sin(math.pi * progress))),
        TEXTS.mistake("degrees", fall=lambda progress: 0.5 * (1 + math.cos(180 * progress))),
        TEXTS.mistake("without_pi", fall=lambda progress: 0.5 * (1 + math.cos(progress))),
        TEXTS.mistake("whole_turn", fall=lambda progress: 0.5 * (1 + math.cos(2 * math.pi * progress))),
        TEXTS.mistake("quarter_turn", fall=lambda progress: math.cos(0.5 * math.pi * progress)),
        TEXTS.mistake("straight_line", fall=lambda progress: 1 - progress),
    ),
)
