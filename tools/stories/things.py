"""Things by their use, colours, looks, food and seeds."""

from __future__ import annotations

from typing import NamedTuple

from .words import words


class Make(NamedTuple):
    """Sort of thing; `detail` may follow its first mention, and plural ones are `them`."""

    noun: str
    plural: bool
    detail: str


def _makes(table: str) -> tuple[Make, ...]:
    rows = [row.split("=") for row in words(table, ";")]
    return tuple(Make(noun.strip("* "), noun.strip().startswith("*"), detail.strip()) for noun, detail in rows)


TOYS = _makes("""
kite=with a long ribbon tail; ball=that bounced higher than a gate; spinning top=that hummed when it spun; toy boat=with a paper
sail; toy train=with three wagons; rag doll=with button eyes; teddy bear=with one ear; yo-yo=on a knotted cord; rocking horse=with
a woolly mane; wooden sword=carved from ash; hoop=made from a barrel; puppet=with seven strings; jack-in-the-box=that giggled; toy
lorry=with rubber wheels; tin soldier=with a chipped hat; stuffed elephant=with a patched trunk; skipping rope=with painted
handles; paper windmill=on a stick; *marbles=as round as raindrops; *building blocks=in a canvas sack; balloon=as big as a
pumpkin; toy drum=with two sticks; sledge=with iron runners; scooter=with a squeaky wheel; pinwheel=that flashed in the breeze;
wooden duck=on wheels; glider=made of balsa; catapult=for acorns; *stilts=of hazel wood
""")

TREASURES = _makes("""
button=shaped like a star; key=on a leather string; locket=with a tiny picture inside; pocket watch=that ticked like a cricket;
ring=with a glass stone; whistle=carved from bone; compass=that pointed almost north; shell=that whispered when held to the ear;
feather=with a silver edge; coin=with a hole in it; brooch=shaped like a leaf; bracelet=of coral beads; medal=on a striped ribbon;
marble=with a swirl inside; pebble=as smooth as an egg; necklace=of polished seeds; bell=no bigger than a thimble; magnifying
glass=with a horn handle; music box=that played a lullaby; treasure map=with one burnt corner; crystal=that threw rainbows on the
wall; thimble=with roses around the rim; notebook=full of drawings; penknife=with a pearl handle; hair ribbon=of real satin;
purse=with a brass clasp; arrowhead=older than the village; acorn cup=that fitted exactly one drop; snow globe=with a castle
inside; postcard=from across the ocean
""")

CLOTHES = _makes("""
scarf=with long fringes; hat=with a wide brim; cap=with a feather; jacket=with deep pockets; raincoat=that crackled;
jumper=knitted in zigzags; *mittens=on a string; *boots=with shiny buckles; *slippers=shaped like bears; cloak=with a hood;
waistcoat=with six buttons; bonnet=tied with lace; shawl=as light as a cobweb; *gloves=lined with fleece; belt=with a copper
buckle; apron=with a pocket for spoons; *socks=with stripes; bow tie=with polka dots; poncho=from the mountains; *sandals=with
crossed straps
""")

BREAKABLES = _makes("""
teapot=with a painted spout; lantern=with four glass panes; flute=made of reed; fiddle=with a cherrywood back; telescope=with a
brass tube; bicycle=with a wicker basket; wheelbarrow=with one handle mended; umbrella=with a duck for a handle; fishing rod=with
a cork float; paintbox=with twelve colours; vase=with a crane on it; jug=with a curved lip; mirror=in a seashell frame; plate=with
a blue windmill on it; basket=woven from willow; rowing boat=with two oars; ladder=with nine rungs; guitar=with nylon strings;
cuckoo clock=from an uncle in the hills; model ship=with real rigging; watering can=with a long neck; globe=on a wooden stand;
butterfly net=on a bamboo pole; camera=in a worn case; hammock=of knotted rope; storybook=with gold letters; bowl=with a crackled
glaze; snow shovel=with a crooked handle; cart=with wooden wheels; accordion=with pearly keys; wooden spoon=that had stirred a
thousand soups; tent=with a zip that stuck
""")

TOOLS = _makes("""
rope=coiled like a snake; spade=with a sharp edge; net=with small meshes; hook=on a pole; bucket=with a rope handle; broom=of
birch twigs; rake=with a dozen teeth; hammer=with a short handle; saw=with fine teeth; plank=as long as a bed; pulley=that
squeaked; magnet=shaped like a horseshoe; *tongs=from the fireplace; crowbar=from the shed; walking stick=with a crooked end; ball
of string=as fat as a melon; sack=with no holes; candle=in a jar
""")

PRESENTS = _makes("""
blanket=with a border of moons; cushion=stuffed with lavender; bird house=with a round door; picture=of the whole family;
wreath=of dried flowers; quilt=of forty patches; stool=with three legs; mug=with a wobbly handle; bookmark=of pressed violets;
lamp=made from a bottle; box=covered with shells; paper crown=with seven points; garland=of paper stars; wind chime=of old spoons;
weather vane=shaped like a whale; card=that opened like a fan; dream catcher=with three feathers; tea cosy=like a sleeping hen;
bird whistle=of clay
""")

COLOURS = words("""
red blue green yellow purple orange white black brown grey golden silver scarlet crimson turquoise lilac pink violet amber emerald
copper cream rosy
""")
LOOKS = words("""
old new shiny small big wooden painted striped spotted pretty beautiful tiny worn patched bright handsome dusty polished plain
fancy battered splendid delicate sturdy curious lovely simple wonderful
""")

FOODS = words(
    """
a loaf of warm bread; a bowl of pea soup; a slice of plum cake; a bag of roasted chestnuts; three ripe pears; a pot of honey; a
wedge of cheese; a plate of pancakes; a basket of strawberries; a jar of pickles; two boiled eggs; a dish of baked apples; a
handful of walnuts; a cherry tart; a mug of hot cocoa; a bundle of carrots; a potato pie; a ginger biscuit; a bowl of porridge
with cream; a sticky bun; a bunch of grapes; a raspberry pudding; a stack of waffles; a pan of fried mushrooms; a lemon cake; a
cup of barley broth; a dozen dumplings; a carrot muffin; a corn fritter; a spoonful of jam; a crusty roll with butter; a pumpkin
pie; an oatcake; a slice of melon; a bowl of noodles; a peach dumpling
""",
    ";",
)
SEEDS = words(
    """
sunflower:a golden face as wide as a plate; pumpkin:one enormous orange pumpkin; bean:a curtain of scarlet flowers and long green
pods; rose:a single dark red bud; tomato:small round fruit, warm as pockets; apple:a crown of pink blossom; strawberry:berries
like little hearts; tulip:a striped cup full of light; cherry:white petals that fell like snow; pea:curly tendrils and fat pods;
lemon:seven sour suns; watermelon:a melon too heavy to lift; poppy:petals as thin as silk; lavender:purple spikes humming with
bees; daisy:a hundred white stars; radish:rosy roots that bit the tongue; marigold:orange blooms as bright as buttons; oak:three
brave little leaves; grape:dusty blue bunches; cornflower:a patch of sky among the stones; foxglove:a tower of spotted bells;
cucumber:prickly cucumbers as long as an arm
""",
    ";",
)
