"""Usual values in place of constants that a file imports from missing files of its author: `Constants.PAD`, `from config import device`."""

from __future__ import annotations

import re
import sys
from typing import Any

IDS = {"pad": 0, "unk": 1, "bos": 2, "sos": 2, "eos": 3}
"""Ids of special tokens, which differ from each other; any others would do as well."""

OF_ID = rf"(?i)((src|trg|tgt|source|target)_)?(?P<token>{'|'.join(IDS)})(_?(id|idx|index))?"
"""Pattern of the name of the id of a special token, but not of its text: `PAD_WORD`, `PAD_TOKEN`."""

OF_DEVICE = r"(?i)(default_)?device"
"""Pattern of the name of the device on which a file computes."""


class AbsentId(int):
    """An id of a special token in place of an absent one."""


OF_PATTERN = r"(?i)_?((gpt_?[24]|encode|decode|split|pre_?token(i[sz](e|er|ation))?|tokeni[sz]er|bpe|word)_)*pat(tern)?"
"""Pattern of the name of the expression that divides a text into words."""

WORDS = r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
"""The expression of GPT-2, in the syntax of Python's own module."""


class AbsentPattern(str):
    """An expression that divides a text into words, in place of an absent one: its text, which can be used as if it was compiled."""

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(str(self)), name)


def constant_in_place(name: str) -> Any:
    """Return the usual value of an absent constant of this name; None for other names."""
    found = re.fullmatch(OF_ID, name)
    if found is not None:
        return AbsentId(IDS[found["token"].lower()])
    if re.fullmatch(OF_PATTERN, name):
        return AbsentPattern(WORDS)
    torch = sys.modules.get("torch")
    return torch.device("cpu") if torch is not None and re.fullmatch(OF_DEVICE, name) else None
