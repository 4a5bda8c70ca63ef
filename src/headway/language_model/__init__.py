"""Text in; text, or vectors, or a filled hole out: a checkpoint, its tokenizer, and what is between them."""

from headway.language_model.embedding import Embedder
from headway.language_model.fill_mask import Candidate, FilledText
from headway.language_model.model import LanguageModel, load
from headway.language_model.text_stream import Chunk, Completion

__all__ = ["Candidate", "Chunk", "Completion", "Embedder", "FilledText", "LanguageModel", "load"]
