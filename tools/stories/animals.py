"""Animals with their skills, homes, food and looks."""

from __future__ import annotations

from typing import NamedTuple


class Animal(NamedTuple):
    """Kind of animal."""

    kind: str
    skills: frozenset[str]
    home: str
    food: str
    looks: str


# kind | skills (walk marks those fit to be heroes on foot) | home | food | looks
_TABLE = """
fox|walk small dig|a snug den under the roots of an oak|blackberries|a bushy tail
rabbit|walk small dig fast|a warm burrow in the bank|carrots|long soft ears
hare|walk fast|a hollow in the tall grass|clover|strong back legs
hedgehog|walk small|a pile of dry leaves|crunchy beetles|a thousand neat prickles
squirrel|walk small climb|a hole in an old elm|hazelnuts|a tail like a feather
mouse|walk small dig|a matchbox behind the wall|cheese rinds|whiskers as fine as thread
badger|walk strong dig|a deep sett with seven rooms|mushrooms|a striped face
bear|walk strong climb|a cave lined with moss|honey|paws as big as plates
bear cub|walk climb|a cave with a view|wild honey|a round furry belly
mole|walk small dig|a long tunnel under the meadow|juicy roots|velvet fur
otter|walk swim small|a snug holt|shiny fish|a sleek brown coat
beaver|walk swim strong|a lodge of sticks and mud|willow bark|a broad flat tail
duckling|walk swim small|a nest among the reeds|pondweed|fluffy yellow down
duck|fly swim|a nest among the rushes|water snails|orange feet
goose|fly swim|a shed by the stream|barley|a very long neck
hen|walk small|a wooden henhouse|corn|speckled feathers
rooster|walk small|a perch above the barn|seeds|a scarlet comb
kitten|walk small climb|a basket by the stove|warm milk|white socks
cat|walk small climb|a cushion on the windowsill|cream|green eyes
puppy|walk small dig fast|a box full of old blankets|biscuits|floppy ears
dog|walk dig fast strong|a kennel by the gate|bones|a wagging tail
pony|walk fast strong|a stable with a red door|apples|a tangled mane
donkey|walk strong|a small stone barn|thistles|ears like two spoons
lamb|walk small|a fold on the hillside|sweet grass|curly wool
goat|walk climb strong|a stone hut|turnip tops|a pointed beard
piglet|walk small dig|a sty full of clean straw|turnips|a curly tail
cow|walk strong|a low warm byre|buttercups|long eyelashes
owl|fly|a hollow tree|midnight snacks|round golden eyes
crow|fly|a messy nest of twigs|cherries|glossy black wings
magpie|fly|a thorny hedge|crusts|a long shining tail
robin|fly small|an old teapot in the ivy|worms|a red breast
sparrow|fly small|a gap under the roof|crumbs|dusty brown wings
swallow|fly small fast|a mud nest under the eaves|midges|a forked tail
wren|fly small|a ball of moss|spiders|a loud voice for such a tiny bird
pelican|fly swim|a post at the end of the pier|sardines|an enormous beak
seagull|fly swim|a ledge on the cliff|chips and herring|a bold yellow beak
heron|fly|a platform in the pines|minnows|thin patient legs
stork|fly|a cartwheel on a chimney|frogspawn|long red legs
frog|walk swim small|a lily pad|flies|bulging eyes
toad|walk small|a flowerpot|slugs|a great many warts
turtle|walk swim|a sandy hollow|lettuce|a patterned shell
tortoise|walk|a dry corner of the garden|dandelions|a heavy domed shell
snail|walk small|the shade of a cabbage|cabbage|two waving horns
beetle|walk small dig|a crack in the bark|sap|a coat of shining green
raccoon|walk climb small|a hollow log|sweetcorn|a black mask
wolf cub|walk fast|a den between two boulders|stew|pointed ears
deer|walk fast|a thicket of birches|tender leaves|slender legs
moose|walk strong swim|a mossy clearing|water lilies|antlers like branches
reindeer|walk strong fast|a ring of birches|lichen|velvet antlers
seal|swim|a rock in the bay|mackerel|a whiskery smile
penguin|walk swim small|an igloo of pebbles|krill|a smart black coat
whale|swim strong|the deep blue water|plankton|a back like an island
dolphin|swim fast|the waves beyond the reef|squid|a cheerful grin
elephant|walk strong|a ring of tall trees|bananas|a long grey trunk
monkey|walk climb small|a swaying treetop|mangoes|clever fingers
giraffe|walk strong|a very tall barn|acacia leaves|a neck like a ladder
lion cub|walk fast|a sunny nook|leftovers|a tufted tail
camel|walk strong|a patched tent|dates|two wobbly humps
parrot|fly climb|a branch in the jungle|pistachios|rainbow feathers
llama|walk strong|a pen with a squeaky gate|hay|a proud woolly neck
bat|fly small|an upside-down corner of the attic|moths|leathery wings
chipmunk|walk small climb dig|a tunnel with a pantry|sunflower seeds|striped fur
panda|walk climb strong|a bamboo thicket|bamboo shoots|two black eye patches
koala|walk climb|the fork of a gum tree|eucalyptus|a button nose
kangaroo|walk fast strong|a shady gully|grass and herbs|a roomy pouch
""".strip().splitlines()


def _animals() -> list[Animal]:
    rows = [line.split("|") for line in _TABLE]
    return [Animal(kind, frozenset(skills.split()), home, food, looks) for kind, skills, home, food, looks in rows]


ANIMALS = _animals()
HEROES = [animal for animal in ANIMALS if "walk" in animal.skills and animal.kind not in ("snail", "beetle")]
AT_SEA = {"whale", "dolphin", "seal", "penguin", "pelican", "seagull"}
BY_SKILL = {
    skill: [a for a in ANIMALS if skill in a.skills] for skill in ("fly", "swim", "dig", "climb", "strong", "fast", "small", "walk")
}
