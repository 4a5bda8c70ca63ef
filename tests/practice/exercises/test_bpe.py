"""The byte-pair exercises against reference tokenizers, two mistakes at once, and names."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.sandbox import check_file
from headway.practice.exercises import exercise
from headway.practice.exercises.bpe_train import TIES
from headway.practice.names import means
from headway.practice.recipes.byte_pairs import ranks, read_merges, vocabulary
from headway.tokenizers.byte_level import byte_characters

TRAIN, ENCODE, DECODE = (exercise(name) for name in ("bpe_train", "bpe_encode", "bpe_decode"))
TEXT = "the theory of the thing: they gather their things, and then the other ones.\n" * 3


def judged(function, chosen):
    return diagnose(Subject(function, function.__name__, imports=("numpy",)), chosen)


@pytest.mark.slow
def test_training_gives_the_merges_of_a_reference(data_dir):
    folder = data_dir / "tokenizers" / "bpe_training"
    known = byte_characters()
    read = [line.split(" ") for line in (folder / "train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()]
    expected = tuple(tuple(bytes(known[character] for character in part) for part in pair) for pair in read)
    text = (folder / "corpus.en").read_text(encoding="utf-8")
    assert TRAIN.definition(text, 25, ["<|endoftext|>"]) == expected[:25]


@pytest.mark.parametrize("text", ["the other theory", "they gathered thousands", "né thé 🙂 the then", " theothere "])
def test_encoding_and_decoding_match_hugging_face_tokenizers(text):
    merges = TRAIN.definition(TEXT, 12)
    letters = {byte: character for character, byte in byte_characters().items()}

    def spelled(token):
        return "".join(letters[byte] for byte in token)

    tokenizer = Tokenizer(
        models.BPE({spelled(token): i for token, i in ranks(merges).items()}, [(spelled(a), spelled(b)) for a, b in merges])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    ids = ENCODE.definition(text, list(merges))
    assert ids == tokenizer.encode(text).ids == ENCODE.answer({"text": text, "merges": list(merges)})
    assert DECODE.definition(ids, vocabulary(merges)) == tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    "answer",
    [
        {(97, 98): 256, (256, 99): 257},
        [(97, 98), (256, 99)],
        [(b"a", b"b"), (b"ab", b"c")],
        [("a", "b"), ("ab", "c")],
        {("a", "b"): 0, ("ab", "c"): 1},
    ],
)
def test_merges_are_read_in_every_form(answer):
    from headway.practice.diagnosis.calls.compare import as_numbers

    assert read_merges(as_numbers(answer)) == ((b"a", b"b"), (b"ab", b"c"))
    assert read_merges(as_numbers(({0: b"a"}, answer))) == ((b"a", b"b"), (b"ab", b"c"))


def test_two_mistakes_at_once_are_both_named():
    def decode(ids, vocab):
        return "".join(vocab[i].decode("utf-8", errors="replace") for i in dict.fromkeys(ids))

    assert judged(decode, DECODE).causes[0].name == "each_token_read_alone + repetitions_lost"


def test_the_order_of_equally_frequent_pairs_is_reported():
    def train_my_bpe(text, num_merges):
        return TRAIN.answer({"text": text, "num_merges": num_merges}, conventions=(TIES[1],))

    verdict = judged(train_my_bpe, TRAIN)
    assert verdict.is_correct
    assert any("the first encountered" in note.en for note in verdict.notes)


@pytest.mark.slow
def test_a_function_that_loops_forever_under_a_wrong_convention_is_diagnosed():
    def encode(text, vocab):
        data, ids, i = text.encode("utf-8"), [], 0
        while i < len(data):
            for j in range(len(data), i, -1):
                if data[i:j] in vocab:
                    ids.append(vocab[data[i:j]])
                    i = j
                    break
        return ids

    assert judged(encode, ENCODE).causes[0].name == "longest_token_taken"


NAMES = {
    "bpe_train": "train_bpe run_train_bpe train_tokenizer bpe_train learn_bpe byte_pair_encoding",
    "bpe_encode": "encode bpe_encode tokenize bpe apply_merges encode_ordinary apply_bpe",
    "bpe_decode": "decode bpe_decode detokenize decode_ids",
    "merge_pair": "merge merge_pair replace_pair",
    "pair_counts": "get_stats get_pair_counts count_pairs pair_counts",
}


@pytest.mark.parametrize(("name", "called"), [(name, each) for name, text in NAMES.items() for each in text.split()])
def test_common_names_are_recognized(name, called):
    fitting = [each for each in NAMES if means(called, each)]
    assert fitting == [name]


@pytest.mark.parametrize("called", "positional_encode one_hot_encode decoder_layer encoder merge_heads decode_image encoder_layer".split())
def test_names_of_related_functions_are_not_recognized(called):
    assert not any(means(called, each) for each in NAMES)


MERGED_NODES = """
def merge(pair, new_id, nodes, stats=None):
    for node in nodes.places[pair]:
        node.value = new_id

def tokenize(text, merge_tree):
    nodes = Nodes(text.encode("utf-8"))
    for pair in merge_tree:
        merge(pair, merge_tree[pair], nodes)
    return [node.value for node in nodes]

class Node:
    def __init__(self, value):
        self.value = value

class Nodes(list):
    def __init__(self, values):
        super().__init__(map(Node, values))
        self.places = {(a.value, b.value): [] for a in self for b in self}

def merge_tree(tree, ids):
    return ids
"""


def statuses(text, tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(text)
    return {each.subject: each.status for each in check_file(path)}


def test_nobody_is_accused_of_merging_nothing_where_the_form_of_the_pairs_is_in_doubt(tmp_path):
    assert "wrong" not in statuses(MERGED_NODES, tmp_path).values()


@pytest.mark.parametrize("name", ["encode_with_merges", "merge_all"])
def test_names_with_merges_are_judged_and_confirmed_as_encoding(name, tmp_path):
    text = f"""
def {name}(ids, merges):
    while len(ids) > 1:
        i = min(range(len(ids) - 1), key=lambda i: merges.get((ids[i], ids[i + 1]), 1e9))
        if (ids[i], ids[i + 1]) not in merges:
            break
        ids = ids[:i] + [merges[ids[i], ids[i + 1]]] + ids[i + 2 :]
    return ids
"""
    assert statuses(text, tmp_path) == {name: "correct"}


TRAINED = """
class Tokenizer:
    def train(self, text, num_merges):
        ids = list(text.encode())
        self.merges, self.vocab = {}, {each: bytes([each]) for each in range(256)}
        for new in range(256, 256 + num_merges):
            counts = self.counted(ids)
            pair = max(counts, key=counts.get)
            ids = self.joined(ids, pair, new)
            self.merges[pair] = new
            self.vocab[new] = self.vocab[pair[0]] + self.vocab[pair[1]]

    def counted(self, ids):
        pairs = list(zip(ids, ids[1:]))
        return {pair: pairs.count(pair) for pair in pairs}

    def joined(self, ids, pair, new):
        out = []
        while ids:
            is_pair = tuple(ids[:2]) == pair
            out.append(new if is_pair else ids[0])
            ids = ids[2:] if is_pair else ids[1:]
        return out

    def encode(self, text):
        ids = list(text.encode())
        while len(ids) > 1:
            counts = self.counted(ids)
            pair = max(counts, key=counts.get)
            if pair not in self.merges:
                break
            ids = self.joined(ids, pair, self.merges[pair])
        return ids

    def decode(self, ids):
        return b"".join(self.vocab[each] for each in ids).decode("utf-8", errors="replace")
"""


def test_a_mistake_of_encoding_is_shown_there_and_not_in_the_training(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TRAINED)
    verdict, decoding = check_file(path)
    assert decoding.is_correct
    assert [cause.name for cause in verdict.causes] == ["most_frequent_alone_merged"]
    assert verdict.causes[0].line == TRAINED[: TRAINED.rindex("max(")].count("\n") + 1
