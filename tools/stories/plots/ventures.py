"""Plots about doing: storms, races, caves, rivers."""

from __future__ import annotations

from ..animals import BY_SKILL
from ..beats import ending, glad, opening, sad, scene, thanks
from ..things import FOODS, TREASURES
from ..world import Dish, World


def storm(w: World) -> None:
    """Write of a storm and a shelter."""
    h = w.hero()
    w.home()
    w.sibling(h) if w.chance(0.5) else w.friend(h)
    w.set_day(weather=w.pick(("cloudy", "windy")), time=w.pick(("afternoon", "evening")))
    w.cast["shelter"] = w.pick(
        (
            "a hollow tree",
            "a shepherd's hut",
            "an old boathouse",
            "a cave in the bank",
            "an empty barn",
            "an upturned cart",
            "a ruined tower",
        )
    )
    w.helper(w.pick(("small", "fly")))
    opening(w)
    w.say(
        "{day}, {h} and {f} were far from home, gathering [berries|firewood|shells|chestnuts].",
        "{day}, {h} and {f} had gone for a long walk [to look for feathers|without telling anyone].",
    )
    w.say(
        "Suddenly the [air grew still|birds stopped singing]. A wall of [black|purple] clouds rolled towards them.",
        '"Look at the sky!" {f.cried}. It had turned [as dark as ink|a strange green].',
    )
    w.say(
        "Then the storm broke. [Thunder cracked|Lightning split the sky], and rain fell in buckets.",
        "[Boom|Crash]! Thunder shook the ground, and the wind [bent the trees like grass|tore at their ears].",
    )
    w.paragraph()
    w.say(
        '"I am scared," {f.whispered}. "So am I," {h.replied}, "but [we are two|I have your hand]."',
        "{f} [began to cry|covered {f.his} ears]. {h} was frightened as well, but {h.he} [held {f.his} hand|counted the seconds "
        "between the flashes].",
    )
    w.say(
        "They tried to run home, but the [path|ground] had turned into a [stream|swamp].",
        "First they hid under a bush, but the rain came through [every leaf|everywhere], and soon they were soaked.",
        'They wanted to stand under a tall tree. "Never in a thunderstorm!" {h.cried}, and pulled {f} away.',
    )
    w.say(
        '"In here!" called a voice. It was {x.an}, waving from {shelter}.',
        "Then, through the rain, they saw {shelter}. Inside sat {x.an}, [all alone|shaking like a leaf].",
    )
    w.paragraph()
    w.say(
        "They squeezed in, side by side. It was [narrow|dark], but it was dry.",
        "Inside it smelled of [straw|earth|old rope], and they huddled close together to get warm.",
    )
    w.cast["meal"] = Dish(w.fresh(FOODS))
    w.say(
        '"Let us tell [jokes|stories]," {h.said}, "louder than the thunder." And so they did.',
        '"Thunder is only the clouds [moving their furniture|playing at bowls]," {x.said}. That made them laugh.',
        "{h} found {meal} in {h.his} bag, a little squashed, and shared it in three.",
    )
    w.say(
        "With every story the storm seemed [smaller|farther away]. At last the rain stopped.",
        "Little by little the thunder [wandered off|grumbled away over the hills].",
    )
    w.paragraph()
    w.say(
        "Outside, [a rainbow stood over the land|every drop was shining|the world looked washed and new].",
        "When they stepped out, a fallen tree lay across the path. They [climbed over it|pushed and pulled until there was a "
        "gap], all three together.",
    )
    if w.chance(0.6):
        w.elder(h)
        w.say(
            '{g} came running towards them. "I [looked for you everywhere|was so worried]!" {g.cried}, and {g.he} did not scold at all.',
            "At home {g} wrapped them in [blankets|towels] and put the kettle on.",
        )
    glad(w)
    ending(
        w,
        "courage",
        "And when thunder came again, {h} and {f} [looked at each other and began to tell jokes|were not so frightened].",
        "{x} became a good friend, in every kind of weather.",
        together=True,
    )


def race(w: World) -> None:
    """Write of a race against a boastful rival: won, lost, or given up for a kindness."""
    h = w.hero()
    w.home()
    r = w.beast(
        [a for a in BY_SKILL["fast"] if "walk" in a.skills and a.kind != h.kind],
        adjective=w.pick(("boastful", "proud", "speedy", "haughty")),
    )
    w.cast["r"] = r
    w.set_day(weather=w.pick(("sunny", "windy", "cloudy")), time=w.pick(("morning", "afternoon")))
    w.cast["prize"] = prize = Dish(w.fresh(FOODS) if w.chance(0.5) else w.text("a [golden|silver|wooden|tin] [cup|medal|bell]"))
    opening(w)
    w.say(
        "Every [summer|autumn|year] there was a great race, once around [the lake|the hill|all the fields] and back. The "
        "prize was {prize}.",
        "There was going to be a race, and the winner would get {prize}.",
    )
    w.say(
        '"[I shall win|Nobody can beat me]," said {r.intro}. "You are far too slow, {h.call}."',
        'Among the runners was {r.intro}, who had won [three times|every year]. "Do not even try," {r} told {h}.',
    )
    w.say(
        "{h} [felt {h.his} ears grow hot|swallowed]. But {h.he} wanted so much to try.",
        '"I will try all the same," {h.replied}.',
        "{h} practised every [morning|evening]. The first time {h.he} [fell into a ditch|was out of breath by the gate]. The "
        "tenth time went better.",
    )
    w.paragraph()
    w.say('{day}, everyone [lined up|stood at the starting line]. "Ready, steady, go!"', "{day}, the whistle blew, and off they went.")
    scene(w)
    w.say(
        "{r} shot ahead like an arrow. {h} was [soon last|left behind in the dust].",
        "{h} started much too fast. By the first bend {h.he} had a stitch in {h.his} side, and {r} was far ahead.",
    )
    w.say(
        '"[Breathe|One step, then the next]," {h} told {h.self}, and ran on.',
        "{h} did not look at the others. {h.he} looked at the next tree, and then at the next.",
    )
    w.paragraph()
    variant = w.pick(("kind", "kind", "win", "nap"))
    if variant == "kind":
        w.say(
            "Near the end {h} heard a groan. {r} lay in a ditch with a twisted ankle. The finish was [so close|in sight].",
            "Then {h} came around a corner and saw {r} sitting on the ground, [holding {r.his} foot|unable to stand].",
        )
        w.say(
            '{h} could have run past and won. But {h.he} stopped. "Lean on me," {h.said}.',
            '"Run on," {r.sighed}. "You can win." "I would rather help you," {h.replied}.',
        )
        w.say(
            "Together they hobbled over the line, last of all. And the [crowd|whole crowd] cheered louder than ever before.",
            "They came in long after the others, and everyone rose to [clap|cheer].",
        )
        w.say(
            '"I was [unkind|nasty] to you," {r.said}. "And you [stopped|helped me]. You are the real winner."',
            "The winner came over and gave {h} half of the prize.",
        ) if prize.first in FOODS else w.say('"I was unkind to you," {r.said}. "You are the real winner."')
        theme = "kindness"
    elif variant == "win":
        w.say(
            "{r} looked over {r.his} shoulder, [to laugh|to wave], and ran straight into [a puddle|a washing line|a haystack].",
            "{r} stopped to [bow to the crowd|comb {r.his} whiskers|tell everyone how fast {r.he} was].",
        )
        w.say(
            "{h} ran by, [puff, puff, puff|step by step], and over the line. {h.he} had won!",
            "On and on went {h}, and before {r} knew what had happened, {h} was first!",
        )
        w.say('"How did you do that?" {r.asked}. "I just did not stop," {h.replied}.', "{h} held up {prize}, and even {r} had to clap.")
        theme = "patience"
    else:
        w.say(
            "{h} did not win. {h.he} did not come second, either. {h.he} came [seventh|ninth|last but one].",
            "{r} won again, of course. {h} came in [red in the face|gasping], in [eighth|sixth] place.",
        )
        w.say(
            "But {h} had run [the whole way|farther than ever before], without stopping once.",
            '"Last year I did not dare to start," {h.said}. "Next year I will be [fifth|fourth]."',
        )
        w.say(
            '"You did not give up," {r.said}, and {r.he} sounded surprised. "[Shall we train together|Will you run with me tomorrow]?"',
            "{r} shared {prize} with {h.him}." if prize.first in FOODS else "{r} let {h.him} hold the prize for a moment.",
        )
        theme = "courage"
    glad(w)
    ending(
        w,
        theme,
        "From then on they [trained|ran] together every morning.",
        "{h} [fell asleep with {h.his} shoes on|dreamed of running all night].",
    )


def cave(w: World) -> None:
    """Write of a dark cave and the harmless animal in it."""
    h = w.hero()
    w.home()
    w.friend(h) if w.chance(0.5) else w.sibling(h)
    w.helper(w.pick(("dig", "strong", "small")))
    w.thing(TREASURES)
    w.cast["noise"] = w.pick(("a long low moan", "a rumbling growl", "a scratching sound", "a hollow boom", "somebody sobbing"))
    w.cast["cave"] = w.pick(("a dark cave", "an old mine", "a black tunnel", "a deep cellar under the ruins"))
    w.cast["dark"] = w.cast["cave"].split(" ", 1)[1].split(" under")[0]
    opening(w)
    w.say(
        'Not far away there was {cave}, and nobody ever went in. "[A monster lives there|It eats lanterns]," people said.',
        "Everyone [stayed away from|was afraid of] {cave} nearby. At night {noise} came out of it.",
    )
    w.say(
        '{day}, {h} and {f} stood in front of it. "[I dare you|You first]," {f.said}.',
        '{day}, their [ball|hoop] rolled in, bounced twice and was gone. "We have to get it," {h.said}.',
    )
    w.say(
        '{h.s} knees [shook|wobbled], but {h.he} [lit a candle|took a lantern|held up a torch]. "Together," {h.whispered}.',
        '"I will go in if you hold my hand," {h.said}.',
    )
    w.paragraph()
    w.say(
        "Inside it was cold. Water dripped, [plink, plonk|drop by drop], and their shadows [danced|stretched] along the walls.",
        "Step by step they went in. It smelled of [stone and old rain|mushrooms|wet wool].",
    )
    w.say(
        "Something [brushed against|touched] {h.s} cheek. It was only a cobweb, but they both ran out again, screaming.",
        "Then a drop of water put out the light. They turned and ran until they were back in the [daylight|open air].",
    )
    w.say(
        '"That was [only water|silly]," {h.said} when {h.he} could breathe again. "Once more?" "Once more," {f.replied}.',
        "They looked at each other and had to laugh. Then they tried again, [more slowly|singing loudly].",
    )
    w.say(
        "Deeper inside, there it was: {noise}! And two [eyes|lights] gleamed in the dark.",
        "Then they heard it: {noise}, quite near. {f} [squeezed {h.s} hand|hid behind {h}].",
    )
    w.paragraph()
    w.say(
        '"Who is there?" {h.asked}, as bravely as {h.he} could. "Only me," said a voice. It was {x.an}!',
        "{h} held up the light with a trembling hand. There sat {x.an}, [blinking|with a blanket around {x.him}].",
    )
    w.say(
        '"I am [stuck|lost] in here," {x.said}, "and when I call for help, everybody runs away."',
        '"Please do not go," {x.said}. "I am so lonely. I sing to myself, but it [comes out all echoes|sounds rather grim in here]."',
        '"You gave me such a fright," {x.said}. "I thought that you were the monster!"',
    )
    w.say(
        "{h} nearly burst out laughing. That was the terrible monster!", '"We were afraid of you," {h.said}, "and you were afraid of us!"'
    )
    w.say(
        "They led {x} out into the fresh air, and {x} gave them {t.full}, which {x.he} had found in the deepest corner.",
        "{x} showed them a hall full of [crystals|glowing worms|white stone flowers], more beautiful than any palace.",
    )
    ending(
        w,
        "courage",
        "After that, the [children|young ones] of the whole place came to visit {x}, and nobody was afraid of the {dark} any more.",
        'And at night, when {noise} came from the {dark}, {h} only smiled. "Good night, friend," {h.he} said.',
        together=True,
    )


def river(w: World) -> None:
    """Write of water in the way, and of the helper at its bank."""
    h = w.hero()
    w.home()
    w.elder(h, "grandmother", "grandfather", "aunt", "uncle")
    w.cast["meal"] = Dish(w.fresh(FOODS))
    w.cast["water"] = w.pick(("river", "stream", "brook", "canal"))
    w.helper(w.pick(("swim", "strong")))
    opening(w)
    w.say(
        "{day}, {h} wanted to take {meal} to {g}, who lived on the other side of the {water}.",
        "{g} lived across the {water}. {day}, {h} set out to visit {g.him}, with {meal} in a basket.",
    )
    scene(w)
    w.say(
        "But the bridge was gone! The [flood|last rain] had carried it off in the night.",
        "But when {h} came to the {water}, the [water was high and wild|little bridge had fallen in].",
    )
    w.paragraph()
    w.say(
        "First {h} tried to jump from stone to stone. [The third stone rolled|The fourth one was slippery], and splash! ^{h.he} "
        "crawled out on the same side as before.",
        "First {h} threw a plank across, but it was too short and [sailed away|sank with a gurgle].",
    )
    w.say(
        "Then {h.he} built a [raft of sticks|boat of bark]. It floated [beautifully|well], as long as nobody sat on it.",
        "Then {h.he} tied a rope to a branch to swing across. The branch [broke|bent down], and {h} sat in the mud.",
    )
    sad(w)
    w.say(
        '"That was [a fine splash|interesting]," said {x.an}. "Are you [trying to cross|going somewhere]?"',
        'From the reeds came a chuckle. There was {x.an}, who had seen it all. "Can I help?" {x.asked}.',
    )
    w.paragraph()
    x = w.cast["x"]
    if "swim" in x.animal.skills:
        w.say(
            '"Your raft wants to go with the water," {x.said}. "Make it stronger, and I will push." So they bound [logs|reeds '
            "and logs] together, and {x} swam behind and steered.",
            '"Throw me your rope," {x.said}. {x} swam over and tied it to a willow on the far bank, and {h} pulled {h.self} '
            "across on a log, hand over hand.",
        )
    else:
        w.say(
            '"That tree is dead and ready to fall," {x.said}. {x.he} pushed and pushed until it crashed down, right across the '
            '{water}. "There is your bridge."',
            "{x} rolled great stones into the water, one after the other, and {h} [filled the gaps with smaller ones|told "
            "{x.him} where they should go].",
        )
    w.say(
        'In the middle {h} [wobbled|looked down and went pale]. "Do not look at the water. Look at me," {x.said}.',
        "Halfway over, the basket tipped, but {h} caught it [just in time|with one hand].",
    )
    w.say("Then {h} stood on the other side, [wet|muddy] and proud.", '"I made it!" {h.cried}.')
    thanks(w, "x") if w.chance(0.7) else glad(w)
    ending(
        w,
        "help",
        "{g} was so pleased that {g.he} [set three places at the table|laughed until {g.his} sides ached], and they shared "
        "{meal}, all three of them.",
        '"How did you get across?" {g.asked}. "With a friend," {h.replied}.',
    )


PLOTS = (storm, race, cave, river)
