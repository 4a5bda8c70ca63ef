"""Pairs of texts through the tokenizers of RoBERTa (byte-level BPE) and XLM-RoBERTa (unigram), against transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from headway.tokenizers import load_tokenizer

CORPUS = ["Paris is the capital of France.", "Who is asleep? The cat is asleep.", "naïve café – 100 €", "今天天气很好。"] * 4
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
TEXTS = ["Paris", "The cat is asleep on the mat.", "naïve café 😀", "", " two  spaces ", "今天", "<mask> of France</s>"]


def byte_level() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    backend.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False))
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return backend


def unigram() -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.Unigram())
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(CORPUS, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=["<s>", "$A", "</s>"], pair=["<s>", "$A", "</s>", "</s>", "$B", "</s>"], special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return backend


@pytest.fixture(scope="module", params=["RobertaTokenizer", "XLMRobertaTokenizer"])
def folder(request, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    backend = byte_level() if request.param == "RobertaTokenizer" else unigram()
    names = {"bos": 0, "cls": 0, "pad": 1, "eos": 2, "sep": 2, "unk": 3, "mask": 4}
    named = {f"{name}_token": SPECIAL[index] for name, index in names.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **named).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("max_len", [None, 5, 9, 12])
def test_texts_and_pairs_get_the_ids_of_transformers(folder, max_len):
    own, theirs = load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)
    options = {} if max_len is None else {"truncation": True, "max_length": max_len}
    for first in TEXTS:
        assert own.encode_pair(first, max_len=max_len).token_ids == theirs(first, **options)["input_ids"]
        for second in TEXTS:
            expected = theirs([first], [second], return_token_type_ids=True, **options)  # as a batch, because "" is no pair
            encoded = own.encode_pair(first, second, max_len=max_len)
            assert encoded.token_ids == expected["input_ids"][0], (first, second)
            assert encoded.token_types == expected["token_type_ids"][0]


def test_without_a_limit_one_text_is_encoded_as_usual(folder):
    tokenizer = load_tokenizer(folder)
    assert [tokenizer.encode_pair(text).token_ids for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert (tokenizer.cls_token_id, tokenizer.mask_token_id) == (0, 4)
