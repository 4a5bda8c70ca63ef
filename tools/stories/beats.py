"""Parts that all plots share: openings, weather, feelings, thanks, endings."""

from __future__ import annotations

from typing import Any

from . import invented
from .meetings import echo, greeting, meeting
from .names import TRAITS, VILLAGES
from .pastimes import CALLINGS, COLLECTED, GAMES, PASSERS, SMELLS
from .world import Person, World

_SKIES = {
    "sunny": (
        "The sun [shone|sparkled|lay warm] on {p.sight3}.",
        "There was not a cloud in the sky.",
        "The air smelled of [warm grass|clover|summer].",
        "[Everything glittered|Even the shadows looked friendly] in the light.",
    ),
    "windy": (
        "The wind [tugged at|shook|danced around] {p.sight3}.",
        "Clouds [raced|tumbled|galloped] across the sky.",
        "The breeze smelled of [rain far away|leaves|adventure].",
        "Every door that could bang was banging.",
    ),
    "rainy": (
        "Rain [drummed|pattered|dripped] on {p.sight3}.",
        "The puddles [were as big as tablecloths|grew and grew|shivered with raindrops].",
        "Water ran down [everything|every path] and [into everyone's shoes|gurgled in the ditches].",
        "The sky was as grey as [a pigeon|an old kettle|slate].",
    ),
    "snowy": (
        "Snow lay on {p.sight3}, [thick and soft|as white as flour|without a single footprint].",
        "Every breath made a small white cloud.",
        "Flakes [drifted|whirled|floated] down and [settled without a sound|melted on warm noses].",
        "The cold [nipped|bit] at noses and toes.",
    ),
    "foggy": (
        "Mist [curled|crept|hung] around {p.sight3}.",
        "It was hard to see farther than [ten steps|the next corner].",
        "Everything looked [pale and strange|half asleep|like a drawing rubbed out].",
        "The fog [swallowed every sound|tasted of metal|lay on the ground like wool].",
    ),
    "cloudy": (
        "Low clouds [hung|rested|waited] over {p.sight3}.",
        "It was [neither warm nor cold|the sort of day that cannot decide].",
        "The light was [soft and even|as mild as milk].",
        "A single sunbeam [came and went|slipped through and was gone].",
    ),
}

_MORALS = {
    "honesty": (
        "The truth may be [heavy to carry|hard to say], but it is [light once it is said|easier to live with than a lie].",
        "[A mistake|Something broken] can be mended, but only when [someone owns up to it|it is out in the open].",
        "{h} had learned that [an honest word|the truth] is worth more than [a hundred excuses|any clever story].",
    ),
    "sharing": (
        "[Half a treat|A small supper] with a friend tastes better than [a whole one|a feast] alone.",
        "{h} had found out that [what you give away often comes back|there is nearly always enough for one more].",
        "The more [{h} shared|they shared], the more there seemed to be.",
    ),
    "courage": (
        "Being brave does not mean not being afraid. It means [going on anyway|taking one more step].",
        "{h} was still a little afraid sometimes, but [fear was smaller now|now {h.he} knew what to do about it].",
        "Courage, {h} thought, is [mostly one small step after another|a thing that grows when you use it].",
    ),
    "patience": (
        "Some things [cannot be hurried|take as long as they take], and they are often the best things.",
        "{h} had learned to [wait|try again], and [waiting|trying] turned out to be [a kind of magic|half of every art].",
        "Little by little, [a puddle becomes a pond|a stitch becomes a coat|the snail gets to the gate].",
    ),
    "friendship": (
        "A good friend is worth [more than any prize|more than being right|a mountain of gold].",
        "After that, [nobody ever saw one without the other|the two of them did almost everything together].",
        "[Friends may stumble|Even good friends may disagree], but they [find their way back|do not let go].",
    ),
    "kindness": (
        "A kind deed, however small, is never [lost|wasted|forgotten].",
        "{h} never forgot how [good it felt to help|much a little kindness can do].",
        "Kindness goes around in a circle, and [sooner or later it comes home|nobody knows where it will stop].",
    ),
    "help": (
        "{h} learned that asking for help is [not a weakness at all|sometimes the cleverest thing to do].",
        "What one cannot do alone, [two can often do together|many can do before lunch].",
        'From then on, {h} was not [too proud|ashamed] to say, "Please help me."',
    ),
    "care": (
        "From then on, {h} took better care of [{h.his} things and of other people's|everything {h.he} was trusted with].",
        "{h} had learned to [look twice|keep {h.his} eyes open] and [hold on tightly|put things back where they belong].",
        "Things we love need [looking after|gentle hands], and so do [people|friends].",
    ),
}

_LAST = (
    "And that night {h} [slept|fell asleep] with a smile.",
    "And {they} lived happily ever after.",
    "That [was a day|is a story] {h} [would tell|told] for [many years|years and years].",
    "And if you go {p.to}, [you may hear about it still|somebody will surely tell you this story].",
    "Then it was time for [supper|bed|a hot bath and a story].",
    "Outside, the [first stars came out|moon climbed over the roofs|evening star winked], and everything was [quiet|well].",
    "The stars came out one by one, and {h} [counted them until {h.he} slept|wished each of them good night].",
    "{h} [yawned|smiled|hummed a tune] all the way home.",
)


def opening(w: World) -> None:
    """Introduce the hero, the companion if there is one, and the home, in one of many orders."""
    hero = w.cast["h"]
    other: Any = w.cast.get("f")
    assert isinstance(hero, Person)
    w.cast["village"] = w.pick(VILLAGES)
    if w.invents:
        w.cast["village"] = w.name(VILLAGES, invented.village)
    companion = other is not None and bool(other.relation)
    paired = False
    roll = w.random()
    if companion and hero.name and roll < 0.16:
        paired = True
        of = "{h} the {h.kind}" if hero.animal else "{h}"
        relation = other.relation
        if relation == "friend":
            friend = "{h.his} friend {f} the {f.kind}" if other.animal else "{h.his} friend {f}"
        else:
            friend = "{h.his} " + relation + " {f}"
        start = w.pick(("", "", "once upon a time, ", "long ago, ", "not so long ago, "))
        w.say(start + of + " and " + friend + " lived {p.ina}.")
    elif roll < 0.58:
        w.say(
            "Once upon a time, there was {h.intro} who [lived|had {h.his} home|had grown up] {p.ina}.",
            "Once upon a time, {p.ina}, there lived {h.intro}.",
            "Once upon a time there was {h.intro}. {h.he} lived {p.ina}, [near|close to|not far from] {p.sight}.",
            "Once upon a time, {p.ina} called {village}, there was {h.intro}."
            if w.cast["p"].forms["n"] in ("village", "town", "fishing village")
            else "Once upon a time, {p.ina} near {village}, there was {h.intro}."
            if w.invents
            else "Once upon a time, {h.intro} lived {p.ina}, among {p.sight} and {p.sight2}.",
        )
    elif roll < 0.66:
        w.day_told = True
        w.say(
            "One {weather} {time}, {h.intro} was [sitting|playing|walking about|looking around] {p.ina}.",
            "One {weather} {time}, {h.intro} [woke up|opened one eye and then the other|stretched and yawned] {p.ina}."
            if w.time == "morning"
            else "One {time}, {h.intro} was on the way home, {p.ina}. It was {weather} weather.",
            "It was a {weather} {time} when {h.intro} [set out|came out|sat down] to look at {p.sight} {p.ina}.",
        )
        _sky(w)
    elif roll < 0.74:
        w.say(
            "In {p.a} there lived {h.intro}." if w.cast["p"].forms["in"].startswith("in ") else "Far away, {p.ina}, there lived {h.intro}.",
            "{p.ina}, where [{p.sound}|there were {p.sight} and {p.sight2}], lived {h.intro}.",
            "There was once {p.a} full of {p.sight}, and [there|near it] lived {h.intro}.",
        )
    elif roll < 0.8:
        w.say(
            '"[Good morning, world|Hello, world|What a day]!" {h.said}. {h.he} was {h.an}, and {h.he} lived {p.ina}.',
            '"[Wait for me|Look at me|Here I come]!" {h.cried}. {h.he} was {h.an}, and everyone {p.in} knew {h.him}.',
            '"[I wonder|I do wonder] what will happen today," {h.said}. {h.he} was {h.an}, and {h.his} home was {p.ina}.',
        )
    elif roll < 0.92:
        if hero.name:
            w.say(
                "{h} was {h.an} who [lived|had always lived|had {h.his} home] {p.ina}.",
                "{h} was the [smallest|youngest|merriest|most {trait}] {h.kind} {p.in}."
                if "trait" in w.cast
                else "{h} was {h.an} from {p.a}.",
                "Everyone {p.in} knew {h}, the {h.kind} who [always came last|laughed the loudest|never wore shoes|asked why].",
            )
        else:
            w.say(
                "{h.the} lived {p.ina}.",
                "{h.the} had {h.his} home {p.ina}, [near|beside|close to] {p.sight}.",
                "{h.the} was the [smallest|youngest|merriest] {h.kind} {p.in}.",
            )
    else:
        w.say(
            "[Long ago|Many years ago|A long time ago], {p.ina}, there was {h.intro}.",
            "There was once {h.intro} who lived {p.ina}.",
            "[Not very long ago|Once, not far from here|Far, far away], {h.intro} lived {p.ina}.",
            "Have you ever heard of {h.intro} who lived {p.ina}?",
        )
    if paired:
        w.cast["trait"] = hero.trait
        w.say(
            "{h} was {trait}, and {f} was [always hungry|the merry one|the louder of the two|a great talker|usually late].",
            "{h} was the {trait} one, and {f} was [the strong one|the one with the ideas|the one who laughed about it].",
            "They did everything together, though {h} was [rather|very] {trait} and {f} was not.",
        )
    else:
        _portrait(w, hero)
    if companion and not paired:
        _companion(w, other)
    if hero.animal and hero.name and not (companion and other.kind == hero.kind):
        hero.forms[""] = (hero.name, hero.name, hero.name, f"the {hero.kind}")
    if w.invents:
        greeting(w)
    w.paragraph()


def _portrait(w: World, hero: Person) -> None:
    if hero.animal and w.chance(0.45):
        w.cast["looks"], w.cast["den"], w.cast["food"] = hero.animal.looks, hero.animal.home, hero.animal.food
        w.say(
            "{h.he} had {looks} and [a great liking for|a great love of] {food}.",
            "{h.his} home was {den}.",
            "{h.he} slept in {den} and liked {food} [best of all|more than anything].",
            "{h.he} had {looks}.",
        )
    if w.chance(0.75):
        w.cast["trait"] = hero.trait
        if w.chance(0.5):
            w.say(
                "{h.he} was [a|such a] {trait} {h.kind}." if w.chance(0.3) else "{h.he} was [very|rather|always|quite] {trait}.",
                "[All the neighbours|Everybody] said that {h} was {trait}.",
            )
        w.say(*TRAITS[hero.trait])
    elif w.chance(0.4):
        _sky(w)
    else:
        w.say("All day long, {p.sound}.", "In the mornings, {p.sound}.")

    if w.chance(0.5):
        w.cast["collected"], w.cast["calling"], w.cast["game"] = w.pick(COLLECTED), w.pick(CALLINGS), w.pick(GAMES)
        w.say(
            "{h} [collected|had a whole shelf of|knew all about] {collected}.",
            "[One day|Some day], {h} wanted to be {calling}.",
            "When {h} grew up, {h.he} was going to be {calling}.",
            "The game {h.he} liked best was {game}.",
            "{h} was [very good|not at all good] at {game}.",
        )


def _companion(w: World, other: Person) -> None:
    if other.relation == "friend":
        w.say(
            "{h.his} best friend was {f.intro}.",
            "{h} [often played|spent every day|shared everything] with {f.intro}.",
            "Next door lived {f.intro}, and the two were [the best of friends|always together].",
        )
    else:
        w.cast["relation"] = other.relation
        w.say(
            "{h.he} had a {relation} [named|called] {f}.",
            "{h.his} [little|big|older|younger] {relation} {f} [went everywhere with {h.him}|lived there too].",
            "{h.he} shared a room with {h.his} {relation}, {f}.",
        )


def _sky(w: World) -> None:
    w.say(*_SKIES[w.weather])


def scene(w: World) -> None:
    """Add a line about the day, or a meeting, with some probability."""
    if w.invents and w.chance(0.6):
        meeting(w)
        return
    roll = w.random()
    if roll < 0.4:
        _sky(w)
    elif roll < 0.65:
        w.cast["passer"], w.cast["smell"] = w.pick(PASSERS), w.pick(SMELLS)
        w.say(
            "[Just then|At that moment], {passer} went by.",
            "In the distance one could see {passer}.",
            "{passer} [passed|went past], and then all was quiet again.",
            "The air smelled [faintly|strongly] of {smell}.",
            "From somewhere came a smell of {smell}.",
        )


def sad(w: World, key: str = "h") -> None:
    """Add a sentence in which a person is sad."""
    w.cast["a"] = w.cast[key]
    w.say(
        "{a.s} eyes filled with tears.",
        "{a} [felt|had] a lump in {a.his} throat.",
        "{a} sat down [on a stone|on the ground|in the grass] and [wept|cried a little|hid {a.his} face].",
        "{a} felt [as small as a pea|as heavy as a stone|cold inside].",
        "A tear [rolled down {a.s} nose|dripped from {a.s} chin].",
        "{a} did not know what to do. {a.his} heart was as heavy as [a bucket of sand|lead|a wet blanket].",
        "{a.s} lip [trembled|wobbled|began to shake].",
        "{a} [swallowed hard|bit {a.his} lip] and tried not to cry.",
    )


def glad(w: World, key: str = "h") -> None:
    """Add a sentence in which a person is happy."""
    w.cast["a"] = w.cast[key]
    w.say(
        "{a} [jumped|hopped|danced] for joy.",
        "{a} was so happy that {a.he} [turned three somersaults|could not stand still|laughed out loud].",
        "{a.s} heart [leaped|sang|felt as light as a feather].",
        "{a} [beamed|glowed] from ear to ear.",
        "A [big|wide|slow] smile spread over {a.s} face.",
        "{a} felt warm [all over|from nose to toes|right down to {a.his} toes].",
        "{a} [clapped|cheered|whooped] until the birds flew up.",
        "{a} could hardly believe it. {a.he} [blinked|rubbed {a.his} eyes] and laughed.",
    )


def thanks(w: World, giver: str, receiver: str = "h") -> None:
    """Add a sentence in which the receiver thanks the giver."""
    w.cast["a"], w.cast["b"] = w.cast[receiver], w.cast[giver]
    w.say(
        '"Thank you, {b.call}!" {a.cried}. "[I will never forget this|I could not have done it alone|You are the best]!"',
        '"Oh, thank you," {a.said}. "[How can I ever repay you|What can I do for you]?" "[Just be kind to the next one|A '
        'smile will do]," {b.replied}.',
        "{a} thanked {b} [again and again|with all {a.his} heart|three times over].",
        '"You [helped me|were so good to me], {b.call}," {a.said}. "Now [come and have supper with us|you must let me share my lunch]."',
        "{a} [hugged|squeezed] {b} so hard that {b.he} [squeaked|gasped|laughed].",
    )


def ending(w: World, theme: str, *last: str, together: bool = False) -> None:
    """Close the story with a result, a moral, a last line, or several of them."""
    w.paragraph()
    w.cast["they"] = "they all" if together else w.text("{h}")
    if last:
        w.say(*last)
    if w.invents:
        echo(w)
    roll = w.random()
    if roll < 0.45:
        w.say(*_MORALS[theme])
    elif roll < 0.85:
        w.say(*_LAST)
    else:
        w.say(*_MORALS[theme])
        w.say(*_LAST)
    w.paragraph()
