"""Diagnosis of a learner's function or class: call it, compare its outputs with the definition, explain the difference."""
