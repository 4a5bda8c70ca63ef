"""Requests in, tokens out. The engine works on token ids only, never on text."""

from headway.engine.engine import Engine
from headway.engine.generation import Generation
from headway.engine.options import GenerationOptions, GenerationOptionsDict, Option
from headway.engine.protocols import Architecture, DecoderStack, EncoderDecoderArchitecture, KVCache
from headway.engine.request import FinishReason, Hypothesis, LogitsProcessor, Request, SampledToken

__all__ = [
    "Architecture",
    "DecoderStack",
    "EncoderDecoderArchitecture",
    "Engine",
    "FinishReason",
    "Generation",
    "GenerationOptions",
    "GenerationOptionsDict",
    "Hypothesis",
    "KVCache",
    "LogitsProcessor",
    "Option",
    "Request",
    "SampledToken",
]
