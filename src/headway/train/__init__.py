"""Training: corpora, the training loop and its saved state (extra: torch). The entry points are in run.py."""
