"""Mistakes that the text of a class or function shows, and no output."""

from __future__ import annotations

from headway.practice.diagnosis.checks.dropped_results import dropped_result_cause
from headway.practice.diagnosis.checks.made_in_call import made_in_call_cause
from headway.practice.diagnosis.checks.misplaced_arguments import misplaced_argument_cause
from headway.practice.diagnosis.checks.repeated_norms import repeated_norm_cause
from headway.practice.diagnosis.checks.rotary_layouts import mixed_layout_cause
from headway.practice.diagnosis.checks.shared_layers import shared_layers_cause
from headway.practice.diagnosis.checks.tiny_fills import fill_cause, tiny_triangle_cause
from headway.practice.diagnosis.checks.unused_layers import unused_layers_cause, unused_projection_cause
from headway.practice.diagnosis.checks.unused_values import unused_value_cause
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.verdict import Cause


def cause_of_text(subject: Subject) -> Cause | None:
    """Return the cause that a subject's text shows, or None.

    Such are one layer in all places, layers that none calls, a result that is dropped, a layer made in the call, an argument in the place of another,
    a value that nothing reads, and a mask of numbers near 0.
    """
    causes = (
        shared_layers_cause,
        unused_layers_cause,
        dropped_result_cause,
        made_in_call_cause,
        misplaced_argument_cause,
        unused_value_cause,
        tiny_triangle_cause,
    )
    return next(filter(None, (cause(subject) for cause in causes)), None)


def cause_of_unexplained(subject: Subject, exercise: Exercise) -> Cause | None:
    """Return the cause that the text of a subject shows whose outputs nothing explains, or that could not run; None if there is none.

    Right outputs leave it open whether the text is a mistake: masked scores near 0 or large, other pairs than those that are turned, one norm for two parts.
    """
    return (
        cause_of_text(subject)
        or fill_cause(subject, exercise)
        or mixed_layout_cause(subject)
        or repeated_norm_cause(subject, exercise.name)
        or unused_projection_cause(subject)
    )
