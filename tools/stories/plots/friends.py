"""Plots about others: quarrels, newcomers, strangers, the ill, the trapped, the small."""

from __future__ import annotations

from ..beats import ending, glad, opening, sad, scene
from ..places import HOMES
from ..things import FOODS, TOYS
from ..world import Dish, World


def quarrel(w: World) -> None:
    """Write a quarrel between friends over a trifle, and how they make up."""
    h = w.hero()
    w.home()
    f = w.friend(h) if w.chance(0.6) else w.sibling(h)
    w.thing(TOYS)
    w.cast["meal"] = Dish(w.fresh(FOODS))
    opening(w)
    w.say(
        '{day}, they found {t.full} [by the path|under a hedge|on the way home]. "I saw {t.it} first!" {h.cried}. "No, I did!" {f.cried}.',
        '{day}, {h} and {f} wanted to build [a fort|a dam|a tower]. "It must be round," {h.said}. "Square," {f.said}. And so it began.',
        "{day}, both of them wanted to be captain of the ship, and the ship was only {t.a} on [a bench|an old box].",
        "{day}, {h} laughed when {f} [slipped in the mud|sang out of tune|fell off the fence]. It was [not a kind laugh|the "
        "wrong sort of laugh].",
    )
    scene(w)
    w.say(
        '"You never listen!" {f.snapped}. "And you are [bossy|mean|as stubborn as a post]!" {h.snapped}.',
        "They pulled and pushed and shouted, until [the birds flew off|a pail tipped over|both had dirty faces].",
        "One word led to another, and each was [sharper|louder] than the last.",
    )
    w.say(
        '"I will never play with you again!" {h.cried}. "Good!" {f.replied}.',
        "{h} marched off to the left, and {f} marched off to the right.",
    )
    w.paragraph()
    w.say(
        "The next day {h} tried to play alone. But [the seesaw would not go|hide-and-seek was over at once|nobody laughed at the jokes].",
        "At first {h} felt [strong and right|very pleased with {h.self}]. Then {h.he} only felt [alone|empty].",
        "{h} [built a tower|ate lunch|drew a picture] alone. It was [not half so good|very quiet].",
    )
    w.say(
        "{f} was not happy either. {f.he} [sat on the wall|kicked a stone up and down|stared at the rain barrel] and "
        "[sighed|looked at {f.his} feet].",
        "From far off {h} could see {f}, who sat with {f.his} back turned. [That back looked sad|Neither of them waved].",
    )
    sad(w)
    if w.chance(0.5):
        w.elder(h)
        w.say(
            '"Which is bigger," {g.asked}, "your anger or your wish to play?" ^{h} did not have to think for long.',
            '"Somebody has to take the first step," {g.said}. "It [might as well be|could be] you."',
        )
    w.paragraph()
    w.say(
        "So {h} took {meal} and set off. [Halfway there|On the bridge|At the corner] {h.he} met {f}, who was carrying a gift as well.",
        "{h} [wrote SORRY in big letters with pebbles|whistled their secret tune] outside {f.s} window. A head popped out."
        if f.relation == "friend"
        else "{h} pushed a note under the door. On it was one word, SORRY. The door opened [a crack|slowly].",
    )
    w.say(
        '"I was [unkind|silly]," {h.said}. "So was I," {f.replied}. "Shall we start again?"',
        'Both of them said "I am sorry" at the very same time, and then they had to laugh.',
        '"I missed you," {h.whispered}. "I missed you more," {f.replied}. "No, I did!" And they [began to giggle|nearly quarrelled again].',
    )
    glad(w)
    ending(
        w,
        "friendship",
        "They shared {meal} and [could not remember who had been right|made a rule: no shouting before lunch].",
        "By evening [nobody knew what the quarrel had been about|they were playing as if nothing had happened].",
        together=True,
    )


def newcomer(w: World) -> None:
    """Write of a shy newcomer, and how the hero wins their trust."""
    h = w.hero()
    w.home()
    f = w.friend(h)
    f.relation = ""
    w.cast["talent"], w.cast["deed"], w.cast["cheer"] = w.pick(
        (
            ("draw with chalk", "drew a whole zoo on the ground, with a hippo in a bathtub", "Draw me next"),
            ("whistle like a nightingale", "whistled a tune so sweet that the birds fell silent", "Teach us that tune"),
            ("juggle", "juggled five pears and ate one of them without stopping", "Do it again"),
            ("tell stories", "told a story about a dragon who was afraid of mice", "Tell us another"),
            ("tie every knot there is", "tied a swing to the branch with a knot that would never slip", "Push me first"),
            ("walk on a rope", "walked along the washing line with a cup on the head", "Show us how"),
            ("make shadow pictures", "made a rabbit, a swan and a snapping crocodile out of shadows", "Make a camel"),
            ("skip stones", "skipped a flat stone nine times over the water", "Do that again"),
        )
    )
    far = w.pick([site for site in HOMES if site.noun != w.cast["p"].forms["n"]])
    w.cast["far"] = far.noun
    opening(w)
    w.say(
        "{day}, somebody new came {p.to}. It was {f.intro}, from a {far} far away.",
        "{day}, {f.intro} moved in next door, with [two suitcases|a bundle and a broken umbrella|a cart full of boxes].",
    )
    w.say(
        "The newcomer did not [speak|say a word]. {f.he} [stood by the fence|hid behind a barrel|sat apart] and watched the others play.",
        '"Why does {f.he} talk so [funnily|little]?" the others asked, and they [ran off to their games|turned away].',
        "When someone said hello, {f} [looked at {f.his} feet|turned pink|slipped away].",
    )
    w.paragraph()
    w.say(
        '{h} [remembered how it felt to be alone|could not stop thinking about it]. "Hello," {h.said}. "[Do you want to '
        'play|What is your name]?" But {f} ran away.',
        "{h} walked up and [talked and talked|asked eleven questions in a row]. It was too much. {f} backed away, and the "
        "door [closed|clicked shut].",
        '{h} shouted, "Come and play!" so loudly that {f} jumped and hid.',
    )
    sad(w) if w.chance(0.4) else None
    if w.chance(0.5):
        w.elder(h)
        w.say(
            '"A shy bird comes if you sit still," {g.said}.',
            '"[Do not pull at a bud|Slowly]," {g.said}. "Sit close by and [wait|do something nice]."',
        )
    w.say(
        "So the next day {h} sat down [nearby|two steps away] and said nothing at all. {h.he} [peeled an orange|shelled "
        "peas|drew in the dust] and left half of the bench free.",
        "The next morning {h} left [a pear|a bun|a bunch of daisies] on {f.s} doorstep, and the morning after that, too.",
    )
    w.paragraph()
    w.say(
        'After a while {f} came closer. "I can {talent}," {f.whispered}. "Would you like to see?"',
        'On the third day a small voice said, "Thank you." And then, "At home I used to {talent}." "Show me!" {h.cried}.',
    )
    w.say("And {f} {deed}.", "Then, with shaking knees, {f} {deed}.")
    w.say('The others came running. "{cheer}!" they shouted.', '"{cheer}!" cried [everyone|somebody]. They had all crept up to watch.')
    glad(w, "f")
    ending(
        w,
        "friendship",
        "From that day on {f} [belonged|was never left out], and {h} [had one more friend|learned to {talent}, more or less].",
        '"I was afraid that nobody would like me," {f.said}. "I was afraid that you did not like us," {h.replied}.',
        '"I am glad you [waited|sat down beside me]," {f.said}.',
    )


def stranger(w: World) -> None:
    """Write of a hungry stranger with whom the hero shares supper, and of the reward."""
    h = w.hero()
    w.home()
    w.cast["meal"] = Dish(w.fresh(FOODS))
    w.set_day(weather=w.pick(("rainy", "snowy", "windy", "foggy")), time="evening")
    w.elder(h, "mother", "father", "grandmother", "grandfather")
    gender = w.pick("fm")
    x = w.helper(w.pick(("fly", "walk")), is_stranger=True)
    x.gender = gender
    x.forms[""] = "the stranger"
    x.forms["s"] = "the stranger's"
    x.forms["call"] = "stranger"
    opening(w)
    w.say(
        "{day}, {h} and {g} sat down to supper. There was only {meal}, for it had been a [poor year|long winter].",
        "Food was scarce that season. {day}, all they had in the house was {meal}.",
    )
    scene(w)
    w.say(
        "Then there was a knock. Outside stood {x.an}, [wet to the skin|thin and shivering|covered with dust].",
        "[Tap, tap, tap|Knock, knock]! {h} opened the door [a crack|slowly]. There was {x.an} [with hollow cheeks|with a torn "
        "bundle|who could hardly stand].",
    )
    w.say(
        '"I have [walked|travelled] for three days," {x.said}. "Have you [a crumb|anything] to spare?"',
        '"Please," {x.whispered}, "I am so hungry, and every other door was shut."',
    )
    w.paragraph()
    w.say(
        '{h} looked at {meal}. {h.his} own stomach [growled|grumbled]. "There is hardly enough for us," {h.he} thought.',
        '"There is so little," {h.whispered}. {g} said nothing and waited to see what {h} would do.',
        "At first {h} wanted to [shut|close] the door. {h.he} was hungry, too!",
    )
    w.say(
        'But the stranger\'s [eyes were so tired|hands were so cold] that {h} stepped aside. "[Come in|Sit by the fire]," '
        '{h.said}. "We will share."',
        'Then {h} [fetched a third plate|pulled up another chair]. "If we cut it small, it will be enough for three," {h.said}.',
    )
    w.say(
        "They divided {meal} into three parts, and {h} took the smallest.",
        "So they ate {meal} together, slowly, [to make it last|and told each other riddles].",
    )
    w.paragraph()
    w.say(
        'When the plates were clean, the stranger [looked up|smiled for the first time]. "I have no money," {x.said}, "but '
        '[I know things|I can pay in another way]."',
        'In the morning the stranger was gone, and the blanket lay folded on the chair. "Not even a goodbye," {h.sighed}. But '
        "that was not all.",
    )
    w.say(
        *w.pick(
            (
                (
                    "On the table lay a letter. It told of a place [behind the mill|under the birches] where mushrooms grew as "
                    "thick as grass. {h} went there with a basket, and it was all true.",
                ),
                (
                    "On the table lay a little bag of seeds. {h} planted them, and by summer there were beans [up to the "
                    "roof|enough for every house].",
                ),
                ("On the doorstep stood a jar, full of wild honey, with a note: for the one who took the smallest part.",),
                (
                    "The broken roof, which had dripped for years, was mended from one end to the other. The stranger had "
                    "worked all night long.",
                ),
                (
                    'Some weeks later a cart stopped at the door, with flour, apples and a round of cheese. "From a friend," '
                    "the driver said.",
                ),
            )
        )
    )
    glad(w)
    ending(
        w,
        "sharing",
        "From then on there was always one more [plate|chair] at the table, just in case.",
        '"I thought we were giving something away," {h.said}. "So did I," {g.replied}.',
        together=True,
    )


PLOTS = (quarrel, newcomer, stranger)
