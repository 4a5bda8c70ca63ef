"""Invented names for persons, families, villages and things, in numbers too large to memorize.

A name is a stem and an ending, mostly of one token each in the vocabulary of the embedded model. With shorter tokens (`S`, `n`, `ir`, `n`)
one token occurs twice in a name, and a small model repeats it without end (`Snirnirnirn`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .words import words

_VOWELS = "aeiouy"
_STEMS = words("""
Lily Ruby Ivy Hazel Lucy Molly Amy Wren Ines Astrid Daisy Poppy Violet Iris June May Edith Hannah Ruth Esther Miriam Jane Meg Peggy Polly
Betty Tilly Sally Wendy Carmen Kiri Ingrid Niamh Tom Ben Sam Max Jack Finn Noah Owen Felix Oscar Adam Peter Simon David Daniel Henry
Albert Walter Arjun Kwame Omar Hassan Yusuf Karim Jin Ivan Boris Anton Emil Axel Lars Sven Erik Nils Fritz Jonah Caleb Silas Asher Rowan
Robin Toby Harry Billy Bobby Teddy Danny Joey Timmy Colin Duncan Angus Callum Rory Declan Liam Kieran Hamish Jasper Rufus Edmund Basil
Tariq Pip Clover Willow Pepper Honey Nutmeg Tansy Fern Pebble Velvet Ginger Mitten Tulip Berry Misty Button Rusty Acorn Patch Dusty Rocky
Flint Moss Copper Twig Sooty Hopper Tumble Crumb Bumble Fidget Quill Hobnob Ed Tar Kar Tann Pet Lark
""")
_GIRL_ENDS = words("ana ara ani ila ia anna ania una ora ine ena ina innea elly ola essa la ra na ya")
_BOY_ENDS = words("art is ar ick ard iro an ert im or us avi und ot ob er ock en on ell in o el")
_BOY_ENDS += words("bin bert by go ley ward fred kin mer mund lin ram rik ton")
_SURNAME_ENDS = words("house hill land berry by er worth ley ward stack low ling man maker smith ridge ton")
_VILLAGE_ENDS = words("house hill land berry worth low ton")
_THING_STEMS = words("gl tug mug peb tid cob hug umb hic nin mus sid wip kic mag squ rec rag lam min")
_THING_ENDS = words("ade ard ill um ub ump ot oon ip ick er ock ane en et el")


def girl(random: Callable[[], float]) -> str:
    """Return a name for a girl or a female animal."""
    return _name(random, _STEMS, _GIRL_ENDS)


def boy(random: Callable[[], float]) -> str:
    """Return a name for a boy or a male animal."""
    return _name(random, _STEMS, _BOY_ENDS)


def surname(random: Callable[[], float]) -> str:
    """Return the name of a family."""
    return _name(random, _STEMS, _SURNAME_ENDS)


def village(random: Callable[[], float]) -> str:
    """Return the name of a village."""
    return _name(random, _STEMS, _VILLAGE_ENDS)


def thing(random: Callable[[], float]) -> str:
    """Return the noun of a thing, in lower case and in the singular."""
    return _name(random, _THING_STEMS, _THING_ENDS)


def stem(name: str) -> str:
    """Return the stem of a name, or of `Mrs. Lilyworth`; the name itself where it has none."""
    word = name.split()[-1]
    return next((stem for stem in sorted(_STEMS, key=len, reverse=True) if word.startswith(stem)), word)


def _name(random: Callable[[], float], stems: Sequence[str], ends: Sequence[str]) -> str:
    """Return a stem and an ending between which there are no two vowels and no letter twice."""
    while True:
        first, last = stems[int(random() * len(stems))], ends[int(random() * len(ends))]
        if first[-1] != last[0] and not (first[-1] in _VOWELS and last[0] in _VOWELS):
            return first + last
