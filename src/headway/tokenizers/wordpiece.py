"""BERT's tokenizer from its list of words, vocab.txt, and what tokenizer_config.json says beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from headway.errors import TokenizerError
from headway.tokenizers.reading import read_text
from headway.tokenizers.special_tokens import BERT_CLASSES

OPTIONS = {"do_lower_case": "lowercase", "tokenize_chinese_chars": "handle_chinese_chars", "strip_accents": "strip_accents"}
"""Keys of tokenizer_config.json, and what the library calls them."""


def build_wordpiece(path: Path, kind: str, config: Mapping[str, Any], named: Mapping[str, str | None]) -> Tokenizer:
    """The tokenizer of a vocab.txt, whose line numbers are the ids, with [CLS] before a text and [SEP] behind it.

    do_lower_case            True where the config does not say
    tokenize_chinese_chars   whether each Chinese character is a word; True where the config does not say
    strip_accents            where the config does not say, as do_lower_case
    never_split              changes nothing, as in transformers: special and added tokens are never split

    Errors   TokenizerError where the file is broken or lacks a special token, and for a tokenizer_class that would need other rules.
    Source   transformers, models/bert/tokenization_bert.py
    """
    if kind not in BERT_CLASSES:
        raise TokenizerError(
            f"came: {path.parent} with tokenizer_class {kind!r}, vocab.txt and no tokenizer.json; expected: {' or '.join(BERT_CLASSES)}; "
            "write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    lines = read_text(path).removesuffix("\n").split("\n")
    vocab = {line.rstrip(): line_number for line_number, line in enumerate(lines)}
    for name in ("unk_token", "cls_token", "sep_token"):
        if named.get(name) not in vocab:
            raise TokenizerError(
                f"came: {path}, {len(vocab)} lines without the {name}, {named.get(name)!r}; expected: BERT's list of words, one per line, "
                "whole; download it again, or name the special tokens in tokenizer_config.json"
            )
    unk, cls, sep = (str(named[name]) for name in ("unk_token", "cls_token", "sep_token"))
    backend = Tokenizer(models.WordPiece(vocab, unk_token=unk))
    backend.normalizer = normalizers.BertNormalizer()
    configure_wordpiece(backend, kind, config)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(content, vocab[content]) for content in (cls, sep)],
    )
    return backend


def configure_wordpiece(backend: Tokenizer, kind: str | None, config: Mapping[str, Any]) -> None:
    """Let what tokenizer_config.json says about letters, accents and Chinese take the place of what BERT's normalizer does.

    A tokenizer of another class is as its file says, as in transformers.

    Errors   TokenizerError where it says something other than true, false and null.
    """
    if kind not in BERT_CLASSES or not isinstance(backend.normalizer, normalizers.BertNormalizer):
        return
    for key, name in OPTIONS.items():
        value = config.get(key)
        if not isinstance(value, bool | None):
            raise TokenizerError(f"came: tokenizer_config.json with {key} {value!r:.60}; expected: true or false; correct the file")
        if value is not None:
            setattr(backend.normalizer, name, value)
