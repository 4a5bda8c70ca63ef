"""Checks of a subject that can be called: its outputs under every convention, its gradients, half precision, repeated calls."""
