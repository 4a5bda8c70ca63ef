"""Table of the accuracy of `headway check` at the end of a test run, one row per part."""

from __future__ import annotations

import re
from collections import defaultdict

MADE = re.compile(r"test_a_function_with_a_mistake_is_wrong_and_the_mistake_is_named\[(\w+)-")
WRITTEN = re.compile(r"test_hand_written_functions_get_the_verdict_in_their_name\[(\w+?)(?:__\w+?)?:(right|wrong)", re.IGNORECASE)
CATALOGUED = "catalogued_mistake"
"""Property of a test of a hand-written function, with a mistake of the catalogue and the number of functions with it that need not be made."""


def write_score(terminalreporter):
    counted: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    catalogued: dict[tuple[str, str, int], bool] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            made, written = MADE.search(report.nodeid), WRITTEN.search(report.nodeid)
            if made:
                counted[made[1]]["detected"].append(outcome == "passed")
                counted[made[1]]["first"].append(("is_named_first", True) in report.user_properties)
            elif written:
                counted[written[1]][written[2].lower()].append(outcome == "passed")
                for key in [(written[1], *value) for name, value in report.user_properties if name == CATALOGUED]:
                    catalogued[key] = catalogued.get(key, True) and outcome == "passed"
    for (part, _, number), is_named in catalogued.items():
        for column in ("detected", "first"):
            counted[part][column] += [is_named] * number
    if not counted:
        return
    columns = ("detected", "first", "right", "wrong")
    terminalreporter.section("how headway check judges")
    terminalreporter.write_line(
        f"{'':32}" + "".join(f"{each:>18}" for each in ("mistakes detected", "named first", "right accepted", "wrong named"))
    )
    for part in [*sorted(counted), "all"]:
        rows = counted.values() if part == "all" else [counted[part]]
        shares = [[is_so for row in rows for is_so in row[each]] for each in columns]
        terminalreporter.write_line(f"{part:32}" + "".join(f"{f'{sum(each)}/{len(each)}':>18}" for each in shares))
