"""Optional masks under names that no role lists, which the source shows by what it fills with them: `keep=None`, `where(keep, scores, -inf)`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence

from headway.practice.exercise import Role

CHOOSES = r"\b(?:where|masked_fill_?|masked_where|select)\(\s*(?:~|\w+\.logical_not\()?\s*{name}\b(?!\s*\()"
"""Pattern of the source that chooses elements by a parameter alone, the condition."""


def filling_masks(parameters: Sequence[inspect.Parameter], roles: Sequence[Role], code: str) -> dict[str, Role]:
    """Return the role of the only optional parameter of an attention that is the condition of a choice, if no other parameter is its mask.

    parameters   those that no role lists
    code         source of the definition without comments
    """
    mask = next((role for role in roles if role.name == "mask"), None)
    if mask is None or all(role.name != "is_causal" for role in roles):
        return {}
    found = [each.name for each in parameters if each.default is None and re.search(CHOOSES.format(name=re.escape(each.name)), code)]
    return dict.fromkeys(found, mask) if len(found) == 1 else {}
