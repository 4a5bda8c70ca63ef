"""State of one story: persons, things, places, the day, and the text written."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import invented, names
from .animals import AT_SEA, BY_SKILL, HEROES, Animal
from .grammar import finish, parse, possessive, realise
from .places import HOMES, OUTDOORS, Site
from .things import COLOURS, LOOKS, Make

T = TypeVar("T")

PRONOUNS = {"f": ("she", "her", "her", "herself", "hers"), "m": ("he", "him", "his", "himself", "his")}
SPEECH = {
    "said": ("said", "said", "said", "said"),
    "asked": ("asked", "asked", "asked", "asked", "wanted to know"),
    "replied": ("answered", "replied", "said", "said at once"),
    "cried": ("cried", "shouted", "called", "exclaimed"),
    "whispered": ("whispered", "murmured", "said softly", "said in a small voice", "mumbled"),
    "laughed": ("laughed", "chuckled", "giggled", "said with a grin", "said happily"),
    "sighed": ("sighed", "sniffed", "groaned", "said sadly", "said with a long face", "moaned"),
    "snapped": ("snapped", "grumbled", "said crossly", "growled", "shouted", "huffed"),
}
WEATHER = {
    "sunny": ("sunny", "bright", "fine", "warm", "golden", "cloudless"),
    "windy": ("windy", "breezy", "blustery", "gusty"),
    "rainy": ("rainy", "wet", "drizzly", "soggy"),
    "snowy": ("snowy", "frosty", "freezing", "icy"),
    "foggy": ("foggy", "misty", "hazy"),
    "cloudy": ("grey", "cloudy", "cool", "dull"),
}


class Person:
    """Person in the story: a child, a grown-up, or an animal that talks."""

    def __init__(
        self, name: str, kind: str, gender: str, adjective: str, *, animal: Animal | None = None, relation: str = "", trait: str = ""
    ) -> None:
        self.name, self.kind, self.gender, self.animal, self.relation, self.trait = name, kind, gender, animal, relation, trait
        self.adjective = adjective
        he, him, his, self_, own = PRONOUNS[gender]
        the = f"the {adjective} {kind}".replace("  ", " ")
        an = f"a {adjective} {kind}".replace("  ", " ")
        call = name or f"{adjective} {kind}".strip()
        self.forms: dict[str, str | tuple[str, ...]] = {
            "": name or (the, f"the {kind}", f"the {kind}", f"the {kind}"),
            "he": he,
            "him": him,
            "his": his,
            "self": self_,
            "own": own,
            "s": possessive(name or f"the {kind}"),
            "the": the,
            "kind": kind,
            "an": an,
            "intro": (f"{an} named {name}", f"{an} called {name}") if name else an,
            "call": call,
        }

    def form(self, form: str, world: World) -> str:
        """Return the words for this person, or a speech verb with this person as its subject."""
        words = self.forms.get(form)
        if words is None:
            verb = world.speech(SPEECH[form])
            name = self.form("", world)
            return f"{name} {verb}" if " " in verb or world.random() < 0.2 else f"{verb} {name}"
        return words if isinstance(words, str) else world.pick(words)


class Thing:
    """Thing with an owner and a holder."""

    def __init__(self, make: Make, adjective: str, owner: Person | None = None) -> None:
        self.make, self.owner, self.holder, self.broken = make, owner, owner, False
        noun = make.noun
        some = f"some {adjective} {noun}" if make.plural else f"a {adjective} {noun}"
        self.forms: dict[str, str | tuple[str, ...]] = {
            "": (f"the {noun}", f"the {noun}", f"the {adjective} {noun}"),
            "a": some,
            "full": f"{some} {make.detail}",
            "n": noun,
            "an": f"{adjective} {noun}",
            "it": "them" if make.plural else "it",
            "they": "they" if make.plural else "it",
            "was": "were" if make.plural else "was",
            "is": "are" if make.plural else "is",
            "has": "have" if make.plural else "has",
            "that": "those" if make.plural else "that",
        }

    def form(self, form: str, world: World) -> str:
        """Return the words for this thing."""
        words = self.forms[form]
        return words if isinstance(words, str) else world.pick(words)


class Place:
    """Place with its sights; its adjective is the same throughout the story."""

    def __init__(self, site: Site, adjective: str, sights: Sequence[str]) -> None:
        self.site = site
        noun = site.noun
        self.forms = {
            "": f"the {noun}",
            "in": f"{site.preposition} the {noun}",
            "ina": f"{site.preposition} a {adjective} {noun}",
            "a": f"a {adjective} {noun}",
            "to": f"to the {noun}",
            "n": noun,
            "sight": sights[0],
            "sight2": sights[1],
            "sight3": sights[2],
            "sound": site.sounds[0],
        }

    def form(self, form: str, world: World) -> str:
        """Return the words for this place."""
        return self.forms[form]


class World:
    """All facts of one story and its text."""

    def __init__(self, seed: int, *, invents: bool = False) -> None:
        self.random, self.invents = random.Random(seed).random, invents
        self.begin()

    def begin(self) -> None:
        """Clear everything except the state of the random generator."""
        self.cast: dict[str, Any] = {}
        self.used: set[object] = set()
        self.stems: set[str] = set()
        self.paragraphs: list[str] = []
        self.lines: list[str] = []
        self.last_verb = ""
        self.day_told = False
        self.set_day()

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options at random."""
        return options[int(self.random() * len(options))]

    def fresh(self, options: Sequence[T]) -> T:
        """Return one of the options at random, if possible one not used in this story."""
        for _ in range(8):
            option = options[int(self.random() * len(options))]
            if option not in self.used:
                break
        self.used.add(option)
        return option

    def speech(self, verbs: Sequence[str]) -> str:
        """Return one of the verbs at random, avoiding the last one used."""
        for _ in range(4):
            verb = self.pick(verbs)
            if verb != self.last_verb or verb in ("said", "asked"):
                break
        self.last_verb = verb
        return verb

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self.random() < probability

    def name(self, listed: Sequence[str], invent: Callable[[Callable[[], float]], str]) -> str:
        """Return a listed name. In a story with invented names, return an invented name for 85 % of them; no two have one stem."""
        if not self.invents:
            return self.fresh(listed)
        while True:
            name = invent(self.random) if self.chance(0.85) else self.fresh(listed)
            stem = invented.stem(name)
            if stem not in self.stems:
                self.stems.add(stem)
                return name

    def text(self, line: str) -> str:
        """Return the words of a line."""
        out: list[str] = []
        realise(parse(line), self, out)
        return "".join(out)

    def say(self, *variants: str) -> None:
        """Add one of the variants to the paragraph."""
        self.lines.append(finish(self.text(self.fresh(variants))))

    def maybe(self, probability: float, *variants: str) -> None:
        """Add one of the variants with a probability."""
        if self.random() < probability:
            self.say(*variants)

    def paragraph(self) -> None:
        """End the paragraph."""
        if self.lines:
            self.paragraphs.append(" ".join(self.lines))
            self.lines = []

    def set_day(self, weather: str = "", time: str = "") -> None:
        """Choose the weather and the time of day."""
        self.weather = weather or self.pick(("sunny", "sunny", "sunny", "windy", "rainy", "snowy", "foggy", "cloudy"))
        self.time = time or self.pick(("morning", "morning", "afternoon", "day", "evening"))
        self.cast["weather"] = self.pick(WEATHER[self.weather])
        self.cast["time"] = self.time
        self.cast["day"] = Day()

    def hero(self) -> Person:
        """Add the main character, as `h`."""
        hero = self.child() if self.chance(0.5) else self.beast(HEROES, named=self.chance(0.7))
        hero.trait = self.pick(tuple(names.TRAITS))
        self.cast["h"] = hero
        return hero

    def child(self, *, gender: str = "", relation: str = "") -> Person:
        """Return a girl or a boy."""
        gender = gender or self.pick("fm")
        name = self.name(names.GIRLS, invented.girl) if gender == "f" else self.name(names.BOYS, invented.boy)
        return Person(name, "girl" if gender == "f" else "boy", gender, self.pick(names.PLAIN_ADJECTIVES), relation=relation)

    def animal_name(self, gender: str) -> str:
        """Return a name for an animal."""
        return self.name(names.ANIMAL_GIRLS, invented.girl) if gender == "f" else self.name(names.ANIMAL_BOYS, invented.boy)

    def beast(self, animals: Sequence[Animal], *, named: bool = True, adjective: str | None = None, gender: str = "") -> Person:
        """Return an animal of a kind that is not in the story yet."""
        animal = self.fresh(animals)
        gender = "f" if animal.kind in ("hen", "cow") else "m" if animal.kind == "rooster" else gender or self.pick("fm")
        name = self.animal_name(gender) if named else ""
        adjective = self.pick(names.PLAIN_ADJECTIVES) if adjective is None else adjective
        return Person(name, animal.kind, gender, adjective, animal=animal)

    def sibling(self, hero: Person) -> Person:
        """Add a brother or sister of the hero, as `f`."""
        gender = self.pick("fm")
        relation = "sister" if gender == "f" else "brother"
        if hero.animal:
            name = self.animal_name(gender)
            other = Person(name, hero.kind, gender, "", animal=hero.animal, relation=relation)
        else:
            other = self.child(gender=gender, relation=relation)
        self.cast["f"] = other
        return other

    def friend(self, hero: Person) -> Person:
        """Add a friend of the hero, as `f`: another child or an animal of another kind."""
        other = self.beast(HEROES) if hero.animal or self.chance(0.25) else self.child()
        other.relation = "friend"
        self.cast["f"] = other
        return other

    def elder(self, hero: Person, *relations: str) -> Person:
        """Add a grown-up of the hero's family, as `g`."""
        relation = self.pick(relations or tuple(names.ELDERS))
        gender, call = names.ELDERS[relation]
        elder = Person("", relation, gender, "", relation=relation, animal=hero.animal)
        whose = f"{hero.forms['his']} {relation}"
        elder.forms.update({"": whose, "the": whose, "an": whose, "s": possessive(whose), "call": call})
        self.cast["g"] = elder
        return elder

    def neighbour(self, key: str = "n") -> Person:
        """Add a grown-up with a name or a trade."""
        gender = self.pick("fm")
        if self.chance(0.8 if self.invents else 0.5):
            name = f"{'Mrs.' if gender == 'f' else 'Mr.'} {self.name(names.SURNAMES, invented.surname)}"
            person = Person(name, "neighbour", gender, "")
            person.forms["an"] = f"{self.pick(('old', 'kind old', 'grumpy old'))} {name}"
        else:
            job = self.pick([job for job in names.JOBS if gender == "m" or not job.endswith("man")])
            person = Person("", job, gender, "")
            person.forms.update(
                {"": f"the {job}", "call": "dear friend", "an": f"the {self.pick(('old', 'kind', 'busy', 'village'))} {job}"}
            )
        self.cast[key] = person
        return person

    def helper(self, skill: str, key: str = "x", *, is_stranger: bool = False) -> Person:
        """Add a passing animal with a skill, as `x`."""
        kinds = {entry.kind for entry in self.cast.values() if isinstance(entry, Person)}
        home = self.cast["p"]
        if not (isinstance(home, Place) and home.site.ground == "shore"):
            kinds |= AT_SEA
        animals = [animal for animal in BY_SKILL[skill] if animal.kind not in kinds]
        adjective = self.fresh(("", "friendly", "passing", "wise old", "large", "lean", "kindly", "grey", "cheerful"))
        named = self.invents and not is_stranger and self.chance(0.6)
        self.cast[key] = person = self.beast(animals, named=named, adjective=adjective)
        if named:
            person.forms["an"] = f"{person.forms['an']} [named|called] {person.name}".replace("  ", " ")
            person.forms["an"] = self.text(person.forms["an"])
            return person
        person.forms["call"] = person.kind
        person.forms[""] = f"the {person.kind}"
        return person

    def thing(self, makes: Sequence[Make], key: str = "t", *, owner: Person | None = None) -> Thing:
        """Add a thing of one of the sorts."""
        make = self.fresh(makes)
        if self.invents and self.chance(0.4):
            make = make._replace(noun=invented.thing(self.random) + "s" * make.plural)
        adjective = self.pick(COLOURS) if self.chance(0.65) else self.pick(LOOKS)
        thing = Thing(make, "old" if adjective in f"{make.noun} {make.detail}" else adjective, owner)
        self.cast[key] = thing
        return thing

    def place(self, key: str = "p", sites: Sequence[Site] = OUTDOORS) -> Place:
        """Add a place that is not in the story yet."""
        site = self.fresh(sites)
        first = int(self.random() * 3)
        place = Place(site, self.pick(site.adjectives), tuple(site.sights[(first + turn) % 3] for turn in range(3)))
        place.forms["sound"] = self.pick(site.sounds)
        self.cast[key] = place
        return place

    def home(self) -> Place:
        """Add the home of the hero, as `p`."""
        return self.place("p", HOMES)


class Dish:
    """Food or a prize: `a cherry tart` at its first mention, `the cherry tart` afterwards."""

    def __init__(self, words: str) -> None:
        self.first, self.told = words, False
        self.later = "the " + words.split(" ", 1)[1]

    def form(self, form: str, world: World) -> str:
        """Return the words for this dish."""
        if self.told:
            return self.later
        self.told = True
        return self.first


class Day:
    """Day of the story: `one windy morning` at its first mention, `that morning` afterwards."""

    def form(self, form: str, world: World) -> str:
        """Return the words for the day."""
        if world.day_told:
            return world.pick((f"that {world.time}", f"that same {world.time}")) if world.time != "day" else "that day"
        world.day_told = True
        if world.random() < 0.6:
            return f"one {world.cast['weather']} {world.time}"
        return f"one {world.time}"
