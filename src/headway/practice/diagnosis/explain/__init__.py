"""Explanations of wrong outputs and of exceptions."""
