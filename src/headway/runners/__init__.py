"""Runners: one pass of a batch on a model."""

from headway.runners.captured import CapturedRunner
from headway.runners.model import Model
from headway.runners.protocols import Architecture, CapturedDecoder
from headway.runners.reference import ReferenceRunner

__all__ = ["Architecture", "CapturedDecoder", "CapturedRunner", "Model", "ReferenceRunner"]
