"""Flags with which a call says that a mask is to be applied: `forward(self, x, use_mask=False, mask=None)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headway.practice.diagnosis.classes.constructing import Construction
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.reading.subject import Subject

OF_FLAG = r"(use|apply|with|has|is)_?(attn_?|attention_?)?mask(ed|ing)?|masked"
"""Pattern of the names of these flags."""

OF_ORDER = r"tri[ul]|causal"
"""Pattern of the source of what hides later positions by itself, which such a flag may turn on instead."""


def mask_flags(subject: Subject, construction: Construction, given: Mapping[str, Any]) -> dict[str, bool]:
    """Return the flags of a method that takes a mask, each True if the call has a mask."""
    masks = [name for name, role in construction.forward.role_of.items() if role.name.endswith("mask")]
    parameters = call_parameters(subject, construction.method) if masks else ()
    flags = [each.name for each in parameters if each.default is False and re.fullmatch(OF_FLAG, each.name, re.IGNORECASE)]
    if len(masks) != 1 or not flags or re.search(OF_ORDER, subject.used_source, re.IGNORECASE):
        return {}
    return dict.fromkeys(flags, given.get(masks[0]) is not None)
