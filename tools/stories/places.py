"""Places with their prepositions, sights and sounds, and the spots where lost things are found."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """Sort of place; `lived` is True if somebody may have a home there."""

    noun: str
    preposition: str
    ground: str
    lived: bool
    adjectives: tuple[str, ...]
    sights: tuple[str, ...]
    sounds: tuple[str, ...]


# noun | preposition | ground | lived in | adjectives | sights | sounds
_TABLE = """
forest|in|wild|y|deep green|tall pines,curling ferns,patches of moss|twigs cracked underfoot,a cuckoo called twice
wood|in|wild|y|old quiet|twisted beeches,bluebells,rotting stumps|woodpeckers knocked on the trunks,leaves rustled overhead
village|in|town|y|small sleepy|crooked chimneys,a stone well,washing on the lines|church bells rang,somebody was chopping wood
harbour|by|shore|y|busy little|fishing boats,lobster pots,heaps of rope|gulls screamed over the masts,waves slapped against the wall
farm|on|farm|y|big muddy|haystacks,a rusty tractor,rows of beans|pigs grunted in the yard,hens clucked by the gate
mountain|on|wild|y|high snowy|sharp rocks,goat tracks,patches of snow|the wind whistled between the stones,a far bell tinkled
market|at|town|n|noisy colourful|barrels of herring,cabbages,striped awnings|sellers shouted their prices,coins clinked in tin boxes
school|at|town|n|friendly little|rows of coats,a cracked blackboard,chalky sills|children chattered in the yard,chalk squeaked somewhere
meadow|in|wild|y|wide sunny|buttercups,thistles,nodding poppies|bees hummed in the clover,grasshoppers chirped
valley|in|wild|y|green narrow|stone walls,grazing sheep,a winding road|a stream murmured,sheep bleated on the slopes
beach|on|shore|n|long windy|driftwood,ribbons of seaweed,broken shells|the waves hissed on the sand,pebbles clattered in the surf
island|on|shore|y|tiny faraway|palm trees,tide pools,a leaning lighthouse|the sea boomed in the caves,terns shrieked overhead
river|by|water|y|broad lazy|willows,floating logs,bulrushes|the water gurgled,a fish splashed
lake|by|water|y|calm silver|reeds,a wooden jetty,drifting feathers|frogs croaked in the reeds,ripples lapped at the shore
pond|by|water|y|round muddy|lily pads,dragonflies,cattails|toads grumbled,a duck quacked at nothing
garden|in|farm|n|tangled flowery|rose bushes,beds of lettuce,a mossy statue|bumblebees buzzed,a sprinkler ticked
orchard|in|farm|y|shady old|apple trees,fallen plums,wooden crates|wasps droned over the fruit,branches creaked
hill|on|wild|y|grassy round|gorse,rabbit holes,a lonely thorn tree|larks sang high above,the grass whispered
castle|in|town|y|crumbling grand|ivy,a dry moat,suits of armour|a flag snapped in the wind,footsteps echoed
mill|at|water|y|creaky old|sacks of flour,white dust,a turning wheel|the wheel rumbled,water dripped from the paddles
city|in|town|y|big bustling|tall houses,tramlines,lampposts|bicycle bells jingled,trams rattled past
town|in|town|y|cheerful little|cobbled streets,flower boxes,a clock tower|shutters banged,the clock struck the hour
desert|in|wild|y|dry golden|dunes,cactuses,the bones of an old cart|sand hissed across the stones,nothing stirred
jungle|in|wild|y|steamy tangled|vines,orchids,giant leaves|monkeys hooted,warm drops pattered down
swamp|in|water|y|misty brown|mangroves,bubbling mud,hanging moss|mosquitoes whined,something went plop
cliff|on|shore|y|steep white|nesting puffins,sea pinks,a rusty rail|the sea growled far below,wind moaned in the cracks
moor|on|wild|y|lonely purple|heather,boggy puddles,standing stones|a curlew cried,the wind sighed
park|in|town|n|leafy pleasant|swings,a bandstand,iron benches|a fountain splashed,children squealed on the slide
station|at|town|n|draughty grey|suitcases,a ticket window,steel rails|a whistle blew,engines puffed
library|in|indoor|n|hushed dusty|tall shelves,leather chairs,stacks of books|pages turned,the floorboards creaked
bakery|in|indoor|n|warm floury|trays of rolls,a brick oven,jars of sugar|the oven crackled,a bell tinkled over the door
barn|in|indoor|n|draughty red|bales of straw,cobwebs,an old saddle|swallows twittered in the rafters,a mouse scratched
attic|in|indoor|n|dim cluttered|trunks,broken chairs,hatboxes|rain ticked on the tiles,a beam groaned
workshop|in|indoor|n|crowded tidy|wood shavings,jars of nails,a lathe|a hammer tapped,glue bubbled in a pot
kitchen|in|indoor|n|cosy cluttered|copper pans,strings of onions,a wobbly table|the kettle sang,spoons clattered
greenhouse|in|indoor|n|hot steamy|seedlings,clay pots,climbing cucumbers|water dripped,a bee bumped against the glass
theatre|in|indoor|n|splendid little|velvet curtains,painted scenery,rows of seats|somebody tuned a violin,the stage boards squeaked
campsite|at|wild|n|merry crowded|canvas tents,smoky fires,folding chairs|someone strummed a banjo,pans rattled
vineyard|in|farm|y|sunny terraced|crooked vines,stone steps,baskets of grapes|crickets sang,a cart squeaked
prairie|on|wild|y|endless windy|waving grass,tumbleweeds,a lone windmill|the grass swished,a coyote yipped far off
canyon|in|wild|y|red echoing|striped rocks,dusty ledges,a dry creek|every word came back twice,stones rattled down
glacier|by|wild|n|cold shining|blue ice,deep cracks,frozen waterfalls|the ice groaned,meltwater trickled
fjord|by|shore|y|deep still|black cliffs,red cabins,upturned boats|a waterfall roared,oars dipped in the water
lagoon|by|shore|y|warm turquoise|corals,outrigger canoes,bright crabs|palms rattled,the reef muttered
bay|by|shore|y|quiet curved|anchors,salt grass,a row of beach huts|buoys clanged,the tide sighed
bridge|by|water|n|long wooden|mossy planks,rope rails,swirling water|boards thumped,the river chattered below
lighthouse|in|shore|y|tall lonely|spiral stairs,oily lamps,round windows|the foghorn moaned,waves thudded on the rocks
square|in|town|n|sunny cobbled|pigeons,coffee tables,a marble fountain|an accordion wheezed,pigeons cooed
playground|at|town|n|crowded sunny|climbing frames,a sandpit,a seesaw|chains jingled,somebody counted to twenty
quarry|at|wild|n|dusty abandoned|boulders,rusted rails,pools of rainwater|pebbles slid,an echo answered
windmill|by|farm|y|white creaking|canvas sails,wheat fields,sacks of grain|the sails swished,gears clunked
waterfall|by|water|n|roaring bright|wet ferns,slippery stones,rainbow mist|the water thundered,spray hissed
marsh|in|water|y|flat whispering|sedges,stilt birds,winding channels|snipe drummed,mud squelched
hedgerow|in|farm|y|thick thorny|brambles,hawthorn,snail shells|sparrows squabbled,dry leaves scratched
grove|in|wild|y|shady peaceful|olive trees,wild mint,warm stones|cicadas buzzed,a dove cooed
cove|in|shore|n|hidden sandy|sea glass,barnacles,a wrecked dinghy|small waves hushed,a seal barked
pasture|in|farm|y|gentle green|cowpats,a salt lick,wooden fences|cowbells clonked,calves mooed
snowfield|in|wild|n|white glittering|drifts,fox tracks,icicles|snow crunched,the frost crackled
bamboo thicket|in|wild|y|cool swaying|green stems,dry leaves,thin sunbeams|stems knocked together,a warbler trilled
caravan park|in|town|y|jolly windy|painted wagons,bunting,folding steps|kettles whistled,a dog barked
savanna|on|wild|y|hot yellow|acacias,anthills,zebra tracks|lions coughed far away,dry grass crackled
street market|at|town|n|lively crowded|paper lanterns,spice heaps,baskets of limes|drums thumped,pans sizzled
fishing village|in|shore|y|salty cheerful|nets,whitewashed cottages,barrels|masts creaked,men sang on the pier
""".strip().splitlines()


def _sites() -> list[Site]:
    rows = [line.split("|") for line in _TABLE]
    return [
        Site(noun, preposition, ground, lived == "y", tuple(adjectives.split()), tuple(sights.split(",")), tuple(sounds.split(",")))
        for noun, preposition, ground, lived, adjectives, sights, sounds in rows
    ]


SITES = _sites()
HOMES = [site for site in SITES if site.lived]
OUTDOORS = [site for site in SITES if site.ground != "indoor"]

# Spots of lost things, by the skill that reaches them and by the ground.
SPOTS: dict[str, dict[str, tuple[str, ...]]] = {
    "high": {
        "wild": ("at the top of a tall beech", "in the highest fork of a pine", "on a ledge far above the path"),
        "town": ("on the roof of the old chapel", "on top of a chimney", "at the top of a lamppost"),
        "shore": ("at the top of a mast", "on a ledge of the cliff", "on the roof of a boathouse"),
        "farm": (
            "on the roof of the cowshed",
            "at the top of the tallest pear tree",
            "on the arm of the scarecrow, behind the angry geese",
        ),
        "water": ("in a branch that leaned far over the water", "in the crown of a willow", "on the roof of the boat shed"),
    },
    "wet": {
        "wild": ("in a deep pool under the rocks", "in the middle of a cold tarn"),
        "town": ("at the bottom of the fountain", "in the deep green water of the canal"),
        "shore": ("on a rock with water all around it", "under the waves beside the pier"),
        "farm": ("at the bottom of the duck pond", "in the cattle trough, among the weeds"),
        "water": ("in the middle of the water", "among the water lilies, far from the bank"),
    },
    "deep": {
        "wild": ("down a narrow hole between the roots", "in a crack in the rocks"),
        "town": ("down a drain beside the pavement", "behind the bars of a cellar window"),
        "shore": ("in a deep crack between two rocks", "under the planks of the jetty"),
        "farm": ("down a long dark burrow", "under the floor of the henhouse"),
        "water": ("down a muddy hole in the bank", "in the tangled roots of an alder"),
    },
    "heavy": {
        "wild": ("under a fallen log", "beneath a great flat stone"),
        "town": ("under a heavy cart", "behind a stack of full barrels"),
        "shore": ("under an upturned boat", "beneath a pile of wet nets and anchors"),
        "farm": ("under a toppled haystack", "behind a heavy trough"),
        "water": ("under a log that the flood had left", "beneath the old millstone"),
    },
}
