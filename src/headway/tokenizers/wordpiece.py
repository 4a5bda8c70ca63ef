"""BERT's tokenizer from its word list, vocab.txt, and the options of tokenizer_config.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.tokenizers.byte_level import SAVE_HINT
from headway.tokenizers.reading import JsonObject, read_text
from headway.tokenizers.special_tokens import BERT_CLASSES

OPTIONS = {"do_lower_case": "lowercase", "tokenize_chinese_chars": "handle_chinese_chars", "strip_accents": "strip_accents"}
"""The library's name for each key of tokenizer_config.json."""


def build_wordpiece(path: Path, class_name: str, config: JsonObject, named: Mapping[str, str | None]) -> Tokenizer:
    """Build the tokenizer of a vocab.txt, whose line numbers are the ids. `encode` adds [CLS] before a text and [SEP] after it.

    do_lower_case            default True
    tokenize_chinese_chars   make each Chinese character a word; default True
    strip_accents            default: the value of do_lower_case
    never_split              ignored, as in transformers: special and added tokens are never split

    Errors   TokenizerError for a broken file, a missing special token and other tokenizer classes.
    Source   transformers, models/bert/tokenization_bert.py
    """
    if class_name not in BERT_CLASSES:
        raise TokenizerError(
            f"got {path.parent} with tokenizer_class {class_name!r}, vocab.txt and no tokenizer.json, expected {' or '.join(BERT_CLASSES)}",
            hint=SAVE_HINT,
        )
    lines = read_text(path).removesuffix("\n").split("\n")
    vocab = {line.rstrip(): line_number for line_number, line in enumerate(lines)}
    for name in ("unk_token", "cls_token", "sep_token"):
        if named.get(name) not in vocab:
            raise TokenizerError(
                f"got {path}, {len(vocab)} lines without the {name}, {named.get(name)!r:.60}, expected BERT's word list, one word per line",
                hint="download the file again, or name the special tokens in tokenizer_config.json",
            )
    unk, cls, sep = (str(named[name]) for name in ("unk_token", "cls_token", "sep_token"))
    backend = wordpiece_backend(vocab, unk, cls, sep)
    configure_wordpiece(backend, class_name, config)
    return backend


def wordpiece_backend(vocab: dict[str, int], unk: str, cls: str, sep: str) -> Tokenizer:
    """Return BERT's tokenizer with the default options, given its tokens and the special ones, which are in the vocabulary."""
    backend = Tokenizer(models.WordPiece(vocab, unk_token=unk))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    backend.post_processor = processors.TemplateProcessing(
        single=[f"{cls}:0", "$A:0", f"{sep}:0"],
        pair=[f"{cls}:0", "$A:0", f"{sep}:0", "$B:1", f"{sep}:1"],
        special_tokens=[(content, vocab[content]) for content in (cls, sep)],
    )
    return backend


def configure_wordpiece(backend: Tokenizer, class_name: str | None, config: JsonObject) -> None:
    """Apply the options of tokenizer_config.json for lowercase, accents and Chinese to a BERT normalizer.

    A tokenizer of another class is left unchanged, as in transformers.

    Errors   TokenizerError for values other than true, false and null.
    """
    if class_name not in BERT_CLASSES or not isinstance(backend.normalizer, normalizers.BertNormalizer):
        return
    for key, name in OPTIONS.items():
        value = config.get(key)
        if not isinstance(value, bool | None):
            raise TokenizerError(f"got tokenizer_config.json with {key} {value!r:.60}, expected true or false", hint="correct the file")
        if value is not None:
            setattr(backend.normalizer, name, value)
