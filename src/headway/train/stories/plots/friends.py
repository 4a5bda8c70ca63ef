"""Plots about others: quarrels, newcomers, strangers, the ill, the trapped, the small."""

from __future__ import annotations

from headway.train.stories.animals import ANIMALS
from headway.train.stories.beats import ending, glad, opening, sad, scene, thanks
from headway.train.stories.places import HOMES, SITES
from headway.train.stories.things import FOODS, TOYS
from headway.train.stories.world import World


def quarrel(w: World) -> None:
    """Two who like each other fight over a trifle, miss each other, and make up."""
    h = w.hero()
    w.home()
    f = w.friend(h) if w.chance(0.6) else w.sibling(h)
    t = w.thing(TOYS)
    w.cast["meal"] = w.fresh(FOODS)
    opening(w)
    w.say(
        "{day}, they found {t.full} [by the path|under a hedge|on the way home]. \"I saw {t.it} first!\" {h.cried}. \"No, I did!\" {f.cried}.",
        "{day}, {h} and {f} wanted to build [a fort|a dam|a tower]. \"It must be round,\" {h.said}. \"Square,\" {f.said}. And so it began.",
        "{day}, both of them wanted to be captain of the ship, and the ship was only {t.a} on [a bench|an old box].",
        "{day}, {h} laughed when {f} [slipped in the mud|sang out of tune|fell off the fence]. It was [not a kind laugh|the wrong sort of laugh].",
    )
    scene(w)
    w.say(
        "\"You never listen!\" {f.snapped}. \"And you are [bossy|mean|as stubborn as a post]!\" {h.snapped}.",
        "They pulled and pushed and shouted, until [the birds flew off|a pail tipped over|both had dirty faces].",
        "One word led to another, and each was [sharper|louder] than the last.",
    )
    w.say("\"I will never play with you again!\" {h.cried}. \"Good!\" {f.replied}.", "{h} marched off to the left, and {f} marched off to the right.")
    w.paragraph()
    w.say(
        "The next day {h} tried to play alone. But [the seesaw would not go|hide-and-seek was over at once|nobody laughed at the jokes].",
        "At first {h} felt [strong and right|very pleased with {h.self}]. Then {h.he} only felt [alone|empty].",
        "{h} [built a tower|ate lunch|drew a picture] alone. It was [not half so good|very quiet].",
    )
    w.say(
        "{f} was not happy either. {f.he} [sat on the wall|kicked a stone up and down|stared at the rain barrel] and [sighed|looked at {f.his} feet].",
        "From far off {h} could see {f}, who sat with {f.his} back turned. [That back looked sad|Neither of them waved].",
    )
    sad(w)
    if w.chance(0.5):
        w.elder(h)
        w.say(
            "\"Which is bigger,\" {g.asked}, \"[the quarrel or the friend|your anger or your wish to play]?\" {h} did not have to think for long.",
            "\"Somebody has to take the first step,\" {g.said}. \"It [might as well be|could be] you.\"",
        )
    w.paragraph()
    w.say(
        "So {h} took {meal} and set off. [Halfway there|On the bridge|At the corner] {h.he} met {f}, who was carrying a gift as well.",
        "{h} [wrote SORRY in big letters with pebbles|whistled their secret tune] outside {f.s} window. A head popped out." if f.relation == "friend" else
        "{h} pushed a note under the door. On it was one word, SORRY. The door opened [a crack|slowly].",
    )
    w.say(
        "\"I was [unkind|silly],\" {h.said}. \"So was I,\" {f.replied}. \"Shall we start again?\"",
        "Both of them said \"I am sorry\" at the very same time, and then they had to laugh.",
        "\"I missed you,\" {h.whispered}. \"I missed you more,\" {f.replied}. \"No, I did!\" And they [began to giggle|nearly quarrelled again].",
    )
    glad(w)
    ending(
        w, "friendship",
        "They shared {meal} and [could not remember who had been right|made a rule: no shouting before lunch].",
        "By evening [nobody knew what the quarrel had been about|they were playing as if nothing had happened].",
        together=True,
    )
    assert t


def newcomer(w: World) -> None:
    """Somebody new is shy and left out until the hero finds the way to them."""
    h = w.hero()
    w.home()
    f = w.friend(h)
    f.relation = ""
    w.cast["talent"], w.cast["deed"], w.cast["cheer"] = w.pick((
        ("draw with chalk", "drew a whole zoo on the ground, with a hippo in a bathtub", "Draw me next"),
        ("whistle like a nightingale", "whistled a tune so sweet that the birds fell silent", "Teach us that tune"),
        ("juggle", "juggled five pears and ate one of them without stopping", "Do it again"),
        ("tell stories", "told a story about a dragon who was afraid of mice", "Tell us another"),
        ("tie every knot there is", "tied a swing to the branch with a knot that would never slip", "Push me first"),
        ("walk on a rope", "walked along the washing line with a cup on the head", "Show us how"),
        ("make shadow pictures", "made a rabbit, a swan and a snapping crocodile out of shadows", "Make a camel"),
        ("skip stones", "skipped a flat stone nine times over the water", "How did you do that"),
    ))
    far = w.pick([site for site in HOMES if site.noun != w.cast["p"].forms["n"]])  # type: ignore[union-attr]
    w.cast["far"] = far.noun
    opening(w)
    w.say(
        "{day}, somebody new came {p.to}. It was {f.intro}, from a {far} far away.",
        "{day}, {f.intro} moved in next door, with [two suitcases|a bundle and a broken umbrella|a cart full of boxes].",
    )
    w.say(
        "The newcomer did not [speak|say a word]. {f.he} [stood by the fence|hid behind a barrel|sat apart] and watched the others play.",
        "\"Why does {f.he} talk so [funnily|little]?\" the others asked, and they [ran off to their games|turned away].",
        "When someone said hello, {f} [looked at {f.his} feet|turned pink|slipped away].",
    )
    w.paragraph()
    w.say(
        "{h} [remembered how it felt to be alone|could not stop thinking about it]. \"Hello,\" {h.said}. \"[Do you want to play|What is your name]?\" But {f} ran away.",
        "{h} walked up and [talked and talked|asked eleven questions in a row]. It was too much. {f} backed away, and the door [closed|clicked shut].",
        "{h} shouted, \"Come and play!\" so loudly that {f} jumped and hid.",
    )
    sad(w) if w.chance(0.4) else None
    if w.chance(0.5):
        w.elder(h)
        w.say("\"A shy bird comes if you sit still,\" {g.said}.", "\"[Do not pull at a bud|Slowly],\" {g.said}. \"Sit close by and [wait|do something nice].\"")
    w.say(
        "So the next day {h} sat down [nearby|two steps away] and said nothing at all. {h.he} [peeled an orange|shelled peas|drew in the dust] and left half of the bench free.",
        "The next morning {h} left [a pear|a bun|a bunch of daisies] on {f.s} doorstep, and the morning after that, too.",
    )
    w.paragraph()
    w.say(
        "After a while {f} came closer. \"I can {talent},\" {f.whispered}. \"Would you like to see?\"",
        "On the third day a small voice said, \"Thank you.\" And then, \"At home I used to {talent}.\" \"Show me!\" {h.cried}.",
    )
    w.say("And {f} {deed}.", "Then, with shaking knees, {f} {deed}.")
    w.say("The others came running. \"{cheer}!\" they shouted.", "\"{cheer}!\" cried [everyone|somebody]. They had all crept up to watch.")
    glad(w, "f")
    ending(
        w, "friendship",
        "From that day on {f} [belonged|was never left out], and {h} [had one more friend|learned to {talent}, more or less].",
        "\"I was afraid that nobody would like me,\" {f.said}. \"I was afraid that you did not like us,\" {h.replied}.",
        "\"I am glad you [waited|sat down beside me],\" {f.said}.",
    )


def stranger(w: World) -> None:
    """A hungry stranger knocks; the hero shares the little there is; the stranger gives something back."""
    h = w.hero()
    w.home()
    w.cast["meal"] = w.fresh(FOODS)
    w.set_day(weather=w.pick(("rainy", "snowy", "windy", "foggy")), time="evening")
    w.elder(h, "mother", "father", "grandmother", "grandfather")
    gender = w.pick("fm")
    x = w.helper(w.pick(("fly", "walk")))
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
        "[Tap, tap, tap|Knock, knock]! {h} opened the door [a crack|slowly]. There was {x.an} [with hollow cheeks|with a torn bundle|who could hardly stand].",
    )
    w.say(
        "\"I have [walked|travelled] for three days,\" {x.said}. \"Have you [a crumb|anything] to spare?\"",
        "\"Please,\" {x.whispered}, \"I am so hungry, and every other door was shut.\"",
    )
    w.paragraph()
    w.say(
        "{h} looked at {meal}. {h.his} own stomach [growled|grumbled]. \"There is hardly enough for us,\" {h.he} thought.",
        "\"There is so little,\" {h.whispered}. {g} said nothing and waited to see what {h} would do.",
        "At first {h} wanted to [shut|close] the door. {h.he} was hungry, too!",
    )
    w.say(
        "But the stranger's [eyes were so tired|hands were so cold] that {h} stepped aside. \"[Come in|Sit by the fire],\" {h.said}. \"We will share.\"",
        "Then {h} [fetched a third plate|pulled up another chair]. \"If we cut it small, it will be enough for three,\" {h.said}.",
    )
    w.say("They divided {meal} into three parts, and {h} took the smallest.", "So they ate {meal} together, slowly, [to make it last|and told each other riddles].")
    w.paragraph()
    w.say(
        "When the plates were clean, the stranger [looked up|smiled for the first time]. \"I have no money,\" {x.said}, \"but [I know things|I can pay in another way].\"",
        "In the morning the stranger was gone, and the blanket lay folded on the chair. \"Not even a goodbye,\" {h.sighed}. But there was a letter.",
    )
    w.say(*w.pick((
        ("It told of a place [behind the mill|under the birches] where mushrooms grew as thick as grass. {h} went there with a basket, and it was all true.",),
        ("A little bag of seeds lay on the table. {h} planted them, and by summer there were beans [up to the roof|enough for every house].",),
        ("There was a jar on the table as well, full of wild honey, with a note: for the one who took the smallest part.",),
        ("And the broken roof, which had dripped for years, was mended from one end to the other. The stranger had worked all night.",),
        ("Some weeks later a cart stopped at the door, with flour, apples and a round of cheese. \"From a friend,\" the driver said.",),
    )))
    glad(w)
    ending(
        w, "sharing",
        "From then on there was always one more [plate|chair] at the table, just in case.",
        "\"I thought we were giving something away,\" {h.said}. \"So did I,\" {g.replied}.",
        together=True,
    )


def healing(w: World) -> None:
    """Somebody dear is ill; the hero fetches what will help, through an obstacle."""
    h = w.hero()
    w.home()
    g = w.elder(h, "mother", "grandmother", "grandfather", "father")
    w.cast["remedy"], w.cast["use"] = w.pick((
        ("silver moss", "brewed it into tea"), ("elderflowers", "boiled them with honey"), ("yellow fever root", "ground it into powder"),
        ("wild thyme", "made a thick syrup"), ("snow berries", "pressed out the juice"), ("water from the singing spring", "warmed it on the stove"),
        ("blue mint", "crushed the leaves in hot milk"), ("moon clover", "stirred it into broth"), ("pine honey", "mixed it with lemon"),
    ))
    q = w.place("q", [site for site in SITES if site.ground in ("wild", "shore") and site.noun not in ("savanna", "prairie", "campsite")])
    w.set_day(weather=w.pick(("rainy", "foggy", "windy", "snowy", "cloudy")))
    opening(w)
    w.say(
        "{day}, {g} did not get up. {g.his} [forehead was as hot as a stove|cough shook the bed|hands were as cold as frogs].",
        "{day}, {h} found {g} in bed, pale and [shivering|too weak to talk].",
    )
    w.say(
        "\"{remedy} would help,\" {g.whispered}, \"but it grows only {q.in}, and that is [far|a long way].\"" if w.cast["remedy"] not in ("elderflowers", "snow berries") and "spring" not in w.cast["remedy"]  # type: ignore[operator]
        else "\"Bring me {remedy},\" {g.whispered}. \"It is only to be had {q.in}, and that is far.\"" if "spring" in w.cast["remedy"]  # type: ignore[operator]
        else "\"{remedy} would help,\" {g.whispered}, \"but they grow only {q.in}, and that is far.\"",
    )
    w.say("\"Then I will go,\" {h.said}, and [put on {h.his} warmest coat|packed a crust of bread|took the lantern].", "{h} did not [wait|think twice]. {h.he} took [a basket|a flask] and set out.")
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
        "\"[Are you lost|What are you looking for]?\" asked {x.an}. {h} told the whole story. \"My own [mother|child] was ill last year,\" {x.said}. \"Follow me.\"",
        "On a stone sat {x.an}. \"You look [tired|worried],\" {x.said}. When {h} explained, {x} nodded. \"I know where to look.\"",
    )
    w.say(
        "{x} led {h.him} [behind a waterfall|through a gap in the rocks|around three bends], and there was {remedy}, [as much as anyone could need|just as {g} had described it].",
    )
    w.say("\"Take only what you need,\" {x.said}, and {h} did.", "\"Now hurry home,\" {x.said}.")
    w.paragraph()
    w.say("{h} ran all the way back and {use}.", "At home {h} {use}, and [{g} drank it|{g} took it], spoon by spoon.")
    w.say(
        "All night {h} sat beside the bed [and held {g.his} hand|with a cool cloth]. In the morning {g} [opened {g.his} eyes|sat up] and asked for [pancakes|toast|an egg].",
        "By the next day the fever was gone. By the day after, {g} was [complaining about the dust|humming in the kitchen].",
    )
    glad(w)
    ending(w, "kindness", "\"I had the best [nurse|doctor] in the world,\" {g.said}.", "And {h} [took a pie to|baked a cake for|never forgot] {x}, who had shown {h.him} the way.")
    assert g and q


def trapped(w: World) -> None:
    """The hero frees a small creature, and later the creature helps the hero."""
    h = w.hero()
    w.home()
    x = w.helper(w.pick(("small", "fly")))
    x.forms["an"] = f"a {w.pick(('tiny', 'small', 'frightened', 'young'))} {x.kind}"
    x.forms["call"] = f"little {x.kind}"
    opening(w)
    w.cast["trap"] = w.pick(("a tangle of fishing line", "a bramble bush", "an old bottle", "a forgotten net", "a hollow pipe", "a rusty can", "a crack in the ice" if w.weather == "snowy" else "a hole in the fence"))
    w.say(
        "{day}, {h} heard a [faint|thin|small] cry. It came from {x.an}, stuck in {trap}.",
        "{day}, on the way [home|to the well], {h} came upon {x.an}, caught in {trap}.",
    )
    scene(w)
    w.say(
        "\"[Help|Please do not hurt me]!\" {x.cried}. \"[Hold still|Do not be afraid],\" {h.said}.",
        "\"I have been here [since yesterday|all night],\" {x.whispered}. \"Nobody stopped.\" \"I have,\" {h.said}.",
    )
    w.say(
        "{h} pulled, but that only made things worse. So {h.he} [worked slowly, bit by bit|used a stick, and a great deal of patience], until {x} was free.",
        "It was not easy. {h} [scratched {h.his} hands|got a splinter|pinched {h.his} thumb], tried once, tried twice, and at last {x} came loose.",
    )
    w.say("\"One day I will help you,\" {x.said}. {h} laughed. How could someone so small help {h.him}?", "\"I will not forget this,\" {x.said}, and was gone.")
    w.paragraph()
    w.say("[Some weeks went by|Summer passed|A month went by], and {h} forgot about it.", "The days passed.")
    case = w.pick(("lost", "pit", "river", "key"))
    w.say(*{
        "lost": ("Then one evening {h} lost {h.his} way. [Every path looked the same|It grew darker and darker], and nobody answered {h.his} calls.",),
        "pit": ("Then, one afternoon, the ground gave way, and {h} fell into a deep pit. The walls were [smooth|steep], and {h.he} slid back each time {h.he} tried to climb.",),
        "river": ("Then, one day, {h} climbed onto a little island to pick flowers, and the water rose. Soon {h.he} could not get back.",),
        "key": ("Then, one cold evening, {h} shut the door behind {h.him}, with the key inside. {h.he} rattled and knocked, but nobody was home.",),
    }[case])
    sad(w)
    w.say("\"Help!\" {h.cried}. \"I am here,\" said a small voice. It was the {x.kind}!", "Something [rustled|stirred]. \"Do you remember me?\" {x.asked}.")
    w.paragraph()
    fly = x.animal is not None and "fly" in x.animal.skills
    w.say(*{
        "lost": ("{x} went ahead and [called out|waited] at every turn, and {h} followed until the lights of home came into view.",),
        "pit": ("{x} [fetched|called] all {x.his} family. Together they dragged a long branch to the edge, and {h} climbed out.",),
        "river": ("{x} [gathered|called] {x.his} cousins. They pushed a floating log to the island, and {h} rode it home like a king.",)
        if h.gender == "m" else ("{x} [gathered|called] {x.his} cousins. They pushed a floating log to the island, and {h} rode it home like a queen.",),
        "key": ("{x} flew in through the chimney and came back, black with soot, with the key.",) if fly
        else ("{x} squeezed in under the door and came back, dragging the key behind {x.him}.",),
    }[case])
    thanks(w, "x")
    ending(w, "kindness", "\"I said that I would not forget,\" {x.said}.", "{h} never again [laughed at|looked down on] anyone for being small.", "They had [tea|supper] together after that, every [Sunday|week].")


def little_one(w: World) -> None:
    """A small one is lost in the crowd or the wood, and the hero brings it home."""
    h = w.hero()
    w.home()
    c = w.beast([a for a in ANIMALS if a.kind in ("duckling", "lamb", "kitten", "piglet", "bear cub", "wolf cub", "puppy", "lion cub", "chipmunk", "koala")], named=True, adjective="lost")
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
        "\"I [only followed a butterfly|only stopped to smell a flower|let go of my mother's tail],\" {c.sighed}, \"and then everyone was gone.\"",
        "\"I want my mama,\" {c.whispered}.",
    )
    w.say("\"We will find her,\" {h.said}. \"What does she look like?\" \"Like a mama,\" {c.replied}. \"Only bigger.\"", "\"What is your name?\" {h.asked}. \"{c.name}.\" \"Then come, {c.name}. We will find her.\"".replace("{c.name}", c.name))
    w.paragraph()
    w.say("First they asked at the [mill|well|inn], but nobody there had seen a mother {c.kind}." if c.kind in ("wolf cub",) else "First they asked [an old goat|a beetle|two quarrelling crows|a hen with a basket], who knew nothing and [talked a great deal|pointed the wrong way].")
    w.say("Then they followed some tracks, but these led only to [a puddle|a pair of old boots|a very cross goose].", "Then they climbed up high and called, but only the echo answered.")
    w.say("{c} began to cry again, so {h} [carried {c.him}|gave {c.him} the last bite of bread|sang a silly song] until {c.he} [smiled|hiccuped and stopped].",
          "\"I am tired,\" {c.sighed}. So {h} took {c.him} on {h.his} back.")
    w.say("{h} was getting worried, too, but {h.he} did not show it.", "It was growing late, and {h} was afraid, but {h.he} held on tight to the little one.")
    w.paragraph()
    w.say(
        "\"What did you hear this morning, when you woke?\" {h.asked}. \"[Water|Bells|The wind in the wheat],\" {c.replied}. \"And I smelled [mint|smoke|apples].\"",
        "Then {h} had a better idea. \"Close your eyes,\" {h.said}. \"What does home sound like?\" \"Like [water over stones|a creaking wheel|bees],\" {c.replied}.",
    )
    w.say("{h} knew a place like that! They hurried along the [hedge|stream|wall], and there stood a mother, calling and calling.", "So they [stood still|listened]. There it was, faint and far! They followed the sound, and a mother came running.")
    w.say("\"Mama!\" {c.cried}, and vanished into her arms.", "Mother and child [tumbled over each other|held each other so tightly that nobody could tell them apart].")
    glad(w)
    ending(w, "kindness", "\"You brought me my whole world,\" the mother said to {h}.", "{c} waved until {h} was out of sight.", "After that {c} [visited|came to play] every week, and never let go of {c.his} mother on the way.")


PLOTS = (quarrel, newcomer, stranger, healing, trapped, little_one)
