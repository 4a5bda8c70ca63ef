"""Requests to tokens. The engine knows token ids only, never text."""

from headway.engine.engine import Engine
from headway.engine.generation import Generation
from headway.engine.request import BeamOptions, FinishReason, Hypothesis, Request, SampledToken, SamplingOptions

__all__ = ["BeamOptions", "Engine", "FinishReason", "Generation", "Hypothesis", "Request", "SampledToken", "SamplingOptions"]
