"""Corpora of text pairs."""

from __future__ import annotations

import numpy
import pytest

from headway.errors import TrainingError
from headway.tokenizers import byte_tokenizer
from headway.train.batch import IGNORED
from headway.train.options import TrainingOptions
from headway.train.pair_corpus import PairCorpus, encode_pairs, open_pairs
from headway.train.sequences import sequences

OPTIONS = TrainingOptions(architecture="transformer", context=26, batch_size=7, seed=1)
PAIRS = list(sequences(range(2, 18), 307, seed=3))
TOKENIZER = byte_tokenizer(named_tokens={"pad_token": "<pad>"}, adds_end=True)
END, PAD = TOKENIZER.eos_token_ids[0], TOKENIZER.pad_token_id


@pytest.fixture
def corpus(tmp_path) -> PairCorpus:
    return encode_pairs(PAIRS, TOKENIZER, tmp_path, OPTIONS, validation_share=0.1)


def texts(batch) -> list[tuple[str, str]]:
    sources = [TOKENIZER.decode(row[: length - 1].tolist()) for row, length in zip(batch.source_ids, batch.lengths, strict=True)]
    return list(zip(sources, [TOKENIZER.decode(row[row != IGNORED][:-1].tolist()) for row in batch.targets], strict=True))


def test_a_row_holds_a_pair_its_ends_and_padding_on_the_right_that_nobody_asks_for(corpus):
    batch = corpus.batch(0, OPTIONS)
    rows = zip(texts(batch), batch.source_ids, batch.lengths, batch.token_ids, batch.targets, strict=True)
    for (source, target), source_ids, length, token_ids, targets in rows:
        assert (source, target) in PAIRS
        assert source_ids[:length].tolist() == TOKENIZER.encode(source)
        assert source_ids[length - 1] == END
        answer = TOKENIZER.encode(target)
        assert targets.tolist() == answer + [IGNORED] * (len(targets) - len(answer))
        assert token_ids[: len(answer)].tolist() == [PAD, *answer[:-1]]
    assert batch.num_targets == sum(len(target) + 1 for _, target in texts(batch))


def test_every_pair_comes_once_per_epoch_and_validation_pairs_never(corpus):
    num_batches = corpus.num_train // 7
    first, second = (
        [pair for step in range(num_batches) for pair in texts(corpus.batch(step + start, OPTIONS))] for start in (0, num_batches)
    )
    assert len(first) == 7 * num_batches
    assert len(set(first)) == len(set(PAIRS[: corpus.num_train]) & set(first)) >= len(first) - 1
    assert first != second
    validated = [pair for batch in corpus.validation_batches(OPTIONS) for pair in texts(batch)]
    assert validated == PAIRS[corpus.num_train :]


def test_short_pairs_and_long_ones_come_in_batches_of_their_own(tmp_path):
    pairs = [("a" * (3 if place % 2 else 20), "b") for place in range(300)]
    corpus = encode_pairs(pairs, TOKENIZER, tmp_path, OPTIONS, validation_share=0.1)
    spread = [numpy.ptp(corpus.batch(step, OPTIONS).lengths) for step in range(corpus.num_train // 7)]
    assert sum(each > 0 for each in spread) <= 1
    assert {corpus.batch(step, OPTIONS).lengths[0] for step in range(6)} == {4, 21}, "they take turns"


def test_a_batch_depends_on_seed_and_step_alone(corpus, tmp_path):
    for step in (50, 3):
        assert texts(corpus.batch(step, OPTIONS)) == texts(open_pairs(tmp_path).batch(step, OPTIONS))
    other = TrainingOptions(architecture="transformer", context=26, batch_size=7, seed=2)
    assert texts(corpus.batch(3, OPTIONS)) != texts(corpus.batch(3, other))


@pytest.mark.parametrize(("count", "rows"), [(1, [7]), (2, [4, 3]), (8, [1] * 8)])
def test_the_shares_of_processes_ask_for_every_target_once(corpus, count, rows):
    batch = corpus.batch(0, OPTIONS)
    shares = [batch.shard(index, count) for index in range(count)]
    assert [len(share.token_ids) for share in shares] == rows
    assert sum(share.num_targets for share in shares) == batch.num_targets
    assert all(len(share.lengths) == len(share.targets) == len(share.source_ids) for share in shares)


def test_fewer_pairs_than_a_batch(tmp_path):
    with pytest.raises(TrainingError, match="a corpus of 7 pairs, 6 to train on and 1 to validate on, expected at least one batch of 7"):
        encode_pairs(PAIRS[:7], TOKENIZER, tmp_path, OPTIONS, validation_share=0.1)


@pytest.mark.parametrize(("name", "pair"), [("source", ("a" * 26, "b")), ("target", ("a", "b" * 26))])
def test_a_text_longer_than_the_positions(tmp_path, name, pair):
    with pytest.raises(TrainingError, match=f"pair 12 with a {name} of 27 tokens, end token included, expected at most 26"):
        encode_pairs([*PAIRS[:11], pair, *PAIRS[11:20]], TOKENIZER, tmp_path, OPTIONS, validation_share=0.1)


def test_a_corpus_that_is_not_whole(corpus, tmp_path):
    path = tmp_path / "pairs.npz"
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(TrainingError, match=r"without a readable pairs\.npz"):
        open_pairs(tmp_path)
