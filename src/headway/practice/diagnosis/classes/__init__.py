"""Calls of a learner's class: its construction, the weights that it holds, and the parts that it takes."""
