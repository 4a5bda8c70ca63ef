"""Stable identifiers of causes, `exercise/cause`, and the pages that document them.

The pages are `mistakes/EXERCISE/` of the documentation, with the cause's name as anchor. Causes that any exercise may have are on the
page `mistakes/general/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("general")

GENERAL = {
    name: TEXTS[name]
    for name in """
    unknown repaired missing raises because_of_callee parameters not_understood tool_error could_not_run too_slow too_large exits
    default_value layers_shared layers_unused layer_made_in_call argument_misplaced result_dropped mask_dropped masks_intersected mask_with_flag mask_of_axes_wrong operands_ignored step_count
    changes_inputs not_repeatable dropout_in_eval returns_nothing gradient_stops gradient_is_wrong gradient_raises
    second_loop_empty mask_turned prompt_not_cached first_pass_unmasked
    unfinished cached_differs layouts_differ sampling_differs rotates_others rotation_without_effect loss_differs shared_ids absent_pairs_merged
    characters_lost shorter_sequence_raises starts_at_zero value_unused stops_for_first_row writes_after_end
    forbidden not_confirmed not_defined nothing_found unreadable not_judged no_function
    """.split()
}
"""Causes that any exercise may have."""


@dataclass(frozen=True)
class Rule:
    """One kind of mistake.

    says, fix, hides   as in Mistake; None for a cause whose text depends on the program
    """

    exercise: str
    name: str
    says: Message
    fix: Message | None = None
    hides: Message | None = None

    @property
    def id(self) -> str:
        """Identifier `exercise/name`."""
        return rule_id(self.exercise, self.name)


def stable_name(cause: str) -> str:
    """Return a cause's name without what depends on the program: the exception's class, or the function at fault."""
    if cause.startswith("raises_"):
        return "raises"
    return "because_of_callee" if cause.startswith("because_of_") else cause


def rule_id(exercise: str, cause: str) -> str:
    """Return the identifier of a cause: `softmax/no_shift`; for a pair of mistakes `softmax/no_shift+wrong_axis`."""
    return f"{exercise}/{'+'.join(stable_name(name) for name in cause.split(' + '))}"


def url_of(rule: str | None) -> str | None:
    """Return the address of a rule's page; of a pair, the first mistake's.

    Relative to the documentation unless the package's metadata has a project URL named Documentation.
    """
    if rule is None:
        return None
    exercise, _, names = rule.partition("/")
    name = names.partition("+")[0]
    return f"{_documentation()}mistakes/{'general' if name in GENERAL else exercise}/#{name}"


@cache
def _documentation() -> str:
    """Return the address of the documentation with a slash at its end, or an empty string."""
    from importlib import metadata  # not at the top: a check of correct code needs no address

    try:
        urls = metadata.metadata("headway").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    found = dict(each.split(", ", 1) for each in urls if ", " in each)
    return found["Documentation"].rstrip("/") + "/" if "Documentation" in found else ""


def rules_of(exercise: str) -> dict[str, Rule]:
    """Return the rules of an exercise by name: its own mistakes and measured numbers, then the general ones.

    Errors   ImportError for an unknown exercise.
    """
    from headway.practice.exercises import exercise as by_name

    chosen = by_name(exercise)
    found: dict[str, Rule] = {}
    for each in chosen.mistakes:
        name = each.said_as or each.name
        found.setdefault(name, Rule(exercise, name, each.says, each.fix, each.hides))
    for recovery in chosen.recoveries:
        measured = Message(f"The number is not {recovery.right_name}.", f"所用的数不是 {recovery.right_name}。")
        found.setdefault(recovery.name, Rule(exercise, recovery.name, measured, recovery.fix, recovery.hides))
    for name, says in GENERAL.items():
        found.setdefault(name, Rule(exercise, name, says))
    return found
