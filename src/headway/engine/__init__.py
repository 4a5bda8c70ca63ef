"""Requests in, tokens out. The engine works on token ids only, never on text."""

from headway.engine.batch import Batch, PagedRunner, Runner, SequenceRows
from headway.engine.engine import Engine, EngineOptions
from headway.engine.limits import ModelLimits
from headway.engine.option_kinds import Option
from headway.engine.options import GenerationOptions, GenerationOptionsDict
from headway.engine.request import Event, FinishReason, Hypothesis, LogitsProcessor, Request, RequestFailed, Resumption, SampledToken, Sink
from headway.engine.stats import EngineStats
from headway.engine.stream import RequestStream
from headway.engine.thread import EngineThread

__all__ = [
    "Batch",
    "Engine",
    "EngineOptions",
    "EngineStats",
    "EngineThread",
    "Event",
    "FinishReason",
    "GenerationOptions",
    "GenerationOptionsDict",
    "Hypothesis",
    "LogitsProcessor",
    "ModelLimits",
    "Option",
    "PagedRunner",
    "Request",
    "RequestFailed",
    "RequestStream",
    "Resumption",
    "Runner",
    "SampledToken",
    "SequenceRows",
    "Sink",
]
