"""Corpora, loops, and the state of training (extra: torch). `train` in run.py is the whole of it."""
