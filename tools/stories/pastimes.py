"""Collections, callings, games, passers-by and smells."""

from __future__ import annotations

from .words import words

COLLECTED = words(
    """
bottle tops; fossils; foreign stamps; pressed maple leaves; chestnuts; riddles; bird calls; snail shells; lost gloves; corks;
pinecones; postmarks; rusty horseshoes; bits of china; sea urchins; dragonfly wings; matchbox labels; rare beetles; smooth flints;
old calendars; tangled string; broken watches; strange words; tongue twisters; ghost stories; candle stubs; wax seals; dried
orchids; tram tickets; sugar cubes; cloud shapes; proverbs; limericks; peacock feathers; copper wire; spare keys; rabbit jokes;
funny vegetables; jigsaw pieces; cherry stones; owl pellets; bubbles in bottles; rainwater; echoes; hiccup cures; ribbons;
sneezes; mushrooms drawn in ink; autographs of snails; secret passwords; empty inkwells; odd spoons; melodies; paper aeroplanes
""",
    ";",
)

CALLINGS = words(
    """
a sea captain; an astronomer; an acrobat; a pastry cook; a detective; an explorer; a trapeze artist; a balloonist; a judge; a
mapmaker; a deep-sea diver; a piano tuner; a chimney sweep; a poet; a veterinarian; a train driver; an inventor; a stage magician;
a bridge builder; a tightrope walker; a puppeteer; a glassblower; a mountain guide; a polite pirate; a firefighter; an
archaeologist; a conductor; a chocolate taster; a champion wrestler; a royal gardener; a botanist; a sculptor; a bell ringer; a
spy; a ship's carpenter; a weather prophet; an opera singer; an architect; a dentist; a pilot
""",
    ";",
)

GAMES = words(
    """
hopscotch; leapfrog; chess; dominoes; tag; hide-and-seek; checkers; blind man's buff; skittles; badminton; croquet; ludo;
charades; jump-the-puddle; tug of war; snap; noughts and crosses; knights and dragons; shipwreck; shopkeepers; explorers;
tiddlywinks; statues; conkers; quoits; musical chairs
""",
    ";",
)

PASSERS = words(
    """
a cart piled with melons; two nuns on bicycles; a procession of ants; a postman with a heavy satchel; a peddler with ribbons and
needles; a flock of starlings; a fat bumblebee; an old man with a parasol; three geese in single file; a caterpillar in no hurry;
a hay wagon; a yellow butterfly; a washerwoman with her bundle; a tinker with jangling kettles; a goatherd; a brass band on its
way to practise; a lonely cloud shaped like a boot; a squadron of dragonflies; a lizard; a hot-air balloon; a mule laden with
pots; a chimney sweep with his ladder; a flight of herons; a jogging schoolmaster; an organ grinder; a thistle seed on its
parachute; a knife grinder; a travelling barber; a mail coach; a grasshopper; a ladybird; a procession of lanterns; a juggler in a
hurry; a choir of frogs; a tortoiseshell cat; a milk van; a pair of woodpigeons; an umbrella without an owner; a runaway wheel; a
sailor with a tattoo; a clumsy moth
""",
    ";",
)

SMELLS = words(
    """
cinnamon; wet stone; sawdust; hyacinths; toasted almonds; tar; vinegar; peppermint; candle wax; leather; jasmine; caramel;
bonfires; seaweed; ripe quinces; resin; lilac; burnt toast; damp wool; vanilla; nettles; roasted coffee; honeysuckle; turpentine;
sage; liquorice; cloves; thunder; new paint; hot iron; elderberry; paprika; soap; rosemary; thyme; fresh ink; gingerbread; juniper
smoke; camomile; rhubarb
""",
    ";",
)
