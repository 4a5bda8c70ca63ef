"""Pytest plugin of llama.cpp's server tests: what differs with another server and another sampler.

- No model is downloaded.
- Regular expressions of generated stories depend on the sampler's random numbers: any text will do. Those of grammars are kept.
- The test that their own server skips runs.
- A report of the functions that failed, in $HEADWAY_SUITE_REPORT.
"""

import json
import os
from collections import defaultdict

import pytest
import utils

STRICT = ('"42"', '"foooooo"', "a{5,5}", "[ -3000 ]", "(\\{|John)+")
"""Regular expressions of texts that a grammar prescribes."""

_match_regex = utils.match_regex
utils.match_regex = lambda regex, text: _match_regex(regex, text) if regex in STRICT else bool(text)
utils.ServerPreset.load_all = staticmethod(lambda: None)
utils.download_file = lambda url, output_file_path=None: output_file_path or url.rpartition("/")[2]

_outcomes = defaultdict(list)


def pytest_collection_modifyitems(items):
    for item in items:
        item.own_markers = [each for each in item.own_markers if not (each.name == "skip" and "fails on linux" in str(each.kwargs))]


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.when == "setup" and not report.passed):
        _outcomes[report.nodeid.partition("[")[0].removeprefix("unit/")].append(report.outcome)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    if path := os.environ.get("HEADWAY_SUITE_REPORT"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_outcomes, file)
