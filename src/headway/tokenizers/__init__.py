"""Text to token ids and back, and conversations to prompts.

load_tokenizer(path)    of a model folder, or a file of llama2.c
train_bpe(texts, …)     a byte-level BPE of one's own
character_tokenizer(…)  one token per character of one's texts
byte_tokenizer()        one token per byte
Tokenizer               what all of them are
StreamDecoder           token by token to text, whole characters only
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
