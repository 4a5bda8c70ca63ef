"""Plots about doing: storms, races, caves, rivers, songs, gardens, crafts, sleepless nights."""

from __future__ import annotations

from headway.train.stories.animals import BY_SKILL
from headway.train.stories.beats import ending, glad, opening, sad, scene, thanks
from headway.train.stories.places import HOMES
from headway.train.stories.things import FOODS, SEEDS, TREASURES
from headway.train.stories.world import World


def storm(w: World) -> None:
    """A storm comes; somebody is out in it or something breaks; they shelter and set things right."""
    h = w.hero()
    w.home()
    f = w.sibling(h) if w.chance(0.5) else w.friend(h)
    w.set_day(weather=w.pick(("cloudy", "windy")), time=w.pick(("afternoon", "evening")))
    w.cast["shelter"] = w.pick(("a hollow tree", "a shepherd's hut", "an old boathouse", "a cave in the bank", "an empty barn", "an upturned cart", "a ruined tower"))
    x = w.helper(w.pick(("small", "fly")))
    opening(w)
    w.say(
        "{day}, {h} and {f} were far from home, gathering [berries|firewood|shells|chestnuts].",
        "{day}, {h} and {f} had gone for a long walk [to look for feathers|without telling anyone].",
    )
    w.say(
        "Suddenly the [air grew still|birds stopped singing]. A wall of [black|purple] clouds rolled towards them.",
        "\"Look at the sky!\" {f.cried}. It had turned [as dark as ink|a strange green].",
    )
    w.say(
        "Then the storm broke. [Thunder cracked|Lightning split the sky], and rain fell in buckets.",
        "[Boom|Crash]! Thunder shook the ground, and the wind [bent the trees like grass|tore at their ears].",
    )
    w.paragraph()
    w.say("\"I am scared,\" {f.whispered}. \"So am I,\" {h.replied}, \"but [we are two|I have your hand].\"", "{f} [began to cry|covered {f.his} ears]. {h} was frightened as well, but {h.he} [held {f.his} hand|counted the seconds between the flashes].")
    w.say("They tried to run home, but the [path|ground] had turned into a [stream|swamp].", "First they hid under a bush, but the rain came through [every leaf|everywhere], and soon they were soaked.", "They wanted to stand under a tall tree. \"Never in a thunderstorm!\" {h.cried}, and pulled {f} away.")
    w.say("\"In here!\" called a voice. It was {x.an}, waving from {shelter}.", "Then, through the rain, they saw {shelter}. Inside sat {x.an}, [all alone|shaking like a leaf].")
    w.paragraph()
    w.say("They squeezed in, side by side. It was [narrow|dark], but it was dry.", "Inside it smelled of [straw|earth|old rope], and they huddled close together to get warm.")
    w.say(
        "\"Let us tell [jokes|stories],\" {h.said}, \"louder than the thunder.\" And so they did.",
        "\"Thunder is only the clouds [moving their furniture|playing at bowls],\" {x.said}. That made them laugh.",
        "{h} found {meal} in {h.his} bag, a little squashed, and shared it in three.",
    ) if _meal(w) else None
    w.say("With every story the storm seemed [smaller|farther away]. At last the rain stopped.", "Little by little the thunder [wandered off|grumbled away over the hills].")
    w.paragraph()
    w.say("Outside, [a rainbow stood over the land|every drop was shining|the world looked washed and new].", "When they stepped out, a fallen tree lay across the path. They [climbed over it|pushed and pulled until there was a gap], all three together.")
    if w.chance(0.6):
        w.elder(h)
        w.say("{g} came running towards them. \"I [looked for you everywhere|was so worried]!\" {g.cried}, and {g.he} did not scold at all.", "At home {g} wrapped them in [blankets|towels] and put the kettle on.")
    glad(w)
    ending(w, "courage", "And when thunder came again, {h} and {f} [looked at each other and began to tell jokes|were not so frightened].", "{x} became a good friend, in every kind of weather.", together=True)
    assert f and x


def _meal(w: World) -> bool:
    w.cast["meal"] = w.fresh(FOODS)
    return True


def race(w: World) -> None:
    """A race with a boastful rival: lost by hurry, won by patience, or given up for a kindness."""
    h = w.hero()
    w.home()
    r = w.beast([a for a in BY_SKILL["fast"] if "walk" in a.skills and a.kind != h.kind], adjective=w.pick(("boastful", "proud", "speedy", "haughty")))
    w.cast["r"] = r
    w.set_day(weather=w.pick(("sunny", "windy", "cloudy")), time=w.pick(("morning", "afternoon")))
    w.cast["prize"] = w.fresh(FOODS) if w.chance(0.5) else w.text("a [golden|silver|wooden|tin] [cup|medal|bell]")
    opening(w)
    w.say(
        "Every [summer|autumn|year] there was a great race, once around [the lake|the hill|all the fields] and back. The prize was {prize}.",
        "There was going to be a race, and the winner would get {prize}.",
    )
    w.say(
        "\"[I shall win|Nobody can beat me],\" said {r.intro}. \"You are far too slow, {h.call}.\"",
        "Among the runners was {r.intro}, who had won [three times|every year]. \"Do not even try,\" {r} told {h}.",
    )
    w.say("{h} [felt {h.his} ears grow hot|swallowed]. But {h.he} wanted so much to try.", "\"I will try all the same,\" {h.replied}.", "{h} practised every [morning|evening]. The first time {h.he} [fell into a ditch|was out of breath by the gate]. The tenth time went better.")
    w.paragraph()
    w.say("{day}, everyone [lined up|stood at the starting line]. \"Ready, steady, go!\"", "{day}, the whistle blew, and off they went.")
    scene(w)
    w.say("{r} shot ahead like an arrow. {h} was [soon last|left behind in the dust].", "{h} started much too fast. By the first bend {h.he} had a stitch in {h.his} side, and {r} was far ahead.")
    w.say("\"[Breathe|One step, then the next],\" {h} told {h.self}, and ran on.", "{h} did not look at the others. {h.he} looked at the next tree, and then at the next.")
    w.paragraph()
    variant = w.pick(("kind", "kind", "win", "nap"))
    if variant == "kind":
        w.say("Near the end {h} heard a groan. {r} lay in a ditch with a twisted ankle. The finish was [so close|in sight].", "Then {h} came around a corner and saw {r} sitting on the ground, [holding {r.his} foot|unable to stand].")
        w.say("{h} could have run past and won. But {h.he} stopped. \"Lean on me,\" {h.said}.", "\"Run on,\" {r.sighed}. \"You can win.\" \"I would rather help you,\" {h.replied}.")
        w.say("Together they hobbled over the line, last of all. And the [crowd|whole crowd] cheered louder than ever before.", "They came in long after the others, and everyone rose to [clap|cheer].")
        w.say("\"I was [unkind|nasty] to you,\" {r.said}. \"And you [stopped|helped me]. You are the real winner.\"", "The winner came over and gave {h} half of the prize.") if "medal" not in str(w.cast["prize"]) else w.say("\"I was unkind to you,\" {r.said}. \"You are the real winner.\"")
        theme = "kindness"
    elif variant == "win":
        w.say("{r} looked over {r.his} shoulder, [to laugh|to wave], and ran straight into [a puddle|a washing line|a haystack].", "{r} stopped to [bow to the crowd|comb {r.his} whiskers|tell everyone how fast {r.he} was].")
        w.say("{h} ran by, [puff, puff, puff|step by step], and over the line. {h.he} had won!", "On and on went {h}, and before {r} knew what had happened, {h} was first!")
        w.say("\"How did you do that?\" {r.asked}. \"I just did not stop,\" {h.replied}.", "{h} held up {prize}, and even {r} had to clap.")
        theme = "patience"
    else:
        w.say("{h} did not win. {h.he} did not come second, either. {h.he} came [seventh|ninth|last but one].", "{r} won again, of course. {h} came in [red in the face|gasping], in [eighth|sixth] place.")
        w.say("But {h} had run [the whole way|farther than ever before], without stopping once.", "\"Last year I did not dare to start,\" {h.said}. \"Next year I will be [fifth|fourth].\"")
        w.say("\"You did not give up,\" {r.said}, and {r.he} sounded surprised. \"[Shall we train together|Will you run with me tomorrow]?\"", "{r} shared {prize} with {h.him}." if "cup" not in str(w.cast["prize"]) else "{r} let {h.him} hold the prize for a moment.")
        theme = "courage"
    glad(w)
    ending(w, theme, "From then on they [trained|ran] together every morning.", "{h} [fell asleep with {h.his} shoes on|dreamed of running all night].")


def cave(w: World) -> None:
    """Something is in the dark cave; it turns out to be other than feared."""
    h = w.hero()
    w.home()
    w.friend(h) if w.chance(0.5) else w.sibling(h)
    x = w.helper(w.pick(("dig", "strong", "small")))
    w.thing(TREASURES)
    w.cast["noise"] = w.pick(("a long low moan", "a rumbling growl", "a scratching sound", "a hollow boom", "somebody sobbing"))
    w.cast["cave"] = w.pick(("a dark cave", "an old mine", "a black tunnel", "a deep cellar under the ruins"))
    w.cast["dark"] = w.cast["cave"].split(" ", 1)[1].split(" under")[0]  # type: ignore[union-attr]
    opening(w)
    w.say("Not far away there was {cave}, and nobody ever went in. \"[A monster lives there|It eats lanterns],\" people said.", "Everyone [stayed away from|was afraid of] {cave} nearby. At night {noise} came out of it.")
    w.say("{day}, {h} and {f} stood in front of it. \"[I dare you|You first],\" {f.said}.", "{day}, their [ball|hoop] rolled in, bounced twice and was gone. \"We have to get it,\" {h.said}.")
    w.say("{h.s} knees [shook|wobbled], but {h.he} [lit a candle|took a lantern|held up a torch]. \"Together,\" {h.whispered}.", "\"I will go in if you hold my hand,\" {h.said}.")
    w.paragraph()
    w.say("Inside it was cold. Water dripped, [plink, plonk|drop by drop], and their shadows [danced|stretched] along the walls.", "Step by step they went in. It smelled of [stone and old rain|mushrooms|wet wool].")
    w.say("Something [brushed against|touched] {h.s} cheek. It was only a cobweb, but they both ran out again, screaming.", "Then a drop of water put out the light. They turned and ran until they were back in the [daylight|open air].")
    w.say("\"That was [only water|silly],\" {h.said} when {h.he} could breathe again. \"Once more?\" \"Once more,\" {f.replied}.", "They looked at each other and had to laugh. Then they tried again, [more slowly|singing loudly].")
    w.say("Deeper inside, there it was: {noise}! And two [eyes|lights] gleamed in the dark.", "Then they heard it: {noise}, quite near. {f} [squeezed {h.s} hand|hid behind {h}].")
    w.paragraph()
    w.say("\"Who is there?\" {h.asked}, as bravely as {h.he} could. \"Only me,\" said a voice. It was {x.an}!", "{h} held up the light with a trembling hand. There sat {x.an}, [blinking|with a blanket around {x.him}].")
    w.say("\"I am [stuck|lost] in here,\" {x.said}, \"and when I call for help, everybody runs away.\"", "\"Please do not go,\" {x.said}. \"I am so lonely. I sing to myself, but it [comes out all echoes|sounds rather grim in here].\"", "\"You gave me such a fright,\" {x.said}. \"I thought that you were the monster!\"")
    w.say("{h} nearly burst out laughing. That was the terrible monster!", "\"We were afraid of you,\" {h.said}, \"and you were afraid of us!\"")
    w.say("They led {x} out into the [sun|fresh air], and {x} gave them {t.full}, which {x.he} had found in the deepest corner." if w.weather == "sunny" else "They led {x} out into the fresh air, and {x} gave them {t.full}, which {x.he} had found in the deepest corner.",
          "{x} showed them a hall full of [crystals|glowing worms|white stone flowers], more beautiful than any palace.")
    ending(w, "courage", "After that, the [children|young ones] of the whole place came to visit {x}, and nobody was afraid of the {dark} any more.", "And at night, when {noise} came from the {dark}, {h} only smiled. \"Good night, friend,\" {h.he} said.", together=True)
    assert x


def river(w: World) -> None:
    """The way is cut off by water; a bridge, raft or friend is needed."""
    h = w.hero()
    w.home()
    g = w.elder(h, "grandmother", "grandfather", "aunt", "uncle")
    w.cast["meal"] = w.fresh(FOODS)
    w.cast["water"] = w.pick(("river", "stream", "brook", "canal"))
    w.helper(w.pick(("swim", "strong")))
    opening(w)
    w.say("{day}, {h} wanted to take {meal} to {g}, who lived on the other side of the {water}.", "{g} lived across the {water}. {day}, {h} set out to visit {g.him}, with {meal} in a basket.")
    scene(w)
    w.say("But the bridge was gone! The [flood|last rain] had carried it off in the night.", "But when {h} came to the {water}, the [water was high and wild|little bridge had fallen in].")
    w.paragraph()
    w.say("First {h} tried to jump from stone to stone. [The third stone rolled|The fourth one was slippery], and splash! ^{h.he} crawled out on the same side as before.", "First {h} threw a plank across, but it was too short and [sailed away|sank with a gurgle].")
    w.say("Then {h.he} built a [raft of sticks|boat of bark]. It floated [beautifully|well], as long as nobody sat on it.", "Then {h.he} tied a rope to a branch to swing across. The branch [broke|bent down], and {h} sat in the mud.")
    sad(w)
    w.say("\"That was [a fine splash|interesting],\" said {x.an}. \"Are you [trying to cross|going somewhere]?\"", "From the reeds came a chuckle. There was {x.an}, who had seen it all. \"Can I help?\" {x.asked}.")
    w.paragraph()
    x = w.cast["x"]
    if "swim" in x.animal.skills:  # type: ignore[union-attr]
        w.say("\"Your raft wants to go with the water,\" {x.said}. \"Make it stronger, and I will push.\" So they bound [logs|reeds and logs] together, and {x} swam behind and steered.", "\"Throw me your rope,\" {x.said}. {x} swam over and tied it to a willow on the far bank, and {h} pulled {h.self} across on a log, hand over hand.")
    else:
        w.say("\"That tree is dead and ready to fall,\" {x.said}. {x.he} pushed and pushed until it crashed down, right across the {water}. \"There is your bridge.\"", "{x} rolled great stones into the water, one after the other, and {h} [filled the gaps with smaller ones|told {x.him} where they should go].")
    w.say("In the middle {h} [wobbled|looked down and went pale]. \"Do not look at the water. Look at me,\" {x.said}.", "Halfway over, the basket tipped, but {h} caught it [just in time|with one hand].")
    w.say("Then {h} stood on the other side, [wet|muddy] and proud.", "\"I made it!\" {h.cried}.")
    thanks(w, "x") if w.chance(0.7) else glad(w)
    ending(w, "help", "{g} was so pleased that {g.he} [set three places at the table|laughed until {g.his} sides ached], and they shared {meal}, all three of them.", "\"How did you get across?\" {g.asked}. \"With a friend,\" {h.replied}.")
    assert g


def song(w: World) -> None:
    """The hero must sing or play before everyone, and loses courage, and finds it."""
    h = w.hero()
    w.home()
    f = w.friend(h)
    w.cast["act"], w.cast["acting"] = w.pick((("sing", "singing"), ("play the flute", "playing"), ("recite a poem", "reciting"), ("dance", "dancing"), ("beat the drum", "drumming"), ("play the fiddle", "fiddling")))
    w.cast["feast"] = w.pick(("harvest festival", "midsummer feast", "lantern night", "spring fair", "winter concert", "wedding of the miller"))
    opening(w)
    w.say("Most of all {h} loved to {act}, but only when [nobody was listening|{h.he} was alone].", "{h} could {act} more beautifully than anyone, but {h.he} had never done it in front of others.")
    w.say("{day}, {f} heard {h.him}. \"You must do that at the {feast}!\" {f.cried}.", "{day}, they needed somebody to {act} at the {feast}. \"I know who can,\" {f.said}, and pointed at {h}.")
    w.say("\"Me? In front of everybody?\" {h} turned [pale|green]. But {h.he} said yes, in a very small voice.", "{h} wanted to say no. Somehow it came out as yes.")
    w.paragraph()
    w.say("At the first rehearsal {h} [opened {h.his} mouth, and nothing came out but a squeak|forgot everything and ran away].", "{h} practised in the [woodshed|cellar|henhouse], where it went well, and then on the stage, where {h.his} legs turned to [jelly|pudding].")
    sad(w)
    w.say("\"I cannot do it,\" {h.sighed}. \"Then do it only for me,\" {f.replied}. \"Do not look at the others.\"", "\"What if I make a mistake?\" {h.asked}. \"Then make it loudly,\" {f.replied}, \"and [go on|smile].\"")
    w.say("So every day one more listener came: first {f}, then [a hen|the cat], then [the baker's twins|three old aunts].", "They practised together, {f} beating time with a spoon, until {h} could do it [with {h.his} eyes shut|even with somebody watching].")
    w.paragraph()
    w.say("Then the great evening came. There were [hundreds of faces|lights everywhere]. {h} could not move.", "The night of the {feast} arrived. {h} stepped out, and [{h.his} heart thumped like a drum|everything went quiet].")
    w.say("Then {h.he} saw {f} in the front row, holding up the spoon. {h} [took a breath|smiled] and began.", "{f} [winked|nodded]. So {h} looked only at {f}, and began, softly at first.")
    w.say("There was one wrong note. {h} went on, and [nobody minded|it made no difference].", "The {acting} grew stronger and freer, and people [leaned forward|forgot their cakes].")
    w.say("When it was over, there was a silence. Then the clapping began, and it would not stop.", "\"More! More!\" everybody shouted, and [hats flew into the air|somebody wept into a handkerchief].")
    glad(w)
    ending(w, "courage", "\"Were you afraid?\" {f.asked}. \"Terribly,\" {h.replied}. \"May I do it again tomorrow?\"", "And the next year {h} [asked to go first|helped another shy one to begin].")
    assert f


def growing(w: World) -> None:
    """A seed is planted, neglected or overwatched, and grows in its own time."""
    h = w.hero()
    w.home()
    g = w.elder(h) if w.chance(0.6) else w.neighbour("g")
    seed, w.cast["bloom"] = w.pick(SEEDS).split(":")
    w.cast["seed"] = seed
    w.set_day(weather=w.pick(("sunny", "windy", "cloudy", "rainy")), time=w.pick(("morning", "day")))
    opening(w)
    w.say("{day}, in spring, {g} gave {h} a {seed} seed. \"It needs earth, water, light,\" {g.said}, \"and [time|one more thing: patience].\"", "{day}, in early spring, {h} found a seed in [a drawer|an old coat|the dust]. \"A {seed} seed,\" {g.said}. \"Plant it and see.\"")
    w.say("{h} dug a hole, put the seed in and [patted the earth flat|wished it good night].", "So {h} planted it [by the wall|beside the steps|in a cracked pot], and sat down to wait.")
    w.paragraph()
    w.say("The next morning {h} looked. Nothing! The morning after that, still nothing.", "{h} looked after an hour. {h.he} looked after two. There was [nothing to see|only brown earth].")
    w.say("\"Grow!\" {h.cried}. {h.he} [sang to it|shouted at it|read it a story]. The earth stayed as it was.", "{h} gave it a whole bucket of water, and then another, until there was [a puddle|a small lake].", "{h} dug it up to see whether it had grown, and had to plant it all over again.")
    w.say("\"It is broken,\" {h.sighed}. \"It is busy,\" {g.replied}. \"[It is making roots|You cannot see the first part].\"", "\"Seeds do not hear shouting,\" {g.said}. \"A little water every day. And then leave it in peace.\"")
    w.say("So {h} gave it [one cup|a little] of water a day, no more, and [pulled out the weeds|kept the snails away].", "{h} learned to wait. {h.he} [whittled a label|painted the pot|counted swallows] meanwhile.")
    w.paragraph()
    w.say("Then, one morning, there was a [green|pale green] tip, no bigger than a [mouse's ear|fingernail]!", "And one day the earth cracked, and a tiny shoot [peeped out|lifted its head].")
    if w.chance(0.6):
        w.say("A late frost came. {h} [put {h.his} own hat over the plant|covered it with straw] and [sat beside it until dawn|hardly slept].", "Then a storm bent it to the ground. {h} tied it gently to a stick.", "A hungry [snail|caterpillar] came by. {h} carried it to the far end of the [nettles|field], where it liked things just as well.")
    w.say("It grew [taller and taller|leaf by leaf], as high as {h.s} knee, as high as {h.s} nose.", "Week after week it grew, and so, a little, did {h}.")
    w.say("And in [summer|the long days of July] there it was: {bloom}.", "At last, one fine day, {h} came out and stood still. There was {bloom}!")
    glad(w)
    ending(w, "patience", "{h} saved [some new seeds|new seeds in an envelope] and gave one to [a friend|a small cousin|{g}]. \"It needs time,\" {h.he} said.", "\"You see?\" {g.said}. \"It was busy all along.\"")
    assert g


def craft(w: World) -> None:
    """Learning to do something: it fails, and fails better, and succeeds."""
    h = w.hero()
    w.home()
    g = w.elder(h) if w.chance(0.5) else w.neighbour("g")
    w.cast["skill"], w.cast["first"], w.cast["second"], w.cast["trick"], w.cast["done"] = w.pick((
        ("bake bread", "The loaf came out as flat as a plate.", "The second loaf was as hard as a brick, and the ducks would not touch it.", "Let the dough rest", "the crust was golden, and the whole house smelled of heaven"),
        ("swim", "{h} sank like a stone and came up with weeds on {h.his} head.", "Next {h} splashed so hard that everyone else left.", "Lie on the water as if it were a bed", "{h} floated, and then glided from one side to the other"),
        ("knit", "The scarf was wide at one end and thin at the other.", "The next one tangled around a chair, and had to be cut free.", "Hold the yarn loosely", "a soft warm hat with only one hole in it lay on the table"),
        ("whistle", "Only air came out, and a few crumbs.", "After that {h} blew until {h.his} cheeks hurt, and there was nothing but a hiss.", "Make your mouth as small as a pea", "a clear high note flew out, and a blackbird answered"),
        ("carve", "The horse had five legs.", "The second horse looked more like a potato.", "Look for the shape that is already in the wood", "a small wooden horse stood there, with its head up as if it could hear the wind"),
        ("read", "The letters hopped about like fleas.", "Then {h} mixed up every b and d, and a bog barked in the story.", "Put your finger under each word", "the letters stood still, and {h} read a whole page about a pirate"),
        ("ride a bicycle", "{h} rolled three steps and landed in the hedge.", "The second time {h} met a lamppost.", "Look ahead and not at your feet", "{h} was riding, all alone, with the wind in {h.his} face"),
        ("tie a sailor's knot", "It came undone at once.", "Then {h} tied {h.his} own thumb to the chair.", "Think of a rabbit that goes around a tree and back into its hole", "the knot was tight and true, and it held a whole boat"),
        ("fly a kite", "The kite nosedived into the cabbages.", "Next it chased a cow across the field.", "Wait for the wind to ask you", "the kite stood high up, as still as a star"),
        ("skate", "{h} sat down, hard, eleven times.", "Then {h} slid backwards into a snowman.", "Bend your knees and trust the ice", "{h} was gliding, with long quiet strokes, and even made a turn"),
        ("make a clay bowl", "It slumped like a tired hat.", "The second one flew off the wheel and stuck to the wall.", "Keep your hands wet and your elbows still", "a round bowl stood there, thin and even, as if it had grown"),
        ("play the trumpet", "It sounded like a cow with a cold.", "After that it sounded like two cows.", "Buzz like a bee first", "three notes came out, round and golden, and the dog stopped howling"),
        ("weave a basket", "It had a bottom, but no sides.", "The next had sides, but the apples fell out below.", "Soak the willow first", "there stood a basket that could carry eggs, cats or a small brother"),
        ("mend shoes", "One shoe was sewn to the apron.", "The second shoe had its heel at the front.", "Measure twice before you cut", "the old boots looked ready to walk around the world"),
        ("cook soup", "It tasted of soap.", "The second soup was so salty that the spoon stood up and ran.", "Taste as you go", "the pot was scraped clean, and everyone asked for more"),
    ))
    for key in ("first", "second", "trick", "done"):
        w.cast[key] = w.text(str(w.cast[key]))
    if w.cast["skill"] == "skate":
        w.set_day(weather="snowy")
    elif w.cast["skill"] in ("swim", "fly a kite"):
        w.set_day(weather="windy" if w.cast["skill"] == "fly a kite" else "sunny")
    opening(w)
    w.say("More than anything, {h} wanted to learn to {skill}. {g} could do it [without looking|as easily as breathing].", "{day}, {h} saw how well {g} could {skill}. \"Teach me!\" {h.cried}.")
    w.say("\"It [takes time|is not hard, but it is not quick],\" {g.said}. \"I have time until [supper|four o'clock],\" {h.replied}.", "\"I can surely do that at once,\" {h.said}. {g} only smiled.")
    w.paragraph()
    scene(w)
    w.say("{h} tried. {first}", "The first try was a disaster. {first}")
    w.say("{h} [frowned|gritted {h.his} teeth] and tried again. {second}", "\"Once more,\" {h.said}. {second}")
    w.say("\"I will never learn it!\" {h.cried}, and [stamped {h.his} foot|threw everything into a corner].", "{h} [hid behind the rain barrel|sat under the table] and did not want to come out.")
    sad(w) if w.chance(0.4) else None
    w.paragraph()
    w.say("\"Do you know how often I [failed|got it wrong]?\" {g.asked}. \"A hundred times. I still have [the proof|a scar from it|a box full of bad ones].\"", "{g} sat down beside {h.him}. \"My first try was [worse|much worse],\" {g.said}. \"It frightened the neighbours.\"")
    w.say("\"{trick},\" {g.said}. \"That is the whole secret.\"", "Then {g} showed {h.him} slowly, [three times|step by step]. \"{trick}.\"")
    w.say("{h} tried [every day|each evening] for [a week|two weeks|a month]. It went badly, then not so badly, then [almost well|nearly right].", "The next day it was a little better. The day after, a little worse. But {h} kept on.")
    w.say("And then, on an ordinary [Tuesday|Thursday|Friday], {done}.", "Then, all at once, it happened: {done}.")
    w.paragraph()
    glad(w)
    w.say("\"I did it! Did you see?\" {h.cried}. \"I saw,\" {g.replied}, \"[from the first day on|and I saw all the other times, too].\"", "{g} did not say anything. {g.he} [lifted {g.his} hat|bowed], as one master does to another.")
    ending(w, "patience", "Soon a small cousin came and asked how to {skill}. \"It takes time,\" {h.said}.", "That evening {h} [told everyone about it twice|was too happy to eat].")
    assert g


def sleepless(w: World) -> None:
    """Somebody cannot sleep, tries this and that, and finds what was missing."""
    h = w.hero()
    w.home()
    w.set_day(time="evening")
    w.elder(h, "mother", "father", "grandmother", "grandfather")
    w.sibling(h) if w.chance(0.4) else None
    opening(w)
    w.say("{day}, {h} could not sleep. {h.he} turned to the left, {h.he} turned to the right, and [the pillow was too hot|the bed was full of crumbs].", "{day}, {h} lay awake and looked at the dark. The dark looked back.")
    scene(w)
    w.say("Something [creaked|ticked|scratched] behind the [wall|cupboard|curtain]. What could it be?", "The shadow on the wall looked like [a crocodile|a giant's hand|a wolf with a hat].")
    w.paragraph()
    w.say("{h} counted sheep. At [ninety-nine|forty] one of them [stopped and asked the way|refused to jump], and that was the end of that.", "First {h} drank a glass of water. Then, of course, {h.he} had to get up again.")
    w.say("Then {h.he} hummed a tune, but it was a [marching|dancing] tune and made {h.his} feet twitch.", "Then {h.he} hid under the blanket, where it was [stuffy|darker still].", "Then {h.he} tried to sleep with {h.his} head at the other end. Now {h.his} feet were [lonely|cold].")
    if "f" in w.cast:
        w.say("\"Are you awake?\" {h.whispered}. \"[No|Not at all],\" {f.replied}. \"I cannot sleep either.\"", "\"Stop wriggling,\" {f.sighed} from the other bed. \"I cannot sleep if you cannot.\"")
    w.say("At last {h} crept out of bed and went to {g}. \"I am afraid of the [dark|noises],\" {h.said}.", "\"{g.call}?\" {h.whispered} at the door. \"The night is so [big|long].\"")
    w.paragraph()
    w.say("{g} did not laugh. \"Come,\" {g.said}, \"let us go and meet the night.\" They wrapped themselves in [a blanket|a big shawl] and stepped outside.", "\"Then let us see what it is made of,\" {g.said}, and opened the [window|door].")
    w.say("\"Listen,\" {g.said}. {p.sound}. \"That is how this place breathes when it sleeps.\"" if False else "\"Listen,\" {g.said}. \"That [creak|tick] is the old [gate|house]. It stretches, as you do. That whisper is the wind [going home|tucking in the leaves].\"",
          "They heard an owl. \"She has the night shift,\" {g.said}. \"Somebody is always awake to look after things.\"")
    w.say("{h} looked up. There were [more stars than {h.he} could count|the moon and one bright star], and it was not really dark at all." if w.weather in ("sunny", "windy") else "A small lamp glowed [across the way|in a far window]. Somebody else was awake, too. The dark was not so empty after all.",
          "And the shadow? It was only [a coat on a hook|a branch|the broom]. {h} waved at it, and it did no harm.")
    w.paragraph()
    w.say("{h} yawned. \"The night is [quite friendly|rather nice],\" {h.whispered}.", "\"Good night, gate. Good night, wind,\" {h.whispered}.", "{h} leaned against {g}, and {h.his} eyes grew heavy.")
    w.say("{g} carried {h.him} back to bed, and {h.he} was asleep before {h.his} head touched the pillow.", "Soon the only sound in the room was [a small snore|quiet breathing]." if "f" not in w.cast else "Soon there were two small snores in the room.")
    w.maybe(0.5, "Since then, when something creaks, {h} says, \"Sleep well, old house,\" and turns over.", "In the morning {h} could not remember what had been so frightening.")
    w.paragraph()


def wish(w: World) -> None:
    """Somebody wishes to be other than they are, tries it, and is glad to be as they are."""
    h = w.hero()
    w.home()
    far = w.place("q", [site for site in HOMES if site.noun != w.cast["p"].forms["n"]])  # type: ignore[union-attr]
    x = w.helper("fly")
    opening(w)
    w.say("Yet {h} was not content. \"Here everything is always the same,\" {h.sighed}. \"I want to see {q.a}.\"", "{h} had heard of {q.a}, with {q.sight} and {q.sight2}. How dull it was at home!")
    w.say("So {day}, {h.he} packed [a bundle|a small bag] and set off.", "{day}, {h.he} left a note on the table and slipped out of the door.")
    scene(w)
    w.paragraph()
    w.say("The road was longer than {h} had thought. {h.his} feet [hurt|were sore], and the [bread|cheese] was gone by noon.", "{h} walked and walked. {h.he} slept [under a hedge|in a haystack] and woke with [hay|a beetle] in {h.his} ear.")
    w.say("At last {h} came {q.to}. There were {q.sight} indeed, and {q.sound}. It was [splendid|marvellous], for an hour." if far.forms["sight"] else "", "At last there it was: {q.a}! Everything was new. {h} looked and looked until {h.his} neck hurt.")
    w.say("But nobody knew {h.him} there. \"Out of the way!\" someone shouted. Nobody [said good morning|asked {h.his} name].", "But when evening came, every window had a light, and none of them was for {h.him}.")
    sad(w)
    w.paragraph()
    w.say("On a [post|wall|low roof] sat {x.an}. \"You look [homesick|lost],\" {x.said}. \"What do you miss?\"", "\"Why do you [sigh|look so sad]?\" asked {x.an}. \"I have flown over many lands. Tell me about yours.\"")
    w.say("{h} thought. \"The way [it smells after rain|the light falls on {p.sight}],\" {h.said}. The more {h.he} told, the lovelier it grew.", "\"{p.sight},\" {h.said}, \"and {p.sight2}. And the [third step, which creaks|smell of soup at six o'clock].\"")
    w.say("\"Then it was worth the journey,\" {x.said}. \"Sometimes one must go away to see what is at home.\" And {x.he} showed {h.him} the shortest way.", "\"That sounds like a place worth flying to,\" {x.said}. \"Come, I will show you the way.\"")
    w.paragraph()
    w.say("When {h} saw {p} again, {h.he} began to run.", "Two days later {h} stood {p.in} again. {p.sight} had never looked so fine.")
    w.say("Nothing had changed, and everything was [new|just right].", "There was a light in the window, and this one was for {h.him}.")
    glad(w)
    ending(w, w.pick(("kindness", "care")), "{h} still goes on journeys now and then. But {h.he} always [leaves a lamp burning|comes home for supper].", "\"Was it beautiful there?\" everyone asked. \"Very,\" {h.said}. \"But it did not have you.\"")
    assert x


PLOTS = (storm, race, cave, river, song, growing, craft, sleepless, wish)
