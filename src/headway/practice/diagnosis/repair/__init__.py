"""Search for the smallest change of a learner's own code after which every probe matches.

    program → changes of its syntax tree, cheapest first → outputs of the changed program → the first change that matches everywhere

The search for changes knows nothing of the catalogue of mistakes: what it finds is proved by running the changed program. Only if no change
makes the program right, changes are tried after which a known mistake explains the outputs. The search counts evaluations, not seconds, so the
result does not depend on the speed of the machine.
"""

from headway.practice.diagnosis.repair.search import find_repair

__all__ = ["find_repair"]
