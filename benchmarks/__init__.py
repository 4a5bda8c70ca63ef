"""Comparisons of Headway with other programs: `make benchmark` (python -m benchmarks) prints RESULTS.md's tables.

Every figure is the median of runs in processes of their own, ours and the peer's in turn, on the same weights and threads.
"""
