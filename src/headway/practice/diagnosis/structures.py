"""Parts under names that do not say what they are, recognised by what they take, hold and call: these may be wrong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from headway.practice.diagnosis.diagnose import correct_as_is, diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise

OF_ORDER = r"(?i)tri[ul]|causal|subsequent|ahead|future|range|(?<!-)[<>]"
"""Pattern of the source of a mask that depends on the order of positions."""

GIVEN_LAYER = r"(fn|func|function|sub_?layer|layer|module|block|net)"
"""Pattern of the names of layers that a part is given."""

AROUND_A_CALL = (
    rf"(?s)(?=.*self\.\w*norm\w* *=)(?=.*\bdef (?:forward|__call__)\(self, *\w+(?: *:[^,]*)?, *(?P<layer>{GIVEN_LAYER})\b[^,]*\))"
    r"(?=.*(?<![\w.])(?P=layer)\()(?=.* \+ )(?!.*\bfor )"
)
"""Pattern of the source of a class that holds a norm and is called with a sequence and a layer, which it calls, and that adds."""

JOINS_HEADS = r"(?s)(?=.*ModuleList\()(?=.*(?:cat|concat(?:enate)?)\(\s*[\[(]\s*(\w+)\(\w+\) for \1 in self\.\w*heads?\w*)"
"""Pattern of the source of a class that concatenates the outputs of a list of heads."""

STRUCTURES = ((AROUND_A_CALL, "residual"), (JOINS_HEADS, "stacked_heads_attention"))
"""Patterns of the source of classes, and the parts that they are if they are correct, or have a mistake that is known."""


def first_correct(subject: Subject, names: Sequence[str]) -> Exercise | None:
    """Return the first of these exercises as which a subject is correct, or None."""
    return next((each for each in map(exercise, names) if correct_as_is(subject, each) is not None), None)


def as_structure(subject: Subject) -> Exercise | None:
    """Return the exercise of a class of any name whose source has the structure of a part, if it is correct or has known mistakes alone."""
    if not inspect.isclass(subject.value) or subject.is_private:
        return None
    meant = [exercise(name) for pattern, name in STRUCTURES if re.match(pattern, subject.own_source)]
    return next((each for each in meant if correct_as_is(subject, each) is not None or _has_known_mistakes(subject, each)), None)


def _has_known_mistakes(subject: Subject, part: Exercise) -> bool:
    """Return True if mistakes that are known for a part explain a subject."""
    verdict = diagnose(subject, part)
    known = {each.name for each in part.mistakes}
    return verdict.status == "wrong" and bool(verdict.causes) and all(cause.name in known for cause in verdict.causes)


OF_MASK = r"(?i)((build|make|create|get|generate|new|compute)_)?((self|cross|encoder|enc|extended)_)*(attention|attn)_mask"
"""Pattern of the names of functions that make a mask of a kind that the name does not say."""

OF_LENGTH = r"(?i)(seq(uence)?|tgt|trg|context|max|q|query)?_?(len(gth)?|size)|[nt]|block_size"
"""Pattern of the name of a number of positions."""


OF_IDS = r"(?i)(input_?|token_?|src_?|source_?)?(ids|tokens)"
"""Pattern of the name of token ids."""

OF_PADDING = r"(!=|==) *(\w+\.)*(\w*pad\w*|0)\b|\b(ne|eq|not_equal|equal)\((\w+, *)?(\w+\.)*(\w*pad\w*|0)\)"
"""Pattern of a comparison with the id of padding."""


OF_HIDING = r"(?i)_?(apply|add)_?(causal|future|look_?ahead)_?mask(ing)?"
"""Pattern of the names of functions that hide later positions in scores."""


def as_mask(subject: Subject) -> Exercise | None:
    """Return the exercise of causal masks or of padding masks for what makes an attention mask, if it is correct.

    One that makes a triangle of a number of positions alone is a causal mask, right or wrong: it knows of no padding and of no window. One that
    compares token ids with the id of padding, and depends on no order, is a padding mask.
    """
    if re.fullmatch("(?i)masking", subject.short_name):  # what hides padding in its input has this name as well
        return first_correct(subject, ("causal_mask",))
    needed = [each.name for each in subject.parameters if each.default is each.empty]
    if re.fullmatch(OF_HIDING, subject.short_name) and len(needed) == 1 and "score" in needed[0].lower():
        return exercise("causal_mask")
    if not re.fullmatch(OF_MASK, subject.short_name.strip("_")):
        return None
    right = first_correct(subject, ("causal_mask", "padding_mask"))
    if subject.is_private:
        return right
    takes_length = [re.fullmatch(OF_LENGTH, name) for name in needed]
    makes_triangle = len(re.findall(r"\btri[ul]\(", subject.used_source)) == 1
    if right or (len(takes_length) == 1 and all(takes_length) and makes_triangle):
        return right or exercise("causal_mask")
    takes_ids = len(needed) in (1, 2) and re.fullmatch(OF_IDS, needed[0]) is not None
    is_of_padding = re.search(OF_PADDING, subject.used_source) is not None and re.search(OF_ORDER, subject.used_source) is None
    return exercise("padding_mask") if takes_ids and is_of_padding else None
