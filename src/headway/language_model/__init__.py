"""Language models: text in; text, embeddings or filled masks out."""

from headway.engine import GenerationOptions, GenerationOptionsDict
from headway.language_model.classifier import Classifier, Label, Ranked
from headway.language_model.embedding import Embedder
from headway.language_model.fill_mask import Candidate, FilledText
from headway.language_model.loading import load, load_without_kernels
from headway.language_model.model import LanguageModel
from headway.language_model.text_stream import Chunk, Completion

__all__ = [
    "Candidate",
    "Chunk",
    "Classifier",
    "Completion",
    "Embedder",
    "FilledText",
    "GenerationOptions",
    "GenerationOptionsDict",
    "Label",
    "LanguageModel",
    "Ranked",
    "load",
    "load_without_kernels",
]
