"""Plots about making and growing: a plant, a skill."""

from __future__ import annotations

from ..beats import ending, glad, opening, sad, scene
from ..things import SEEDS
from ..world import World


def growing(w: World) -> None:
    """Write of a seed that needs patience."""
    h = w.hero()
    w.home()
    w.elder(h) if w.chance(0.6) else w.neighbour("g")
    seed, w.cast["bloom"] = w.pick(SEEDS).split(":")
    w.cast["seed"] = seed
    w.set_day(weather=w.pick(("sunny", "windy", "cloudy", "rainy")), time=w.pick(("morning", "day")))
    opening(w)
    w.say(
        '{day}, in spring, {g} gave {h} a {seed} seed. "It needs earth, water, light," {g.said}, "and [time|one more thing: patience]."',
        '{day}, in early spring, {h} found a seed in [a drawer|an old coat|the dust]. "A {seed} seed," {g.said}. "Plant it and see."',
    )
    w.say(
        "{h} dug a hole, put the seed in and [patted the earth flat|wished it good night].",
        "So {h} planted it [by the wall|beside the steps|in a cracked pot], and sat down to wait.",
    )
    w.paragraph()
    w.say(
        "The next morning {h} looked. Nothing! The morning after that, still nothing.",
        "{h} looked after an hour. {h.he} looked after two. There was [nothing to see|only brown earth].",
    )
    w.say(
        '"Grow!" {h.cried}. {h.he} [sang to it|shouted at it|read it a story]. The earth stayed as it was.',
        "{h} gave it a whole bucket of water, and then another, until there was [a puddle|a small lake].",
        "{h} dug it up to see whether it had grown, and had to plant it all over again.",
    )
    w.say(
        '"It is broken," {h.sighed}. "It is busy," {g.replied}. "[It is making roots|You cannot see the first part]."',
        '"Seeds do not hear shouting," {g.said}. "A little water every day. And then leave it in peace."',
    )
    w.say(
        "So {h} gave it [one cup|a little] of water a day, no more, and [pulled out the weeds|kept the snails away].",
        "{h} learned to wait. {h.he} [whittled a label|painted the pot|counted swallows] meanwhile.",
    )
    w.paragraph()
    w.say(
        "Then, one morning, there was a [green|pale green] tip, no bigger than a [mouse's ear|fingernail]!",
        "And one day the earth cracked, and a tiny shoot [peeped out|lifted its head].",
    )
    if w.chance(0.6):
        w.say(
            "A late frost came. {h} [put {h.his} own hat over the plant|covered it with straw] and [sat beside it until "
            "dawn|hardly slept].",
            "Then a storm bent it to the ground. {h} tied it gently to a stick.",
            "A hungry [snail|caterpillar] came by. {h} carried it to the far end of the [nettles|field], where it liked things "
            "just as well.",
        )
    w.say(
        "It grew [taller and taller|leaf by leaf], as high as {h.s} knee, as high as {h.s} nose.",
        "Week after week it grew, and so, a little, did {h}.",
    )
    w.say(
        "And in [summer|the long days of July] it was ready at last: {bloom}.",
        "At last, one fine day, {h} came out, stood still and saw {bloom}!",
    )
    glad(w)
    ending(
        w,
        "patience",
        '{h} saved [some new seeds|new seeds in an envelope] and gave one to [a friend|a small cousin|{g}]. "It needs time," {h.he} said.',
        '"You see?" {g.said}. "It was busy all along."',
    )


def craft(w: World) -> None:
    """Write of learning a skill: two failures, then success."""
    h = w.hero()
    w.home()
    w.elder(h) if w.chance(0.5) else w.neighbour("g")
    w.cast["skill"], w.cast["first"], w.cast["second"], w.cast["trick"], w.cast["done"] = w.pick(
        (
            (
                "bake bread",
                "The loaf came out as flat as a plate.",
                "The second loaf was as hard as a brick, and the ducks would not touch it.",
                "Let the dough rest",
                "the crust was golden, and the whole house smelled of heaven",
            ),
            (
                "swim",
                "{h} sank like a stone and came up with weeds on {h.his} head.",
                "Next {h} splashed so hard that everyone else left.",
                "Lie on the water as if it were a bed",
                "{h} floated, and then glided from one side to the other",
            ),
            (
                "knit",
                "The scarf was wide at one end and thin at the other.",
                "The next one tangled around a chair, and had to be cut free.",
                "Hold the yarn loosely",
                "a soft warm hat with only one hole in it lay on the table",
            ),
            (
                "whistle",
                "Only air came out, and a few crumbs.",
                "After that {h} blew until {h.his} cheeks hurt, and there was nothing but a hiss.",
                "Make your mouth as small as a pea",
                "a clear high note flew out, and a blackbird answered",
            ),
            (
                "carve",
                "The horse had five legs.",
                "The second horse looked more like a potato.",
                "Look for the shape that is already in the wood",
                "a small wooden horse stood there, with its head up as if it could hear the wind",
            ),
            (
                "read",
                "The letters hopped about like fleas.",
                "Then {h} mixed up every b and d, and a bog barked in the story.",
                "Put your finger under each word",
                "the letters stood still, and {h} read a whole page about a pirate",
            ),
            (
                "ride a bicycle",
                "{h} rolled three steps and landed in the hedge.",
                "The second time {h} met a lamppost.",
                "Look ahead and not at your feet",
                "{h} was riding, all alone, with the wind in {h.his} face",
            ),
            (
                "tie a sailor's knot",
                "It came undone at once.",
                "Then {h} tied {h.his} own thumb to the chair.",
                "Think of a rabbit that goes around a tree and back into its hole",
                "the knot was tight and true, and it held a whole boat",
            ),
            (
                "fly a kite",
                "The kite nosedived into the cabbages.",
                "Next it chased a cow across the field.",
                "Wait for the wind to ask you",
                "the kite stood high up, as still as a star",
            ),
            (
                "skate",
                "{h} sat down, hard, eleven times.",
                "Then {h} slid backwards into a snowman.",
                "Bend your knees and trust the ice",
                "{h} was gliding, with long quiet strokes, and even made a turn",
            ),
            (
                "make a clay bowl",
                "It slumped like a tired hat.",
                "The second one flew off the wheel and stuck to the wall.",
                "Keep your hands wet and your elbows still",
                "a round bowl stood there, thin and even, as if it had grown",
            ),
            (
                "play the trumpet",
                "It sounded like a cow with a cold.",
                "After that it sounded like two cows.",
                "Buzz like a bee first",
                "three notes came out, round and golden, and the dog stopped howling",
            ),
            (
                "weave a basket",
                "It had a bottom, but no sides.",
                "The next had sides, but the apples fell out below.",
                "Soak the willow first",
                "there stood a basket that could carry eggs, cats or a small brother",
            ),
            (
                "mend shoes",
                "One shoe was sewn to the apron.",
                "The second shoe had its heel at the front.",
                "Measure twice before you cut",
                "the old boots looked ready to walk around the world",
            ),
            (
                "cook soup",
                "It tasted of soap.",
                "The second soup was so salty that the spoon stood up and ran.",
                "Taste as you go",
                "the pot was scraped clean, and everyone asked for more",
            ),
        )
    )
    for key in ("first", "second", "trick", "done"):
        w.cast[key] = w.text(str(w.cast[key]))
    if w.cast["skill"] == "skate":
        w.set_day(weather="snowy")
    elif w.cast["skill"] in ("swim", "fly a kite"):
        w.set_day(weather="windy" if w.cast["skill"] == "fly a kite" else "sunny")
    opening(w)
    w.say(
        "More than anything, {h} wanted to learn to {skill}. {g} could do it [without looking|as easily as breathing].",
        '{day}, {h} saw how well {g} could {skill}. "Teach me!" {h.cried}.',
    )
    w.say(
        '"It [takes time|is not hard, but it is not quick]," {g.said}. "I have time until [supper|four o\'clock]," {h.replied}.',
        '"I can surely do that at once," {h.said}. {g} only smiled.',
    )
    w.paragraph()
    scene(w)
    w.say("{h} tried. {first}", "The first try was a disaster. {first}")
    w.say("{h} [frowned|gritted {h.his} teeth] and tried again. {second}", '"Once more," {h.said}. {second}')
    w.say(
        '"I will never learn it!" {h.cried}, and [stamped {h.his} foot|threw everything into a corner].',
        "{h} [hid behind the rain barrel|sat under the table] and did not want to come out.",
    )
    sad(w) if w.chance(0.4) else None
    w.paragraph()
    w.say(
        '"Do you know how often I [failed|got it wrong]?" {g.asked}. "A hundred times. I still have [the proof|a scar from it|a '
        'box full of bad ones]."',
        '{g} sat down beside {h.him}. "My first try was [worse|much worse]," {g.said}. "It frightened the neighbours."',
    )
    w.say('"{trick}," {g.said}. "That is the whole secret."', 'Then {g} showed {h.him} slowly, [three times|step by step]. "{trick}."')
    w.say(
        "{h} tried [every day|each evening] for [a week|two weeks|a month]. It went badly, then not so badly, then [almost "
        "well|nearly right].",
        "The next day it was a little better. The day after, a little worse. But {h} kept on.",
    )
    w.say("And then, on an ordinary [Tuesday|Thursday|Friday], {done}.", "Then, all at once, it happened: {done}.")
    w.paragraph()
    glad(w)
    w.say(
        '"I did it! Did you see?" {h.cried}. "I saw," {g.replied}, "[from the first day on|and I saw all the other times, too]."',
        "{g} did not say anything. {g.he} [lifted {g.his} hat|bowed], as one master does to another.",
    )
    ending(
        w,
        "patience",
        'Soon a small cousin came and asked how to {skill}. "It takes time," {h.said}.',
        "That evening {h} [told everyone about it twice|was too happy to eat].",
    )


PLOTS = (growing, craft)
