"""Words in the names of attributes, and the weights that they may mean."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headway.practice.exercise import Role

FILLERS = set(
    "w weight weights linear lin layer layers proj projection projections fc to attn attention self matrix mat param params kernel b bias c mlp head heads dense".split()
)

PREFIXES = ("w", "b", "to")
"""Prefixes of the names of weights: `wq`, `toqueries`."""


def words_of(name: str) -> list[str]:
    """Return the distinguishing words of an attribute name: W_query.weight → query."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.sub(r"\b[Ww](?=[QKVO]\b)", "", name))
    return [part.lower() for part in parts if part.lower() not in FILLERS]


def roles_in_name(name: str, roles: Sequence[Role]) -> list[Role]:
    """Return the roles that a name mentions, in order."""
    owner, _, last = name.lower().removesuffix(".weight").removesuffix(".bias").rpartition(".")
    last = last.strip("_")
    is_numbered = re.search(r"\d$", owner) is not None  # the number tells what `lin2.W` is
    exact = [role for role in roles if last == role.name or last in role.called]
    if exact and not (last in FILLERS and (words_of(name) or is_numbered)):
        return exact[:1]
    roles_found: list[Role] = []
    for word in words_of(name):
        meant = {word, *(word.removeprefix(prefix) for prefix in PREFIXES)}
        of_word = [role for role in roles if not meant.isdisjoint(role.held_as)]
        if name.endswith(".bias"):  # next to `norm.alpha`
            of_word.sort(key=lambda role: not role.name.endswith("bias"))
        letters = [role for letter in word for role in roles if letter in role.held_as] if set(word) <= set("qkv") else []
        roles_found += of_word[:1] or letters
    return list({role.name: role for role in roles_found}.values())
