from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.cluster.placement import BOUND, PAGE, placement_key, ranked
from headway.engine import Request

LOADS = st.dictionaries(st.text("abcdef", min_size=1), st.integers(0, 50), min_size=1, max_size=8)


def test_requests_with_the_same_first_page_have_one_key():
    start = list(range(PAGE))
    assert placement_key(Request([*start, 1])) == placement_key(Request([*start, 2, 3]))
    assert placement_key(Request([*start[1:], 1])) != placement_key(Request([*start, 1]))
    assert placement_key(Request([12, 3])) != placement_key(Request([1, 23]))
    assert placement_key(Request(start, cache_key="a")) != placement_key(Request(start, cache_key="b"))


@pytest.mark.slow
@given(st.text(), LOADS)
def test_the_first_replica_is_within_the_bound(key, loads):
    order = ranked(key, loads)
    assert sorted(order) == sorted(loads)
    mean = (sum(loads.values()) + 1) / len(loads)
    assert loads[order[0]] + 1 <= max(1, BOUND * mean)


@given(st.text(), st.sets(st.text("abcdef", min_size=1), min_size=2, max_size=8), st.data())
def test_a_lost_replica_moves_its_own_requests_only(key, replicas, data):
    idle = dict.fromkeys(replicas, 0)
    lost = data.draw(st.sampled_from(sorted(replicas)))
    assert ranked(key, {name: 0 for name in replicas if name != lost}) == [name for name in ranked(key, idle) if name != lost]


def test_keys_spread_over_the_replicas():
    firsts = Counter(ranked(str(key), dict.fromkeys("abcd", 0))[0] for key in range(2000))
    assert set(firsts) == set("abcd")
    assert max(firsts.values()) < 600
