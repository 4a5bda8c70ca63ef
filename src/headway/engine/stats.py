"""Figures of an engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineStats:
    """Counts since the start, and the present state.

    cache_usage        share of the KV cache in use by running requests, 0 to 1
    num_prefix_tokens  number of prompt tokens that were looked up in the prefix cache; num_prefix_hits of them were found
    """

    num_running: int
    num_waiting: int
    num_waiting_tokens: int
    cache_usage: float
    num_prefix_tokens: int
    num_prefix_hits: int
    num_preemptions: int
    num_passes: int
    num_rows: int
    num_drafted: int
    num_accepted: int
    model_seconds: float
    total_seconds: float
