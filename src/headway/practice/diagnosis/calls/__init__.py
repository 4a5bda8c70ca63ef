"""Calls of a learner's function: the roles of its parameters, the conventions of its arrays, and the comparison of its output."""
