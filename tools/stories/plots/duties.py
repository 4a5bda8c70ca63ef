"""Plots about duties: a present, a promise, an apology."""

from __future__ import annotations

from ..animals import ANIMALS
from ..beats import ending, glad, opening, sad
from ..things import FOODS, PRESENTS, TOYS, TREASURES
from ..world import Dish, World

FINDERS = [animal for animal in ANIMALS if animal.kind in ("magpie", "crow", "squirrel", "mouse", "chipmunk", "robin", "sparrow")]

# (promise, result of forgetting it, how the hero repairs it)
TASKS = (
    ("water the seedlings", "the seedlings hung their heads", "carried water, can after can, until every leaf stood up"),
    ("mind the sheep", "the gate stood open and the sheep were gone", "ran over three fields and brought the sheep back, one by one"),
    ("feed the hens", "the hens were cackling with hunger", "filled the trough to the brim and asked every hen to forgive {h.him}"),
    ("bring in the washing", "the washing lay in the mud", "washed every shirt again and hung them in a row"),
    ("light the lamp by the path", "the path was as dark as a pocket", "lit the lamp and stood by until the last traveller was home"),
    (
        "pick the ripe plums",
        "the wasps had found the plums",
        "climbed to the very top, where the last good plums were, and filled a basket",
    ),
    ("mind the soup", "black smoke came from the pot", "scrubbed the pot and cooked a new soup, with twice as many carrots"),
    ("post this letter", "the letter was still on the table", "ran all the way and got there as the shutter was coming down"),
    ("rock the baby", "the baby was howling like a siren", "walked up and down with the baby and sang eleven lullabies"),
    ("stack the firewood", "the firewood lay about in the wet grass", "dried every log and stacked them as high as the window"),
)


def gift(w: World) -> None:
    """Write of a present that goes wrong and is saved."""
    h = w.hero()
    w.home()
    g = w.elder(h)
    t = w.thing(PRESENTS, owner=g)
    w.friend(h) if w.chance(0.4) else None
    opening(w)
    w.cast["occasion"] = w.pick(("birthday", "birthday", "name day"))
    w.cast["hiding"] = w.pick(("under the stairs", "in the hayloft", "behind the woodpile", "in the old trunk", "under a loose floorboard"))
    w.say(
        "Soon it would be the day of {g.s} {occasion}. {h} wanted to give {g.him} something [special|wonderful], but {h.his} "
        "money box held only [two coins|a button|a dead beetle].",
        '{day}, {h} remembered that {g.s} {occasion} was [near|only three days away]. "I will make {t.a}," {h} decided. '
        '"It will be a secret!"',
    )
    w.say(
        "So {h} began to make {t.full}, and [hid it|worked on it in secret] {hiding}.",
        "Every day, when nobody was looking, {h} crept off to work on {t.a} {hiding}.",
    ) if not t.make.plural else w.say("So {h} began to make {t.full}, and hid them {hiding}.")
    w.say(
        '"What are you doing?" {g.asked}. "Nothing!" {h.replied}, [with paint on {h.his} nose|and hid both hands|and turned red].',
        "{g} noticed the [paint on {h.his} ear|glue on {h.his} elbow|bits of thread on the floor], but asked no questions.",
    )
    w.paragraph()
    w.say(
        "On the last evening, [{h} stumbled|the cat jumped up|the roof began to drip], and [half the work was spoiled|the "
        "best part was ruined].",
        "But when {h} looked at {t} the next day, [the colours had run|the mice had nibbled one corner|a piece had come off]. "
        "Everything looked [crooked|lopsided|all wrong].",
    )
    sad(w)
    if "f" in w.cast:
        w.say(
            '{f} came by and looked. "[Do not throw {t.it} away|Give me the brush]," {f.said}. "We will turn the '
            '[spot|hole|mistake] into [a flower|a star|a bird]."',
            '"I will help you," {f.said}, and they worked [by candlelight|until their eyes stung|all evening long].',
        )
    else:
        w.say(
            "{h} wanted to give up. Then {h.he} [turned the stain into a bird|covered the hole with a star|painted a sun over "
            "the worst part], and it looked almost planned.",
            "{h} [wiped {h.his} nose|took a deep breath] and began again. {h.he} worked [by candlelight|until {h.his} eyes stung].",
        )
    w.maybe(0.5, "It was not perfect, but [it had been made with love|every stitch was {h.s} own|it was done].")
    w.paragraph()
    w.say(
        "At last the day came. {h} held out {t}, [wrapped in a cabbage leaf|wrapped in newspaper|hidden behind {h.his} back]. "
        '"[For you|I made {t.it} myself]," {h.whispered}.',
        "On the great day {g} found a lumpy parcel on {g.his} chair. {h} [held {h.his} breath|peeped through the door].",
    )
    w.say(
        '{g} looked for a long time. "[Nobody has ever made me anything so lovely|This is the best present of my life]," '
        "{g.said}, and [wiped {g.his} eyes|blew {g.his} nose].",
        '"You made this?" {g.asked}. "With your own hands? I shall [keep {t.it} always|treasure {t.it}]."',
        '{g} laughed and cried, both at once. "So that was the [glue|paint|secret]!" {g.said}.',
    )
    glad(w)
    ending(
        w,
        "kindness",
        "{t} got the best place in the house, [right by the window|where everyone could see {t.it}].",
        'And {g} pointed at the crooked corner and said, "I like that part most of all."',
        together=True,
    )


def promise(w: World) -> None:
    """Write of a promise that is forgotten and kept late."""
    h = w.hero()
    w.home()
    w.set_day(weather=w.pick(("sunny", "windy", "cloudy", "foggy")), time=w.pick(("morning", "afternoon", "day")))
    n = w.neighbour() if w.chance(0.4) else w.elder(h)
    w.cast["n"] = n
    opening(w)
    w.cast["task"], w.cast["trouble"], done = w.pick(TASKS)
    w.cast["done"] = w.text(done)
    w.say(
        '{day}, {n} had to go out. "Will you {task}?" {n.asked}. "I promise," {h.replied}.',
        '"I have one job for you," {n.said} {day}. "Please {task}." "You can count on me," {h.replied}.',
    )
    w.maybe(0.5, "It was [a small job|not much to ask].", "{h} meant it, too.")
    w.paragraph()
    w.friend(h)
    w.say(
        'But then {f.intro} came [skipping|strolling|racing] by. "[Come and play|We are building a dam|There is a puppet '
        'show]!" {f.cried}.',
        'But just then {f.intro} [knocked|whistled] outside. "[Hurry|Come quickly], the circus is here!" {f.cried}.',
    )
    w.say(
        '"Only for a minute," {h.said}. But a minute became an hour, and [the hour became an afternoon|the promise slipped '
        "right out of {h.his} head].",
        '{h} [looked at the job|thought of the promise], then at the fun. "Later," {h.said}, and ran off.',
    )
    w.say(
        "They [laughed|played|splashed about] until [the shadows were long|the light turned gold].",
        "What fun they had! They [rolled down slopes|climbed fences|caught falling leaves] and forgot the time.",
    )
    w.paragraph()
    w.say(
        'Suddenly {h} stood still. "My promise!" {h.cried}. {h.he} raced home, but {trouble}.',
        'When {h} came back, {trouble}. "Oh no," {h.whispered}. "I promised to {task}."',
    )
    sad(w)
    w.say(
        '"You could say you were ill," {f.said}. "No," {h.replied}. "I will [put it right|keep my word]."',
        "{h} set {h.his} teeth. It was late, but late was better than never.",
    )
    w.say("Then {h} {done}.", "And so, tired as {h.he} was, {h} {done}.")
    w.paragraph()
    w.say(
        'When {n} came home, {h} told {n.him} everything. "You forgot," {n.said}, "and then you [did twice the work|made '
        'it right]. That is [a promise kept the long way round|good enough for me]."',
        '"I was late," {h.whispered}. {n} looked at {h.him} for a while. "But you came," {n.said}, "and you told me yourself."',
    )
    ending(
        w,
        w.pick(("honesty", "care")),
        "The next time {h} made a promise, {h.he} [tied a knot in a string to remember it|kept it before doing anything else].",
        "{h} went to bed [with sore arms and a quiet heart|tired, but glad].",
    )


def blame(w: World) -> None:
    """Write of a friend who is blamed wrongly."""
    h = w.hero()
    w.home()
    f = w.friend(h)
    w.thing(w.pick((TREASURES, TOYS)), owner=h)
    w.cast["meal"] = Dish(w.fresh(FOODS))
    opening(w)
    w.say(
        "{h} had {t.full}, and [{h.he} was very proud of {t.it}|everyone admired {t.it}].",
        "For {h.his} last birthday, {h} had got {t.full}.",
    )
    w.say(
        "{day}, {f} [asked to hold {t.it}|came to look at {t.it}], and {h} [let {f.him}|said yes].",
        "{day}, {h} and {f} played with {t} until [lunch|the bell rang|it was time to go].",
    )
    w.say("A little later, {t} {t.was} gone.", "But when {h} looked again, {t} had vanished.")
    w.paragraph()
    w.say(
        '"You took {t.it}!" {h.snapped}. "I did not," {f.replied}. "Then who did? [You were the only one here|Nobody else was near]!"',
        '{h} [stamped {h.his} foot|pointed at {f}]. "Give {t.it} back," {h.snapped}. "But I do not have {t.it}!" {f.cried}.',
    )
    sad(w, "f")
    w.say(
        "{f} turned around and went home without [another word|looking back].",
        '"I thought you were my friend," {f.whispered}, and walked away.',
    )
    w.maybe(
        0.7,
        "{h} [followed the footprints|looked for clues with a magnifying glass|questioned two ants], but found nothing.",
        "All {time}, {h} [kicked pebbles|sat alone and scowled]. Being angry was [lonely work|no fun at all].",
    )
    w.paragraph()
    w.cast["thief"] = ""
    if w.chance(0.5):
        x = w.beast([a for a in FINDERS if a.kind not in (h.kind, f.kind)], named=False, adjective="")
        w.cast["x"] = x
        x.forms[""] = f"the {x.kind}"
        w.say(
            'Then {h} heard a rustling. {x.an} was [hopping|trotting|creeping] off with {t}! "Oh, do you need this?" '
            '{x.asked}. "I needed something for my nest."',
            "Towards evening {h} passed a [nest|heap of twigs|hollow log]. In it sat {x.an}, and in front of {x.him} lay {t}. "
            '"I found this," {x.said}. "Finders keepers?"',
        )
        w.say(
            '"It was you!" {h.cried}. Then {h.he} went hot all over. "And I blamed {f}."',
            "{h} took {t} back, but {h.he} was not glad. {h.he} thought of {f}.",
        )
    else:
        w.cast["spot"] = w.pick(
            (
                "in {h.his} own other pocket",
                "under {h.his} own hat",
                "behind the cushion where {h.he} had been sitting",
                "at the bottom of {h.his} own bag",
            )
        )
        w.cast["spot"] = w.text(w.cast["spot"])
        w.say(
            "At bedtime {h} found {t} {spot}. {h.he} had put {t.it} there {h.self}!",
            "Then {h} looked {spot}. There {t.was} {t}! {h} wished that the floor would swallow {h.him}.",
        )
    w.say('"Oh, what have I done?" {h.whispered}.', "{h} had never felt so [ashamed|foolish].")
    w.paragraph()
    w.say(
        '{h} ran to {f.s} home. "I was wrong," {h.said}. "You did not take {t.it}, and I [should have believed|should have '
        'trusted] you. I am sorry."',
        'The way to {f} had never seemed so long. {h} knocked. "I found {t.it}," {h.whispered}. "I blamed you, and I am sorry."',
    )
    w.say(
        '{f} [thought about it|scratched {f.his} ear|looked at the sky]. "That hurt," {f.said}. "But [I forgive you|it is '
        'good that you came]."',
        '"Will you ask me first, next time?" {f.asked}. "Always," {h.replied}, and they shook on it.',
    )
    ending(w, "friendship", "Then they shared {meal}.", "{h} gave {f} the bigger part of {meal}.", together=True)


PLOTS = (gift, promise, blame)
