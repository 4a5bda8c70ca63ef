"""Listed names, family relations, trades and character traits."""

from __future__ import annotations

from .words import words

GIRLS = words("""
Mia Anna Lily Emma Nora Ella Ruby Clara Rosa Ivy Hazel Maya Zoe Lucy Grace Alice Molly Sophie Eva Nina Tessa Amy Wren Leila Priya
Hana Yuki Mei Ines Lena Greta Freya Astrid Sara Amina Zara Layla Fatima Asha Nia Imani Olive Daisy Poppy Violet Iris June May
Pearl Stella Luna Cora Dora Flora Thea Bea Edith Ada Martha Hannah Ruth Naomi Esther Miriam Kate Jane Meg Peggy Polly Betty Tilly
Millie Elsie Annie Sally Wendy Carmen Lola Paloma Bianca Gia Sofia Elena Irina Katya Anya Noor Salma Rania Kiri Moana Ayla Sunniva
Ingrid Linnea Saoirse Niamh Maeve Orla
""")

BOYS = words("""
Tom Ben Sam Leo Max Jack Finn Noah Owen Eli Hugo Felix Oscar Theo Luke Adam Peter Paul Simon David Daniel Henry Arthur Albert
Walter Ravi Arjun Kofi Kwame Jamal Omar Ali Hassan Yusuf Karim Kenji Hiro Taro Wei Jin Mateo Diego Pablo Marco Luca Enzo Nico Ivan
Boris Anton Emil Axel Lars Sven Erik Nils Otto Fritz Karl Jonah Caleb Silas Levi Asher Rowan Robin Toby Freddie Alfie Archie
Charlie George Harry Billy Bobby Teddy Danny Joey Timmy Colin Duncan Angus Callum Rory Declan Cormac Liam Kieran Milo Hamish Bruno
Jasper Rufus Wilfred Edmund Basil Cyril Ezra Tariq Samir
""")

ANIMAL_GIRLS = words("""
Pip Clover Willow Bramble Maple Juniper Pepper Honey Nutmeg Tansy Fern Dewdrop Pebble Snowdrop Cinnamon Marigold Bluebell Thistle
Velvet Ginger Biscuit Peaches Mitten Pumpkin Tulip Sorrel Saffron Berry Misty Button
""")

ANIMAL_BOYS = words("""
Rusty Bristle Barnaby Acorn Chestnut Whiskers Patch Dusty Smudge Rocky Flint Burdock Bracken Moss Copper Twig Nibbles Scamper
Sooty Hopper Tumble Pickle Waffles Crumb Bumble Fidget Murdo Quill Hobnob Wellington
""")

SURNAMES = words("""
Potter Finch Brown Applegate Marsh Pennywhistle Green Wood Hill Partridge Butterworth Plum Thimble Barley Flint Larkin Moss
Crabtree Tanner Winter Bell Quigley Rosen Okafor Silva Tanaka Novak Petrov Haddad Rao
""")

VILLAGES = words("""
Applewick Thornby Millbrook Seaholm Windle Foxley Oldbridge Marlow Pennick Greenhollow Whitcombe Littlemarsh Dunmore Saltby Hollin
Brackenford Elmsworth Stonehaven Tidewell Larkfield Nettleton Robinsdale
""")

# relation: (gender, what one calls them)
ELDERS = {
    "mother": ("f", "Mama"),
    "father": ("m", "Papa"),
    "grandmother": ("f", "Grandma"),
    "grandfather": ("m", "Grandpa"),
    "aunt": ("f", "Auntie"),
    "uncle": ("m", "Uncle"),
}

JOBS = words("""
baker miller blacksmith gardener fisherman shepherd beekeeper librarian teacher tailor carpenter postman shopkeeper cobbler
clockmaker weaver farmer potter gamekeeper innkeeper doctor woodcutter ferryman painter musician cheesemaker basketmaker
candlemaker nurse toymaker
""")

# trait: sentences about somebody who has it; {h} is that somebody
TRAITS: dict[str, tuple[str, ...]] = {
    "curious": (
        "{h.he} asked questions [from breakfast until bedtime|about everything|that nobody could answer].",
        "{h.he} wanted to know [why the moon changed its shape|where the wind slept|what was behind every door].",
    ),
    "cheerful": (
        "{h.he} [whistled|hummed|sang] [all day long|while {h.he} worked|even in the rain].",
        "{h.he} woke up [smiling|laughing] almost every morning.",
    ),
    "shy": (
        "{h.he} [liked to watch more than to talk|often hid behind {h.his} own shadow|spoke so softly that others had to lean close].",
        "When strangers came, {h.he} [looked at the ground|grew very quiet|forgot every word {h.he} knew].",
    ),
    "brave": (
        "{h.he} was not afraid of [spiders|thunder|the dark|the barking dog down the lane].",
        "{h.he} [climbed the tallest trees|was always the first to jump|had once chased away a goose].",
    ),
    "clever": (
        "{h.he} could [solve any riddle|fix almost anything with string|count to a thousand without stopping].",
        "{h.he} always had [a plan|an idea|a pencil and a plan].",
    ),
    "gentle": (
        "{h.he} [carried beetles off the path|never stepped on a flower|moved snails out of the way of carts].",
        "Even [the wild birds|butterflies|the grumpiest cats] came close to {h.him}.",
    ),
    "stubborn": (
        "When {h.he} made up {h.his} mind, [nothing could change it|not even a hurricane could move {h.him}].",
        "{h.his} favourite word was [no|mine|why not].",
    ),
    "careless": (
        "{h.he} [forgot {h.his} hat|left things behind|spilled {h.his} milk] [almost every day|wherever {h.he} went].",
        "{h.he} was always in such a hurry that {h.he} [tripped over {h.his} own feet|put things in the wrong place].",
    ),
    "proud": (
        "{h.he} thought that {h.he} did everything [best|better than anyone].",
        "{h.he} did not like [to ask for help|to be told what to do|to lose].",
    ),
    "dreamy": (
        "{h.he} could watch [the clouds|the falling leaves|a single ant] for [an hour|a whole afternoon].",
        "{h.he} [saw dragons in the clouds|made up stories about the stars|listened to the grass growing].",
    ),
    "helpful": (
        "{h.he} [carried baskets for the neighbours|swept the path without being asked|liked nothing better than a useful job].",
        "If somebody needed a hand, {h.he} [came running|was there first].",
    ),
    "impatient": (
        "{h.he} hated [waiting|sitting still|standing in line] [more than cold porridge|more than anything].",
        "{h.he} wanted everything [at once|now, not later|before breakfast].",
    ),
    "funny": (
        "{h.he} could make [even the crossest goose|the whole family|a stone] laugh.",
        "{h.he} [told jokes to the turnips|wore a saucepan as a hat|could wiggle both ears].",
    ),
    "kind": (
        "{h.he} [shared {h.his} lunch|noticed when others were sad|had a good word for everyone].",
        "{h.he} [said good morning to every tree|never forgot a birthday|saved crumbs for the sparrows].",
    ),
    "timid": (
        "{h.he} was afraid of [loud noises|deep water|the dark], and a little afraid of [moths|sneezing|the moon].",
        "{h.he} jumped when [a leaf fell|a door creaked|somebody said hello].",
    ),
    "busy": (
        "{h.he} was always [building|digging|making|mending] something.",
        "{h.his} pockets were full of [string and nails|useful bits|bent spoons and good plans].",
    ),
    "quiet": (
        "{h.he} did not say much, but {h.he} [heard everything|thought a great deal].",
        "{h.he} liked [soft rain|early mornings|still water] and [long walks|old books|thick blankets].",
    ),
    "hungry": (
        "{h.he} thought about [pancakes|supper|pie] [most of the time|even while sleeping].",
        "{h.he} could smell [fresh bread|a biscuit] from [a mile away|three hills away].",
    ),
    "adventurous": (
        "{h.he} had a map of [every path|all the places {h.he} meant to see].",
        "{h.he} wanted to [sail around the world|see what lay beyond the last hill|sleep under the stars].",
    ),
    "patient": (
        "{h.he} could [wait all day for a fish|untangle any knot|sit as still as a stone].",
        "{h.he} [never hurried|took {h.his} time], and things [usually came out well|seldom broke in {h.his} hands].",
    ),
    "sleepy": (
        "{h.he} could fall asleep [standing up|in the middle of a sentence|on a fence].",
        "{h.he} yawned [before breakfast, after breakfast|at noon] and [once in between|all through the afternoon].",
    ),
    "thoughtful": (
        "{h.he} [looked twice before {h.he} jumped|thought before {h.he} spoke|kept a notebook full of ideas].",
        "{h.he} noticed [small things|what others missed]: [a bent feather, a new bud|a crack in a shell, a change in the wind].",
    ),
    "noisy": (
        "Everyone heard {h.him} coming, for {h.he} [banged every gate|stamped in every puddle|sang at the top of {h.his} voice].",
        "{h.he} had two ways of talking: [loud and very loud|shouting and singing].",
    ),
    "tidy": (
        "{h.he} kept [{h.his} acorns in rows|{h.his} shells in little boxes|every spoon in its place].",
        "{h.he} [dusted the windowsill twice a day|folded even the dishcloths|could not bear a crumb on the floor].",
    ),
}

PLAIN_ADJECTIVES = words("""
little small young tiny lively merry bright friendly cheeky plump skinny nimble scruffy
""")
