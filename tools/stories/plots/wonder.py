"""Plots about stages, nights and far places: a song, a sleepless night, a wish."""

from __future__ import annotations

from ..beats import ending, glad, opening, sad, scene
from ..places import HOMES
from ..world import World


def song(w: World) -> None:
    """Write of a performance, stage fright and courage."""
    h = w.hero()
    w.home()
    w.friend(h)
    w.cast["act"], w.cast["acting"] = w.pick(
        (
            ("sing", "singing"),
            ("play the flute", "playing"),
            ("recite a poem", "reciting"),
            ("dance", "dancing"),
            ("beat the drum", "drumming"),
            ("play the fiddle", "fiddling"),
        )
    )
    w.cast["feast"] = w.pick(
        ("harvest festival", "midsummer feast", "lantern night", "spring fair", "winter concert", "wedding of the miller")
    )
    opening(w)
    w.say(
        "Most of all {h} loved to {act}, but only when [nobody was listening|{h.he} was alone].",
        "{h} could {act} more beautifully than anyone, but {h.he} had never done it in front of others.",
    )
    w.say(
        '{day}, {f} heard {h.him}. "You must do that at the {feast}!" {f.cried}.',
        '{day}, they needed somebody to {act} at the {feast}. "I know who can," {f.said}, and pointed at {h}.',
    )
    w.say(
        '"Me? In front of everybody?" ^{h} turned [pale|green]. But {h.he} said yes, in a very small voice.',
        "{h} wanted to say no. Somehow it came out as yes.",
    )
    w.paragraph()
    w.say(
        "At the first rehearsal {h} [opened {h.his} mouth, and nothing came out but a squeak|forgot everything and ran away].",
        "{h} practised in the [woodshed|cellar|henhouse], where it went well, and then on the stage, where {h.his} legs turned "
        "to [jelly|pudding].",
    )
    sad(w)
    w.say(
        '"I cannot do it," {h.sighed}. "Then do it only for me," {f.replied}. "Do not look at the others."',
        '"What if I make a mistake?" {h.asked}. "Then make it loudly," {f.replied}, "and [go on|smile]."',
    )
    w.say(
        "So every day one more listener came: first {f}, then [a hen|the cat], then [the baker's twins|three old aunts].",
        "They practised together, {f} beating time with a spoon, until {h} could do it [with {h.his} eyes shut|even with "
        "somebody watching].",
    )
    w.paragraph()
    w.say(
        "Then the great evening came. There were [hundreds of faces|lights everywhere]. {h} could not move.",
        "The night of the {feast} arrived. {h} stepped out, and [{h.his} heart thumped like a drum|everything went quiet].",
    )
    w.say(
        "Then {h.he} saw {f} in the front row, holding up the spoon. {h} [took a breath|smiled] and began.",
        "{f} [winked|nodded]. So {h} looked only at {f}, and began, softly at first.",
    )
    w.say(
        "There was one wrong note. {h} went on, and [nobody minded|it made no difference].",
        "The {acting} grew stronger and freer, and people [leaned forward|forgot their cakes].",
    )
    w.say(
        "When it was over, there was a silence. Then the clapping began, and it would not stop.",
        '"More! More!" everybody shouted, and [hats flew into the air|somebody wept into a handkerchief].',
    )
    glad(w)
    ending(
        w,
        "courage",
        '"Were you afraid?" {f.asked}. "Terribly," {h.replied}. "May I do it again tomorrow?"',
        "And the next year {h} [asked to go first|helped another shy one to begin].",
    )


def sleepless(w: World) -> None:
    """Write of a sleepless night."""
    h = w.hero()
    w.home()
    w.set_day(time="evening")
    w.elder(h, "mother", "father", "grandmother", "grandfather")
    w.sibling(h) if w.chance(0.4) else None
    opening(w)
    w.say(
        "{day}, {h} could not sleep. {h.he} turned to the left, {h.he} turned to the right, and [the pillow was too hot|the bed "
        "was full of crumbs].",
        "{day}, {h} lay awake and looked at the dark. The dark looked back.",
    )
    w.say(
        "Something [creaked|ticked|scratched] behind the [wall|cupboard|curtain]. What could it be?",
        "The shadow on the wall looked like [a crocodile|a giant's hand|a wolf with a hat].",
    )
    w.paragraph()
    w.say(
        "{h} counted sheep. At [ninety-nine|forty], one of them [stopped and asked the way|refused to jump], and that was the end of that.",
        "First {h} drank a glass of water. Then, of course, {h.he} had to get up again.",
    )
    w.say(
        "Then {h.he} hummed a tune, but it was a [marching|dancing] tune and made {h.his} feet twitch.",
        "Then {h.he} hid under the blanket, where it was [stuffy|darker still].",
        "Then {h.he} tried to sleep with {h.his} head at the other end. Now {h.his} feet were [lonely|cold].",
    )
    if "f" in w.cast:
        w.say(
            '"Are you awake?" {h.whispered}. "[No|Not at all]," {f.replied}. "I cannot sleep either."',
            '"Stop wriggling," {f.sighed} from the other bed. "I cannot sleep if you cannot."',
        )
    w.say(
        'At last {h} crept out of bed and went to {g}. "I am afraid of the [dark|noises]," {h.said}.',
        '"{g.call}?" {h.whispered} at the door. "The night is so [big|long]."',
    )
    w.paragraph()
    w.say(
        '{g} did not laugh. "Come," {g.said}, "let us go and meet the night." They wrapped themselves in [a blanket|a big '
        "shawl] and stepped outside.",
        '"Then let us see what it is made of," {g.said}, and opened the [window|door].',
    )
    w.say(
        '"Listen," {g.said}. "That [creak|tick] is the old [gate|house]. It stretches, as you do. That whisper is the wind '
        '[going home|tucking in the leaves]."',
        'They heard an owl. "She has the night shift," {g.said}. "Somebody is always awake to look after things."',
    )
    w.say(
        "{h} looked up. There were [more stars than {h.he} could count|the moon and one bright star], and it was not really dark at all."
        if w.weather in ("sunny", "windy")
        else "A small lamp glowed [across the way|in a far window]. Somebody else was awake, too. The dark was not so empty after all.",
        "And the shadow? It was only [a coat on a hook|a branch|the broom]. {h} waved at it, and it did no harm.",
    )
    w.paragraph()
    w.say(
        '{h} yawned. "The night is [quite friendly|rather nice]," {h.whispered}.',
        '"Good night, gate. Good night, wind," {h.whispered}.',
        "{h} leaned against {g}, and {h.his} eyes grew heavy.",
    )
    w.say(
        "{g} carried {h.him} back to bed, and {h.he} was asleep before {h.his} head touched the pillow.",
        "Soon the only sound in the room was [a small snore|quiet breathing]."
        if "f" not in w.cast
        else "Soon there were two small snores in the room.",
    )
    w.maybe(
        0.5,
        'Since then, when something creaks, {h} says, "Sleep well, old house," and turns over.',
        "In the morning {h} could not remember what had been so frightening.",
    )
    w.paragraph()


def wish(w: World) -> None:
    """Write of a journey away from home and of the return."""
    w.hero()
    w.home()
    w.place("q", [site for site in HOMES if site.noun != w.cast["p"].forms["n"]])
    w.helper("fly")
    opening(w)
    w.say(
        'Yet {h} was not content. "Here everything is always the same," {h.sighed}. "I want to see {q.a}."',
        "{h} had heard of {q.a}, with {q.sight} and {q.sight2}. How dull it was at home!",
    )
    w.say(
        "So {day}, {h.he} packed [a bundle|a small bag] and set off.", "{day}, {h.he} left a note on the table and slipped out of the door."
    )
    scene(w)
    w.paragraph()
    w.say(
        "The road was longer than {h} had thought. {h.his} feet [hurt|were sore], and the [bread|cheese] was gone by noon.",
        "{h} walked and walked. {h.he} slept [under a hedge|in a haystack] and woke with [hay|a beetle] in {h.his} ear.",
    )
    w.say(
        "At last {h} came {q.to}. There were {q.sight} indeed, and {q.sound}. It was [splendid|marvellous], for an hour."
        "At last {h} stood before {q}, and it was all just as [people had told|{h.he} had dreamed].",
        "At last there it was, {q}! Everything was new. {h} looked and looked until {h.his} neck hurt.",
    )
    w.say(
        'But nobody knew {h.him} there. "Out of the way!" someone shouted. Nobody [said good morning|asked {h.his} name].',
        "But when evening came, every window had a light, and none of them was for {h.him}.",
    )
    sad(w)
    w.paragraph()
    w.say(
        'On a [post|wall|low roof] sat {x.an}. "You look [homesick|lost]," {x.said}. "What do you miss?"',
        '"Why do you [sigh|look so sad]?" asked {x.an}. "I have flown over many lands. Tell me about yours."',
    )
    w.say(
        '{h} thought. "The way [it smells after rain|the light falls on {p.sight}]," {h.said}. The more {h.he} told, the lovelier it grew.',
        '"{p.sight}," {h.said}, "and {p.sight2}. And the [third step, which creaks|smell of soup at six o\'clock]."',
    )
    w.say(
        '"Then it was worth the journey," {x.said}. "Sometimes one must go away to see what is at home." And {x.he} showed '
        "{h.him} the shortest way.",
        '"That sounds like a place worth flying to," {x.said}. "Come, I will show you the way."',
    )
    w.paragraph()
    w.say("When {h} saw {p} again, {h.he} began to run.", "Two days later {h} stood {p.in} again. It had never looked so fine.")
    w.say("Nothing had changed, and everything was [new|just right].", "There was a light in the window, and this one was for {h.him}.")
    glad(w)
    ending(
        w,
        w.pick(("kindness", "care")),
        "{h} still goes on journeys now and then. But {h.he} always [leaves a lamp burning|comes home for supper].",
        '"Was it beautiful there?" everyone asked. "Very," {h.said}. "But it did not have you."',
    )


PLOTS = (song, sleepless, wish)
