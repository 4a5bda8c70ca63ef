"""The choice of a replica: requests with the same first page go to the same one, unless it has much more to do than the others.

Source   Thaler, Ravishankar 1998 (rendezvous hashing); Mirrokni, Thorup, Zadimoghaddam 2018 (consistent hashing with bounded loads)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from headway.engine import Request

PAGE = 128
"""Number of tokens that decide. The prefix cache has pages of this size."""

BOUND = 1.25
"""Largest load of a replica that is chosen by its hash, as a multiple of the mean."""


def placement_key(request: Request) -> str:
    """Return the key of a request: a hash of its first page and of the callers it shares the prefix cache with."""
    start = ",".join(map(str, request.token_ids[:PAGE]))
    return hashlib.sha256(f"{request.cache_key}\n{start}".encode()).hexdigest()


def ranked(key: str, loads: Mapping[str, int]) -> list[str]:
    """Return the replicas in the order in which they are tried.

    The hash of key and replica decides, so each key has an order of its own, and a replica that comes or goes changes the first place of
    its own keys only. Replicas whose load, with this request, exceeds BOUND times the mean follow after the others.

    loads   number of running requests by replica
    """
    mean = (sum(loads.values()) + 1) / max(1, len(loads))
    by_hash = sorted(loads, key=lambda replica: hashlib.sha256(f"{key}/{replica}".encode()).digest())
    return sorted(by_hash, key=lambda replica: loads[replica] + 1 > max(1, BOUND * mean))
