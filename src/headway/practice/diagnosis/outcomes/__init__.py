"""Verdicts made from the trials of a subject."""
