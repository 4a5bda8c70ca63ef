"""The names of operands in role_names.toml: each is used by a role, and none is listed twice for one role."""

from __future__ import annotations

import numpy

from headway.practice.diagnosis.adapters import caches, model_calls, optimizers, schedule_calls
from headway.practice.diagnosis.adapters.merger_calls import INDEX, REST, WORDS
from headway.practice.exercise import Role
from headway.practice.exercises import exercises
from headway.practice.recipes import layers, stacks
from headway.practice.roles import Roles, extent, read


def used_roles():
    own = (
        *model_calls.SIZES,
        *optimizers.SETTINGS,
        schedule_calls.SHARE_OF_WARMUP,
        *INDEX,
        *REST,
        WORDS,
        *optimizers.OF_MOMENTUM,
        *layers.SIZES,
        *stacks.OPERANDS,
        *stacks.MASKS.values(),
        *stacks.sizes("ab", "cd"),
    )
    of_caches = [
        role for value in vars(caches).values() for role in (value if isinstance(value, tuple) else (value,)) if isinstance(role, Role)
    ]
    return [*own, *of_caches, *(role for exercise in exercises() for role in exercise.roles)]


def test_every_entry_is_that_of_a_role():
    called = {(role.name, role.called) for role in used_roles()}
    held = {role.held_as for role in used_roles()}
    for section, rows in read().items():
        roles = Roles(section)
        assert all((name, roles.called(name)) in called for name in rows if name != "held_as"), section
        assert all(roles.held_as(name) in held for name in rows.get("held_as", {})), section


def test_names_are_in_lower_case_and_listed_once():
    for section, rows in read().items():
        for name in rows:
            if name != "held_as":
                called = Roles(section).called(name)
                assert len(set(called)) == len(called), (section, name)
                assert called == tuple(each.lower() for each in called), (section, name)


def test_the_first_section_that_has_a_name_counts():
    assert Roles("adam_step", "descent").called("learning_rate") == Roles("adam_step").called("learning_rate")
    assert Roles("adam_step", "descent").called("start") == Roles("descent").called("start")
    assert Roles("adam_step", "descent").held_as("point") == ()


def test_an_extent_is_a_size_of_an_operand_that_is_given():
    assert extent("x", -1)({"x": numpy.zeros((2, 3))}) == 3
    assert extent("x", -1)({"x": None}) is None
