"""Plots about rescue: the ill, the trapped, the lost child."""

from __future__ import annotations

from ..animals import ANIMALS
from ..beats import ending, glad, opening, sad, scene, thanks
from ..places import SITES
from ..world import World


def healing(w: World) -> None:
    """Write of an illness and of the way to the remedy."""
    h = w.hero()
    w.home()
    w.elder(h, "mother", "grandmother", "grandfather", "father")
    w.cast["remedy"], w.cast["use"] = w.pick(
        (
            ("silver moss", "brewed it into tea"),
            ("elderflowers", "boiled them with honey"),
            ("yellow fever root", "ground it into powder"),
            ("wild thyme", "made a thick syrup"),
            ("snow berries", "pressed out the juice"),
            ("water from the singing spring", "warmed it on the stove"),
            ("blue mint", "crushed the leaves in hot milk"),
            ("moon clover", "stirred it into broth"),
            ("pine honey", "mixed it with lemon"),
        )
    )
    w.place("q", [site for site in SITES if site.ground in ("wild", "shore") and site.noun not in ("savanna", "prairie", "campsite")])
    w.set_day(weather=w.pick(("rainy", "foggy", "windy", "snowy", "cloudy")))
    opening(w)
    w.say(
        "{day}, {g} did not get up. {g.his} [forehead was as hot as a stove|cough shook the bed|hands were as cold as frogs].",
        "{day}, {h} found {g} in bed, pale and [shivering|too weak to talk].",
    )
    w.say(
        '"I need {remedy}," {g.whispered}. "But [that is only to be had|one has to look for that] {q.in}, and it is [far|a long way]."',
        '"Only {remedy} would help," {g.whispered}, "and the nearest is {q.in}, far from here."',
    )
    w.say(
        '"Then I will go," {h.said}, and [put on {h.his} warmest coat|packed a crust of bread|took the lantern].',
        "{h} did not [wait|think twice]. {h.he} took [a basket|a flask] and set out.",
    )
    w.paragraph()
    scene(w)
    w.say(
        "The way led [uphill and down|past {q.sight}|over slippery stones]. On the way, {h} sang to keep up {h.his} courage.",
        "{h} walked until {h.his} legs ached. There were {q.sight} and {q.sight2}, but not what {h.he} was looking for.",
    )
    w.say(
        "First {h} took a wrong turn and [ended up where {h.he} had started|stood in front of a thorny hedge].",
        "{h} [filled the basket|picked a handful], but when {h.he} looked closely, it was only [common nettles|plain grass].",
        "Then {h} [slipped|stumbled], and {h.his} lantern [went out|rolled away].",
    )
    sad(w) if w.chance(0.5) else None
    w.helper(w.pick(("fly", "dig", "climb")))
    w.say(
        '"[Are you lost|What are you looking for]?" asked {x.an}. {h} told the whole story. "My own [mother|child] was ill '
        'last year," {x.said}. "Follow me."',
        'On a stone sat {x.an}. "You look [tired|worried]," {x.said}. When {h} explained, {x} nodded. "I know where to look."',
    )
    w.say(
        "{x} led {h.him} [behind a waterfall|through a gap in the rocks|around three bends], and there was {remedy}, [as much "
        "as anyone could need|just as {g} had described it].",
    )
    w.say('"Take only what you need," {x.said}, and {h} did.', '"Now hurry home," {x.said}.')
    w.paragraph()
    w.say("{h} ran all the way back and {use}.", "At home {h} {use}, and [{g} drank it|{g} took it], spoon by spoon.")
    w.say(
        "All night {h} sat beside the bed [and held {g.his} hand|with a cool cloth]. In the morning {g} [opened {g.his} "
        "eyes|sat up] and asked for [pancakes|toast|an egg].",
        "By the next day the fever was gone. By the day after, {g} was [complaining about the dust|humming in the kitchen].",
    )
    glad(w)
    ending(
        w,
        "kindness",
        '"I had the best [nurse|doctor] in the world," {g.said}.',
        "And {h} [took a pie to|baked a cake for|never forgot] {x}, who had shown {h.him} the way.",
    )


def trapped(w: World) -> None:
    """Write of a small creature that the hero frees and that later helps the hero."""
    h = w.hero()
    w.home()
    x = w.helper("small")
    x.forms["an"] = f"a {w.pick(('tiny', 'small', 'frightened', 'young'))} {x.kind}" + (f" named {x.name}" if x.name else "")
    x.forms["call"] = x.name or f"little {x.kind}"
    opening(w)
    w.cast["trap"] = w.pick(
        (
            "a tangle of fishing line",
            "a bramble bush",
            "an old bottle",
            "a forgotten net",
            "a hollow pipe",
            "a rusty can",
            "a crack in the ice" if w.weather == "snowy" else "a hole in the fence",
        )
    )
    w.say(
        "{day}, {h} heard a [faint|thin|small] cry. It came from {x.an}, stuck in {trap}.",
        "{day}, on the way [home|to the well], {h} came upon {x.an}, caught in {trap}.",
    )
    scene(w)
    w.say(
        '"[Help|Please do not hurt me]!" {x.cried}. "[Hold still|Do not be afraid]," {h.said}.',
        '"I have been here [since yesterday|all night]," {x.whispered}. "Nobody stopped." "I have," {h.said}.',
    )
    w.say(
        "{h} pulled, but that only made things worse. So {h.he} [worked slowly, bit by bit|used a stick, and a great deal of "
        "patience], until {x} was free.",
        "It was not easy. {h} [scratched {h.his} hands|got a splinter|pinched {h.his} thumb], tried once, tried twice, and at "
        "last {x} came loose.",
    )
    w.say(
        '"One day I will help you," {x.said}. {h} laughed. How could someone so small help {h.him}?',
        '"I will not forget this," {x.said}, and was gone.',
    )
    w.paragraph()
    w.say("[Some weeks went by|Summer passed|A month went by], and {h} forgot about it.", "The days passed.")
    case = w.pick(("lost", "pit", "river", "key"))
    w.say(
        *{
            "lost": (
                "Then one evening {h} lost {h.his} way. [Every path looked the same|It grew darker and darker], and nobody "
                "answered {h.his} calls.",
            ),
            "pit": (
                "Then, one afternoon, the ground gave way, and {h} fell into a deep pit. The walls were [smooth|steep], and "
                "{h.he} slid back each time {h.he} tried to climb.",
            ),
            "river": (
                "Then, one day, {h} climbed onto a little island to pick flowers, and the water rose. Soon {h.he} could not get back.",
            ),
            "key": (
                "Then, one cold evening, {h} shut the door behind {h.him}, with the key inside. {h.he} rattled and knocked, "
                "but nobody was home.",
            ),
        }[case]
    )
    sad(w)
    w.say(
        '"Help!" {h.cried}. "I am here," said a small voice. It was the {x.kind}!',
        'Something [rustled|stirred]. "Do you remember me?" {x.asked}.',
    )
    w.paragraph()
    fly = x.animal is not None and "fly" in x.animal.skills
    w.say(
        *{
            "lost": ("{x} went ahead and [called out|waited] at every turn, and {h} followed until the lights of home came into view.",),
            "pit": ("{x} [fetched|called] all {x.his} family. Together they dragged a long branch to the edge, and {h} climbed out.",),
            "river": ("{x} [gathered|called] {x.his} cousins. They pushed a floating log to the island, and {h} rode it home like a king.",)
            if h.gender == "m"
            else ("{x} [gathered|called] {x.his} cousins. They pushed a floating log to the island, and {h} rode it home like a queen.",),
            "key": ("{x} flew in through the chimney and came back, black with soot, with the key.",)
            if fly
            else ("{x} squeezed in under the door and came back, dragging the key behind {x.him}.",),
        }[case]
    )
    thanks(w, "x")
    ending(
        w,
        "kindness",
        '"I said that I would not forget," {x.said}.',
        "{h} never again [laughed at|looked down on] anyone for being small.",
        "They had [tea|supper] together after that, every [Sunday|week].",
    )


def little_one(w: World) -> None:
    """Write of a lost child that the hero brings home."""
    w.hero()
    w.home()
    c = w.beast(
        [
            a
            for a in ANIMALS
            if a.kind in ("duckling", "lamb", "kitten", "piglet", "bear cub", "wolf cub", "puppy", "lion cub", "chipmunk", "koala")
        ],
        named=True,
        adjective="lost",
    )
    w.cast["c"] = c
    c.forms[""] = f"the {c.kind}"
    c.forms["s"] = f"the {c.kind}'s"
    opening(w)
    w.say(
        "{day}, {h} heard someone crying behind [a barrel|a stump|a wall]. It was a very young {c.kind}, all alone.",
        "{day}, {h} nearly tripped over a very young {c.kind}, [curled up like a ball|with a tear on each cheek].",
    )
    scene(w)
    w.say(
        '"I [only followed a butterfly|only stopped to smell a flower|let go of my mother\'s tail]," {c.sighed}, "and then '
        'everyone was gone."',
        '"I want my mama," {c.whispered}.',
    )
    if w.invents:
        w.cast["name"] = c.name
        w.say(
            '"What is your name?" {h.asked}. "{name}." "Then come, {name}. We will find her."',
            '"Tell me your name," {h.said}. "{name}," {c.whispered}. "{name}? That is a fine name. Come, {name}!"',
        )
        c.forms.update({"": (c.name, c.name, f"the {c.kind}"), "s": f"{c.name}'s"})
    else:
        _ask(w, c.name)
    w.paragraph()
    w.say(
        "First they asked at the [mill|well|inn], but nobody there had seen a mother {c.kind}."
        if c.kind in ("wolf cub",)
        else "First they asked [an old goat|a beetle|two quarrelling crows|a hen with a basket], who knew nothing and [talked a "
        "great deal|pointed the wrong way]."
    )
    w.say(
        "Then they followed some tracks, but these led only to [a puddle|a pair of old boots|a very cross goose].",
        "Then they climbed up high and called, but only the echo answered.",
    )
    w.say(
        "{c} began to cry again, so {h} [carried {c.him}|gave {c.him} the last bite of bread|sang a silly song] until {c.he} "
        "[smiled|hiccuped and stopped].",
        '"I am tired," {c.sighed}. So {h} took {c.him} on {h.his} back.',
    )
    w.say(
        "{h} was getting worried, too, but {h.he} did not show it.",
        "It was growing late, and {h} was afraid, but {h.he} held on tight to the little one.",
    )
    w.paragraph()
    w.say(
        '"What did you hear this morning, when you woke?" {h.asked}. "[Water|Bells|The wind in the wheat]," {c.replied}. '
        '"And I smelled [mint|smoke|apples]."',
        'Then {h} had a better idea. "Close your eyes," {h.said}. "What does home sound like?" "Like [water over '
        'stones|a creaking wheel|bees]," {c.replied}.',
    )
    w.say(
        "{h} knew a place like that! They hurried along the [hedge|stream|wall], and there stood a mother, calling and calling.",
        "So they [stood still|listened]. There it was, faint and far! They followed the sound, and a mother came running.",
    )
    w.say(
        '"Mama!" {c.cried}, and vanished into her arms.',
        "Mother and child [tumbled over each other|held each other so tightly that nobody could tell them apart].",
    )
    glad(w)
    ending(
        w,
        "kindness",
        '"You brought me my whole world," the mother said to {h}.',
        "{c} waved until {h} was out of sight.",
        "After that {c} [visited|came to play] every week, and never let go of {c.his} mother on the way.",
    )


def _ask(w: World, name: str) -> None:
    """Add a question about the mother or the name of the lost child."""
    w.say(
        '"We will find her," {h.said}. "What does she look like?" "Like a mama," {c.replied}. "Only bigger."',
        '"What is your name?" {h.asked}. "{c.name}." "Then come, {c.name}. We will find her."'.replace("{c.name}", name),
    )


PLOTS = (healing, trapped, little_one)
