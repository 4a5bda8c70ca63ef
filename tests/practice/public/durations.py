"""Programs whose operands are named after their durations."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "rate_by_cosine_annealing",
        "cosine_schedule",
        """
import math

def rate_by_cosine_annealing(t, alpha_max, alpha_min, T_warmup, T_cosine):
    if t < T_warmup:
        return alpha_max * t / T_warmup
    if t >= T_cosine:
        return alpha_min
    fallen = (t - T_warmup) / (T_cosine - T_warmup)
    return alpha_min + (alpha_max - alpha_min) * (1 + math.cos(math.pi * fallen)) / 2
""",
        (("1 + math.cos", "1 - math.cos"),),
    ),
)
