"""Plots about things: lost, borrowed, given, promised, blamed for, stuck."""

from __future__ import annotations

from ..beats import ending, glad, opening, sad, scene, thanks
from ..places import SPOTS
from ..things import BREAKABLES, CLOTHES, TOOLS, TOYS, TREASURES
from ..world import World

# Skills that reach each sort of spot.
SKILL = {"high": ("fly", "climb"), "wet": ("swim",), "deep": ("dig",), "heavy": ("strong",)}
FAILED = {
    "high": (
        "{h} jumped as high as {h.he} could, but {t} [hung far above {h.him}|did not come any nearer].",
        "{h} threw [a stick|a pine cone|an old shoe] at {t}. It missed and [came down on {h.his} own head|was gone too].",
        "{h} tried to climb up, but [halfway there {h.his} foot slipped|the higher {h.he} went, the more {h.his} knees "
        "shook], and down {h.he} came.",
    ),
    "wet": (
        "{h} reached out with a stick, but the stick was [much too short|not half long enough].",
        "{h} put one foot into the water. It was so [cold|deep] that {h.he} [jumped straight back|had to turn around].",
        "{h} tried to [splash|blow] {t} to the edge, but that only [pushed {t.it} farther off|made {h.him} wet to the ears].",
    ),
    "deep": (
        "{h} [stretched out an arm|reached in as far as {h.he} could], but {h.he} could only touch {t} with the tip of one nail.",
        "{h} poked about with a [twig|straw|stick]. {t} only slid [farther down|deeper].",
        "{h} lay down flat and [pulled and scratched|tugged], but {h.he} came up with [nothing but dirt|only a snail and a cobweb].",
    ),
    "heavy": (
        "{h} pushed with all {h.his} might. [Nothing moved|Nothing happened], not even by a finger's width.",
        "{h} leaned against it, counted to three and heaved. {h.he} slid down and [sat in the mud|landed on {h.his} bottom].",
        "{h} pulled at one end until {h.his} arms ached, but it was [ten times too heavy|as heavy as a house].",
    ),
}
FETCHED = {
    "fly": (
        "{x} spread {x.his} wings, flew up in a circle and [came back with {t}|carried {t} down].",
        "With three beats of {x.his} wings {x} was there. {x.he} picked up {t} in {x.his} beak and [glided back|dropped "
        "{t.it} gently at {h.s} feet].",
    ),
    "climb": (
        "{x} went up, quick and sure, as if it were a staircase, and came down with {t}.",
        "{x} climbed up [without a sound|humming to {x.self}], reached out and [tossed|handed] {t} down to {h}.",
    ),
    "swim": (
        "{x} slid into the water with hardly a splash. A moment later {x.he} came back, pushing {t} in front of {x.him}.",
        "{x} took a deep breath and dived. [Bubbles rose|The water grew still]. Then {x} came up with {t}, [dripping|shaking "
        "water from {x.his} head].",
    ),
    "dig": (
        "{x} began to dig. Earth flew [left and right|in every direction], and soon {x} backed out with {t}.",
        "{x} scratched and scraped and burrowed until only {x.his} back end could be seen. Then {x.he} [wriggled|crept] out, holding {t}.",
    ),
    "strong": (
        "{x} set {x.his} shoulder against it and [gave one mighty push|pushed]. It rolled aside, and there was what {h} had "
        "been looking for.",
        "{x} lifted it as if it weighed no more than [a pancake|a pillow], and {h} [crawled under|reached in] and pulled {t} out.",
    ),
}


def lost(w: World) -> None:
    """Write of a lost thing that is found out of reach and fetched by a helper."""
    h = w.hero()
    w.home()
    g = w.elder(h) if w.chance(0.7) else None
    w.thing(w.pick((TOYS, TOYS, TREASURES, CLOTHES)), owner=h)
    opening(w)
    w.cast["where"] = w.pick(
        ("in the grass", "under the bed", "behind the stove", "in every pocket", "along the whole path", "under the bench")
    )
    if g:
        w.say(
            "{h.s} greatest treasure was {t.full}. {g} had made {t.it} for {h.him}.",
            "{h} had {t.full}, a present from {g}, and [took {t.it} everywhere|never went out without {t.it}].",
        )
    else:
        w.say(
            "Of all {h.his} things, {h} loved {t.a} the most. {h.he} had [saved up|worked] for {t.it} [a whole summer|all winter].",
            "{h} [owned|had] {t.full}, and [there was nothing {h.he} loved more|{h.he} would not have swapped {t.it} for a palace].",
        )
    w.say(
        "But {day}, {t} {t.was} gone.",
        "{day}, {h} reached for {t}, and {t.they} {t.was} not there!",
        "Then, {day}, something dreadful happened: {t} {t.was} nowhere to be found.",
    )
    scene(w)
    w.paragraph()
    w.say(
        "{h} looked {where}. {h.he} looked [in the teapot|in {h.his} left shoe|under the doormat]. No {t.n}!",
        "{h} searched {where}, and then searched all over again. {t} {t.was} not there.",
        "First {h} looked {where}, and then [in all the places where {h.he} had never been|in the bread bin, just in case].",
    )
    sad(w)
    if g and w.chance(0.7):
        w.say(
            '"Where did you last have {t.it}?" {g.asked}. "[Think back|Go back], step by step."',
            '"Crying finds nothing," {g.said}. "[Walking back the way you came|Looking] often does."',
        )
    kind = w.pick(tuple(SPOTS))
    ground = w.cast["p"].site.ground
    w.cast["spot"] = w.pick(SPOTS[kind][ground])
    w.say(
        "So {h} went back the way {h.he} had come. And there, {spot}, [{t.was} {t}|{h.he} saw {t}]!",
        "At last {h} saw {t}. {t.they} {t.was} {spot}.",
        "[After a long search|Just as {h.he} was giving up], {h} spotted {t} {spot}.",
    )
    w.paragraph()
    _fetch(w, kind)
    ending(
        w,
        w.pick(("help", "care")),
        "{h} carried {t} home and [put {t.it} beside {h.his} pillow|found {t.it} a safe new place|told {t.it} the whole story].",
        "That [night|evening], {h} found a special box for {t.it} so that {t} would never get lost again.",
    )


def _fetch(w: World, kind: str) -> None:
    """Add one or two failures, a helper, and the return of the thing."""
    w.say(*FAILED[kind])
    w.maybe(0.4, *FAILED[kind])
    skill = w.pick(SKILL[kind])
    w.helper(skill)
    w.say(
        'Just then {x.an} came along. "Why [so sad|the long face]?" {x.asked}. "My {t.n} {t.is} {spot}," {h.sighed}.',
        '"[What are you doing|Do you need some help]?" asked a voice. It was {x.an}. {h} [explained everything|pointed without a word].',
        '{x.an} had been watching [all the time|from the shade]. "May I try?" {x.asked}. "Oh, please," {h.replied}.',
        '{h} looked around and saw {x.an}. "[Excuse me|Please], [can you help me|could you lend me a hand]?" {h.asked}. '
        '"[Of course|Gladly]," {x.replied}.',
    )
    w.say(*FETCHED[skill])
    w.paragraph()
    glad(w)
    thanks(w, "x")


def stuck(w: World) -> None:
    """Write of a toy out of reach that a tool and a friend bring down."""
    h = w.hero()
    w.home()
    w.set_day(weather="windy")
    w.friend(h) if w.chance(0.5) else w.sibling(h)
    w.thing(tuple(make for make in TOYS if make.noun in ("kite", "balloon", "paper windmill", "glider", "ball", "hoop")))
    w.thing(TOOLS[:5], "tool")
    opening(w)
    w.say(
        "{day}, {h} and {f} [ran outside|went out] with {t.full}.",
        "{h} and {f} had [made|bought|found] {t.a}, and {day} they wanted to [try {t.it} out|play with {t.it}].",
    )
    scene(w)
    w.say(
        '"[Higher|Faster|Once more]!" {f.cried}. {h} ran and ran.',
        '"My turn!" {f.said}. "Not yet!" {h.replied}, and ran faster.',
        "They took turns, and {t} [whirled|sailed|skipped] through the air.",
    )
    w.say(
        "Suddenly a gust [snatched|grabbed] {t} and carried {t.it} away.",
        "Then the wind [gave a great puff|turned around], and off went {t}.",
    )
    ground = w.cast["p"].site.ground
    w.cast["spot"] = w.pick(SPOTS["high"][ground])
    w.say("When they caught up, {t} {t.was} {spot}.", "{t} [came to rest|got stuck|stopped at last] {spot}.")
    w.paragraph()
    w.say(*FAILED["high"])
    w.say(
        '"[That is your fault|You let go]!" {f.snapped}. "[It is the wind\'s fault|It was the wind]," {h.replied}. Neither '
        "of them laughed.",
        '"We will never get {t.it} back," {f.sighed}.',
        '"We must wait for another gust," {f.sighed}, and they waited, but the wind had gone to sleep.',
    )
    w.paragraph()
    w.say(
        "Then {h} had an idea. {h.he} fetched {tool.full} from [the shed|home|a neighbour].",
        '"I know!" {h.cried}. {h.he} dashed off and came back with {tool.full}.',
    )
    w.say(
        "{f} [stood on {h.s} shoulders|climbed on a barrel], and {h} held tight. With {tool}, {f} could just reach. One tug, "
        "and {t} came loose!",
        "It took [three tries|a long stretch and a little luck], and some help from {f}, but with {tool} they "
        "[freed|loosened] {t} at last.",
    )
    w.say("{t} [floated|dropped|sank] right into {f.s} arms.", "Down came {t}, with [a leaf on top|hardly a scratch].")
    glad(w)
    ending(
        w,
        "help",
        "They played until [the light faded|their cheeks were red|they were called in], and this time they [held on "
        "tight|stayed well away from anything tall].",
        '"[Your turn now|You first]," {h.said}, and {f} [laughed|took {t} and ran].',
        together=True,
    )


def borrowed(w: World) -> None:
    """Write of a borrowed thing that breaks, and of the confession."""
    h = w.hero()
    w.home()
    n = w.neighbour()
    t = w.thing(BREAKABLES, owner=n)
    opening(w)
    w.say(
        '{day}, {h} went to see {n.an}. "May I borrow your {t.n}?" {h.asked}. "[Yes, but be careful with|Certainly. Take '
        'good care of] {t.it}," {n.replied}.',
        "Not far away lived {n.an}, who owned {t.full}. {day}, {h} asked to borrow {t.it}, and {n} said [yes|that {h.he} might].",
    )
    t.holder = h
    w.say(
        "{h} promised. {h.he} [carried|took] {t} home as if {t.they} were made of [eggshells|sugar|snow].",
        '"I will bring {t.it} back before [dark|supper|the bells ring]," {h} promised.',
        "{h} was so proud that {h.he} showed {t} to everyone {p.in}.",
    )
    w.paragraph()
    w.say(
        "But then {h} [tripped over a root|slipped on a wet stone|turned too quickly|was chased by a goose], and {t} fell. Crack!",
        "But {h} was not looking where {h.he} was going. Bump! {t} hit [the wall|a post|a stone], and a piece broke off.",
        "All went well until {h} [sneezed|tried to carry too much at once|began to dance]. {t} slipped, fell and broke.",
    )
    t.broken = True
    sad(w)
    w.say(
        '"[Perhaps nobody will notice|I could say it was the cat|I will hide {t.it}]," {h.whispered}. {h.he} pushed {t} '
        "under [the bed|a bush|a heap of leaves].",
        "{h} tried to [tie|stick] the pieces together with [string|porridge|jam], but they fell apart again.",
        "At first {h} hid {t} in [the woodshed|a sack|the hay]. But {h.he} could not [eat|sleep|sit still], and [the soup "
        "tasted of nothing|every knock at the door made {h.him} jump].",
    )
    if w.chance(0.5):
        w.elder(h)
        w.say(
            '"You have not touched your [soup|supper]," {g.said}. Then the whole story came out. "[You know what to do|Go '
            'and tell]," {g.said}.',
            '{g} saw {h.his} face and asked what was wrong. {h} told everything. "[It will be hard for a minute|Tell the '
            'truth]," {g.said}. "[Then it will be better|The rest will follow]."',
        )
    w.paragraph()
    w.say(
        'So {h} [walked|went] back, very slowly, with {t} in {h.his} arms. "I broke {t.it}," {h.whispered}. "I am so sorry."',
        'At {n.s} door {h} took a deep breath. "I have to tell you something," {h.said}. "Your {t.n} broke, and it was my fault."',
    )
    w.say(
        '{n} was quiet for a [long moment|while]. "[I am sad about it|That was dear to me]," {n.said}. "But [I am glad you '
        'told me|you came yourself, and that counts for a lot]."',
        '"[Things break|I once broke a window with a turnip]," {n.said}. "What matters is that you came. Shall we mend {t.it} together?"',
        '{n} frowned, and then {n.his} face grew soft. "Thank you for being honest," {n.said}.',
    )
    w.say(
        "They worked with [glue and wire|a needle and thread|a hammer and tiny nails] until {t} {t.was} nearly as good as before.",
        "To make it good, {h} [swept {n.s} yard|watered {n.s} flowers|carried {n.s} firewood] for a week, and together they mended {t}.",
    )
    t.broken, t.holder = False, n
    ending(
        w,
        "honesty",
        'Only a thin [line|crack|scar] could still be seen. "Now {t.they} {t.has} a story," {n.said}.',
        "And the next time {h} wanted to borrow something, {n} [smiled and|did not hesitate and] said yes.",
        "{h} went home with [an empty hand and a light heart|a heart as light as a leaf].",
    )


PLOTS = (lost, stuck, borrowed)
