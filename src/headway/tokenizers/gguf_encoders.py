"""The tokenizers of encoders and of T5 in a GGUF file: WordPiece ("bert") and SentencePiece's unigram model ("t5").

llama.cpp marks the start of a word in WordPiece with ▁, and leaves out the ## of its other pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from headway.errors import TokenizerError
from headway.tokenizers.sentencepiece_file import check_charsmap
from headway.tokenizers.sentencepiece_streaming import SPACE
from headway.tokenizers.special_tokens import BERT
from headway.tokenizers.wordpiece import wordpiece_backend

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
HINT = "use the Hugging Face folder of the model"


def wordpiece_of_tokens(
    path: Path, tokens: Sequence[str], types: Sequence[int], special: Mapping[str, str], options: Mapping[str, bool]
) -> tokenizers.Tokenizer:
    """Return a BERT tokenizer.

    special   names of special tokens; BERT's own for those that are missing
    options   values of lowercase and strip_accents; by default, lowercase if no token has a capital letter

    Errors   TokenizerError for pieces of another kind of tokenizer, and without [UNK], [CLS] and [SEP].
    """
    if 2 * sum(token.startswith(2 * SPACE) for token in tokens) > len(tokens):
        raise TokenizerError(
            f"got {path} with tokens of SentencePiece and tokenizer.ggml.model='bert', expected those of WordPiece", hint=HINT
        )
    vocab: dict[str, int] = {}
    for token_id, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        vocab.setdefault(token if kind in (CONTROL, UNKNOWN) else _of_wordpiece(token), token_id)
    named = {**BERT, **special}
    for name in ("unk_token", "cls_token", "sep_token"):
        if named[name] not in vocab:
            raise TokenizerError(f"got {path} without the {name}, {named[name]!r:.60}, expected the tokens of a BERT", hint=HINT)
    backend = wordpiece_backend(vocab, named["unk_token"], named["cls_token"], named["sep_token"])
    words = [token for token in vocab if not token.startswith("[")]
    is_lowercase = not any(letter.isascii() and letter.isupper() for word in words for letter in word)
    for name, value in {"lowercase": is_lowercase, **options}.items():
        setattr(backend.normalizer, name, value)
    return backend


def _of_wordpiece(token: str) -> str:
    return token[1:] if token.startswith(SPACE) and len(token) > 1 else f"##{token}"


def unigram_of_tokens(
    path: Path,
    tokens: Sequence[str],
    scores: Sequence[float],
    types: Sequence[int],
    unknown: str,
    charsmap: bytes,
    *,
    has_space: bool,
    splits_at_spaces: bool,
) -> tokenizers.Tokenizer:
    """Return the tokenizer of a SentencePiece unigram model.

    charsmap          the table of its normalizer; empty without one
    has_space         True if each word, or each text, begins with a space
    splits_at_spaces  True to remove further spaces

    Errors   TokenizerError for a broken table; exceptions and Rust panics for what the library rejects.
    """
    # Unused tokens have low scores, from which the library would compute that of the unknown token.
    lowest = min((score for score, kind in zip(scores, types, strict=True) if kind == NORMAL), default=0.0)
    vocab = [(token, max(score, lowest)) for token, score in zip(tokens, scores, strict=True)]
    has_bytes = BYTE in types
    backend = tokenizers.Tokenizer(models.Unigram(vocab, tokens.index(unknown), byte_fallback=has_bytes))
    if charsmap:
        try:
            check_charsmap(charsmap)
        except ValueError as error:
            raise TokenizerError(f"got {path}, {error}, expected a precompiled_charsmap", hint="download the file again") from error
        backend.normalizer = normalizers.Precompiled(charsmap)
    scheme = "always" if has_space else "never"
    spaces = pre_tokenizers.Metaspace(SPACE, scheme)
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces]) if splits_at_spaces else spaces
    text = decoders.Metaspace(SPACE, scheme)
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), text]) if has_bytes else text
    return backend
