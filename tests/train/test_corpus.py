"""Text corpora."""

from __future__ import annotations

import numpy
import pytest

from headway.errors import TrainingError
from headway.tokenizers import byte_tokenizer
from headway.train.corpus import encode_corpus, open_corpus, read_documents
from headway.train.options import TrainingOptions

TEXT = "The cat sat on the mat. The dog sat on the log. " * 60
OPTIONS = TrainingOptions(context=24, batch_size=5, seed=1)


def test_a_batch_depends_on_seed_and_step_alone(tmp_path):
    corpus = encode_corpus([TEXT], byte_tokenizer(), tmp_path, context=24, validation_share=0.1)
    batch = corpus.batch(3, OPTIONS)
    assert batch.token_ids.shape == batch.targets.shape == (5, 24)
    assert (batch.token_ids == corpus.batch(3, OPTIONS).token_ids).all()
    assert (batch.token_ids != corpus.batch(4, OPTIONS).token_ids).any()
    assert (batch.token_ids != corpus.batch(3, TrainingOptions(context=24, batch_size=5, seed=2)).token_ids).any()


def test_a_target_is_the_token_that_follows(tmp_path):
    batch = encode_corpus([TEXT], byte_tokenizer(), tmp_path, context=24, validation_share=0.1).batch(0, OPTIONS)
    assert (batch.token_ids[:, 1:] == batch.targets[:, :-1]).all()
    assert all(bytes(row.tolist()).decode() in TEXT for row in batch.targets)


def test_validation_text_is_never_trained_on(tmp_path):
    documents = [f"{letter}" * 30 for letter in "abcdefghijklmnopqrst"]
    corpus = encode_corpus(documents, byte_tokenizer(), tmp_path, context=24, validation_share=0.2)
    assert not set(corpus.train.tolist()) & set(corpus.validation.tolist()) - {256}
    assert len(corpus.train) + len(corpus.validation) == 20 * 31


def test_many_documents_are_read_from_their_beginnings(tmp_path):
    documents = [letter * 20 for letter in "abcdefghijklmnopqrst"]
    corpus = encode_corpus(documents, byte_tokenizer(), tmp_path, context=24, validation_share=0.2)
    batch = corpus.batch(0, TrainingOptions(context=24, batch_size=50))
    assert all(len(set(window[:20].tolist())) == 1 for window in batch.token_ids)


@pytest.mark.parametrize(
    ("num_tokens", "num_windows"),
    [(25, 1), (24 * 100 + 1, 100), (24 * 10000, 32768 // 24)],
    ids=["one window", "all windows", "as many as are enough"],
)
def test_validation_windows_spread_over_the_whole_validation_part(tmp_path, num_tokens, num_windows):
    corpus = encode_corpus(["a" * 100], byte_tokenizer(), tmp_path, context=24, validation_share=0.5)
    object.__setattr__(corpus, "validation", numpy.arange(num_tokens, dtype=numpy.uint32))
    batches = list(corpus.validation_batches(OPTIONS))
    token_ids, targets = (numpy.concatenate([getattr(batch, name) for batch in batches]) for name in ("token_ids", "targets"))
    assert token_ids.shape == targets.shape == (num_windows, 24)
    assert token_ids[0, 0] == 0
    assert targets[-1, -1] <= num_tokens - 1
    assert targets[-1, -1] == num_tokens - 1 or num_windows == 1
    assert (numpy.diff(token_ids[:, 0]) >= 24).all(), "no token is asked for twice"


def test_documents_of_a_file_are_split_at_the_separator(tmp_path):
    (tmp_path / "a.txt").write_text("one\n<|endoftext|>\ntwo\n<|endoftext|>\n")
    (tmp_path / "b.txt").write_text("three\n")
    assert list(read_documents([tmp_path / "a.txt", tmp_path / "b.txt"])) == ["one", "two", "three"]


def test_a_corpus_that_is_not_whole(tmp_path):
    encode_corpus([TEXT], byte_tokenizer(), tmp_path, context=24, validation_share=0.1)
    (tmp_path / "validation.npy").unlink()
    with pytest.raises(TrainingError, match=r"without a complete corpus .*validation\.npy"):
        open_corpus(tmp_path)
