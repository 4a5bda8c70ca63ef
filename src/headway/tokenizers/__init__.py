"""Convert text to token ids and back, and render conversations as prompts.

load_tokenizer(path)    the tokenizer of a model folder, or of a llama2.c file
train_bpe(texts, …)     train a byte-level BPE
character_tokenizer(…)  one token per character of the given texts
byte_tokenizer()        one token per byte
Tokenizer               the base class
StreamDecoder           decodes one token at a time and returns complete characters only
"""

from headway.tokenizers.library import LibraryTokenizer
from headway.tokenizers.llama2c import Llama2cTokenizer
from headway.tokenizers.loading import load_tokenizer
from headway.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer
from headway.tokenizers.training import byte_tokenizer, character_tokenizer, train_bpe

__all__ = [
    "LibraryTokenizer",
    "Llama2cTokenizer",
    "SentencePieceTokenizer",
    "StreamDecoder",
    "Tokenizer",
    "byte_tokenizer",
    "character_tokenizer",
    "load_tokenizer",
    "train_bpe",
]
