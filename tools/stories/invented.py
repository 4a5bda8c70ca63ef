"""Invented names for persons, families, villages and things: too many to remember, so that a model has to copy them."""

from __future__ import annotations

from collections.abc import Callable

from .words import words

_ONSETS = words("B Br D Dr F Fl G Gr J K L M N P R S T Tr V W Y Z St Sk Qu Bl Kr Gl Sn Kn")
_VOWELS = words("a e i o u a e i o")
_MIDDLES = words("l r n m d v t k b s z nd rl mm tt lv rn ss pp sk lk dd rm")
_GIRL_ENDS = words("a ia ina ella una essa ie y ora ala inda ette")
_BOY_ENDS = words("o on ick us en ert in ob or an im ock")
_SURNAME_ENDS = words("er worth ley bury ding man ster ling wood by win ford")
_VILLAGE_ENDS = words("ton ham wick field dale mouth stead burn cot low bridge minster")
_THING_ENDS = words("le et er op um ock ing ush el ip ab ot")


def girl(random: Callable[[], float]) -> str:
    """Return a name for a girl or a female animal."""
    return _stem(random) + _pick(random, _GIRL_ENDS)


def boy(random: Callable[[], float]) -> str:
    """Return a name for a boy or a male animal."""
    return _stem(random) + _pick(random, _BOY_ENDS)


def surname(random: Callable[[], float]) -> str:
    """Return the name of a family."""
    return _stem(random) + _pick(random, _SURNAME_ENDS)


def village(random: Callable[[], float]) -> str:
    """Return the name of a village."""
    return _stem(random) + _pick(random, _VILLAGE_ENDS)


def thing(random: Callable[[], float]) -> str:
    """Return the noun of a thing, in lower case and in the singular."""
    return (_stem(random) + _pick(random, _THING_ENDS)).lower()


def _stem(random: Callable[[], float]) -> str:
    return _pick(random, _ONSETS) + _pick(random, _VOWELS) + _pick(random, _MIDDLES)


def _pick(random: Callable[[], float], options: list[str]) -> str:
    return options[int(random() * len(options))]
