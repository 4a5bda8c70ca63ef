"""Greetings and meetings that ask for names, give them and repeat them."""

from __future__ import annotations

from .animals import HEROES
from .world import Person, World


def greeting(w: World) -> None:
    """Let the hero and a companion give their names, now and then."""
    hero, other = w.cast["h"], w.cast.get("f")
    if not hero.name or w.chance(0.5):
        return
    w.cast["name"] = hero.name
    if other is not None and other.name and other.relation and w.chance(0.7):
        w.cast["other"] = other.name
        w.say(
            '"{name}, where are you?" {f} [would call|called every morning]. "Here I am, {other}," {h} would answer.',
            'All day one could hear them: "{name}! {other}! {name}!"',
            'People never said "{name}" without saying "{other}".',
            '"{name} and {other}," people said, "[are up to something again|what a pair]!"',
        )
        return
    w.say(
        '"My name is {name}," {h.he} told everyone, "{name}, and nothing else."',
        '"{name}! {name}!" people called, and {h.he} came running.',
        'On the door it said "{name}" in [green|blue|crooked] letters.',
        '"{name}," people said, "[what are you up to now|you are one of a kind]!"',
    )


def meeting(w: World) -> None:
    """Let somebody with a name come by, who may be mentioned again at the end."""
    hero = w.cast["h"]
    roll = w.random()
    if roll < 0.4:
        other = w.neighbour("y")
        while not other.name:
            other = w.neighbour("y")
    elif roll < 0.75:
        other = w.child()
    else:
        kinds = {entry.kind for entry in w.cast.values() if isinstance(entry, Person)}
        other = w.beast([animal for animal in HEROES if animal.kind not in kinds])
    w.cast["y"] = other
    w.cast["other"], w.cast["name"] = other.name, hero.name or hero.forms["call"]
    if other.kind == "neighbour":
        w.say(
            '{y.an} came by. "Good {time}, {name}," {y.said}. "Good {time}, {other}," {h.replied}.',
            '"Is that you, {name}?" asked {y.an}. "Yes, {other}, it is me," {h.replied}.',
            '{h} met {y.an} on the way. "Hello, {other}!" {h.cried}. "Hello, {name}," {y.replied}.',
            '{y.an} waved. "{name}! How [is the family|are you], {name}?" "Very well, {other}," {h.replied}.',
        )
    elif hero.name:
        w.say(
            'Just then {y.an} came by. "What is your name?" {y.asked}. "{name}. And yours?" "{other}." "Hello, {other}," {h.said}.',
            '{y.intro} came by. "Are you {name}?" {y.asked}. "I am {other}." "Good {time}, {other}," {h.said}.',
            '{y.an} went past. "Hello, I am {other}," {y.said}. "And I am {name}," {h.replied}. "See you soon, {other}!"',
            '{h} met {y.intro}. "Hello, {other}!" {h.said}. "Hello, {name}!" {y.said}.',
        )
    else:
        w.say(
            'Just then {y.an} came by. "What is your name?" {h.asked}. "{other}." "Hello, {other}," {h.said}.',
            '{h} met {y.intro}. "Good {time}, {other}," {h.said}. And {y} [waved|nodded].',
            '{y.an} went past. "Hello, I am {other}," {y.said}. "See you soon, {other}!" {h.said}.',
        )


def echo(w: World) -> None:
    """Mention again, now and then, somebody whom the hero met, or the village."""
    if "y" in w.cast and w.chance(0.7):
        w.say(
            "When {y} heard about it, {y.he} [laughed|nodded|clapped].",
            "Even {y} came by to hear about it.",
            "{h} told {y} all about it.",
            '"Well done," said {y}, [who had seen it all|who had heard about it].',
        )
    village = w.cast["village"]
    if any(village in paragraph for paragraph in w.paragraphs) and w.chance(0.7):
        w.say(
            "In {village} people [still talk about it|told the story for years].",
            "Soon everyone in {village} knew about it.",
            "There was no happier house in all {village}.",
        )
