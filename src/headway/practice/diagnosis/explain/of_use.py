"""Mistakes of a program with right outputs that further calls of it show."""

from __future__ import annotations

from headway.practice.diagnosis.checks.absent_mask import absent_mask_cause
from headway.practice.diagnosis.checks.cached_prompts import cached_prompt_cause
from headway.practice.diagnosis.checks.empty_patterns import empty_pattern_cause
from headway.practice.diagnosis.checks.first_passes import first_pass_cause
from headway.practice.diagnosis.checks.ignored_operands import ignored_operands_cause
from headway.practice.diagnosis.checks.losses import loss_cause
from headway.practice.diagnosis.checks.lost_characters import lost_characters_cause
from headway.practice.diagnosis.checks.mask_branches import mask_branch_cause
from headway.practice.diagnosis.checks.mask_with_flag import mask_with_flag_cause
from headway.practice.diagnosis.checks.one_loop import one_loop_cause
from headway.practice.diagnosis.checks.rotation_effect import rotation_effect_cause
from headway.practice.diagnosis.checks.step_counts import step_count_cause
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.turned_masks import turned_mask_cause
from headway.practice.diagnosis.checks.two_masks import two_masks_cause
from headway.practice.diagnosis.explain.left_pairs import left_pairs_cause
from headway.practice.diagnosis.explain.other_lengths import other_lengths_cause
from headway.practice.diagnosis.explain.promised_inputs import (
    past_context_cause,
    several_parameters_cause,
    shorter_sequence_cause,
    stops_for_first_cause,
    writes_after_end_cause,
)
from headway.practice.diagnosis.explain.sampling import sampling_cause
from headway.practice.diagnosis.explain.switched_rotation import rotation_cause
from headway.practice.verdict import Cause

CHECKS = (
    sampling_cause,
    rotation_cause,
    rotation_effect_cause,
    loss_cause,
    two_masks_cause,
    absent_mask_cause,
    mask_with_flag_cause,
    mask_branch_cause,
    ignored_operands_cause,
    empty_pattern_cause,
    left_pairs_cause,
    step_count_cause,
    one_loop_cause,
    cached_prompt_cause,
    first_pass_cause,
    turned_mask_cause,
    lost_characters_cause,
    several_parameters_cause,
    shorter_sequence_cause,
    past_context_cause,
    stops_for_first_cause,
    writes_after_end_cause,
    other_lengths_cause,
)


def cause_of_use(trial: Trial) -> Cause | None:
    """Return the first cause that another call shows; None if there is none."""
    return next(filter(None, (check(trial) for check in CHECKS)), None)
