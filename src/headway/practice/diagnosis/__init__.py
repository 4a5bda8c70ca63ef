"""From a learner's file to verdicts: find what is in it, call it, compare, explain."""
