"""Requests to tokens. The engine knows token ids only, never text."""

from headway.engine.engine import Engine, Generation
from headway.engine.request import FinishReason, Request, SampledToken, SamplingOptions

__all__ = ["Engine", "FinishReason", "Generation", "Request", "SampledToken", "SamplingOptions"]
