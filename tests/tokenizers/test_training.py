"""BPE training, compared with a direct implementation and the reference of CS336, and saving for transformers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from headway.errors import OptionError, PromptError, TokenizerError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, character_tokenizer, load_tokenizer, train_bpe
from headway.tokenizers.byte_level import byte_characters

Pair = tuple[str, str]


def merges_of(tokenizer: LibraryTokenizer) -> list[Pair]:
    return [(first, second) for first, second in json.loads(tokenizer.backend.to_str())["model"]["merges"]]


def merges_by_counting(texts: Iterable[str], num_merges: int, preference: Callable[[Pair, dict[str, int]], object]) -> list[Pair]:
    """Train BPE directly: merge the most frequent pair, and among equals the one with the highest preference."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    counts = Counter(word for text in texts for word, _ in cut.pre_tokenize_str(text))
    words = {word: list(word) for word in counts}
    ids = {character: place for place, character in enumerate(sorted(byte_characters()))}
    pairs: Counter[Pair] = Counter()
    holders: dict[Pair, set[str]] = {}
    merges: list[Pair] = []

    def count(word: str, sign: int) -> None:
        for pair in pairwise(words[word]):
            pairs[pair] += sign * counts[word]
            holders.setdefault(pair, set()).add(word)

    for word in words:
        count(word, 1)
    while len(merges) < num_merges and pairs and max(pairs.values()) > 0:
        most = max(pairs.values())
        best = max((pair for pair, number in pairs.items() if number == most), key=lambda pair: preference(pair, ids))
        merges.append(best)
        ids.setdefault("".join(best), len(ids))
        for word in list(holders[best]):
            count(word, -1)
            words[word] = merged(words[word], best)
            count(word, 1)
    return merges


def merged(tokens: list[str], pair: Pair) -> list[str]:
    result: list[str] = []
    place = 0
    while place < len(tokens):
        is_pair = tuple(tokens[place : place + 2]) == pair
        result.append("".join(pair) if is_pair else tokens[place])
        place += 1 + is_pair
    return result


def lowest_ids(pair: Pair, ids: dict[str, int]) -> object:
    return (-ids[pair[0]], -ids[pair[1]])


def greatest_bytes(pair: Pair, ids: dict[str, int]) -> object:
    return tuple(bytes(byte_characters()[character] for character in token) for token in pair)


@pytest.fixture(scope="module")
def corpus(data_dir: Path) -> Path:
    return data_dir / "tokenizers" / "bpe_training" / "corpus.en"


def test_merges_are_those_of_the_plain_algorithm(corpus: Path) -> None:
    text = corpus.read_text(encoding="utf-8")
    assert merges_of(train_bpe([corpus], 500)) == merges_by_counting([text], 243, lowest_ids)


def test_the_reference_differs_in_which_of_equally_frequent_pairs_is_merged(corpus: Path) -> None:
    """CS336 breaks ties by the greatest bytes, the library by the lowest ids; on this corpus all but four tokens are equal."""
    lines = (corpus.parent / "train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    reference = [(first, second) for first, second in (line.split(" ") for line in lines)]
    assert merges_by_counting([corpus.read_text(encoding="utf-8")], 243, greatest_bytes) == reference
    ours = merges_of(train_bpe([corpus], 500))
    assert ours[:31] == reference[:31]
    assert set(reference) - set(ours) == {("Ġ", "ver"), ("1", "24"), ("2", "4"), ("o", "g")}
    assert set(ours) - set(reference) == {("1", "2"), ("12", "4"), ("Ġ", "k"), ("Ġpr", "o")}


def test_bytes_and_special_tokens_have_the_ids_of_the_reference(corpus: Path) -> None:
    reference = json.loads((corpus.parent / "train-bpe-reference-vocab.json").read_text(encoding="utf-8"))
    tokenizer = train_bpe([corpus], 500)
    assert tokenizer.vocab_size == len(reference) == 500
    first = {token: token_id for token, token_id in reference.items() if token_id < 257}
    assert {tokenizer.token(token_id): token_id for token_id in range(257)} == first


@settings(max_examples=25)
@given(texts=st.lists(st.text(st.sampled_from("ab c'sé\n"), max_size=30), max_size=5), more=st.integers(0, 12))
def test_small_texts_are_merged_as_the_plain_algorithm_does(texts: list[str], more: int) -> None:
    tokenizer = train_bpe(iter(texts), 257 + more)
    assert merges_of(tokenizer) == merges_by_counting(texts, more, lowest_ids)
    assert all(tokenizer.decode(tokenizer.encode(text)) == text for text in texts)


def test_the_same_texts_give_the_same_tokenizer(corpus: Path) -> None:
    texts = corpus.read_text(encoding="utf-8").splitlines()
    assert train_bpe(texts, 400).backend.to_str() == train_bpe(iter(texts), 400).backend.to_str()


def test_special_tokens_take_no_part_in_merges() -> None:
    texts = ["one<|endoftext|>two<|end|>"] * 50
    tokenizer = train_bpe(texts, 270, special_tokens=("<|end", "<|endoftext|>", "<|end|>"))
    assert not any("<" in first + second or "|" in first + second for first, second in merges_of(tokenizer))
    assert [tokenizer.token(token_id) for token_id in tokenizer.encode(texts[0])] == ["one", "<|endoftext|>", "two", "<|end|>"]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids) == (0, (0,))


def test_no_special_tokens_at_all() -> None:
    tokenizer = train_bpe(["abab"], 258, special_tokens=())
    assert (tokenizer.bos_token_id, tokenizer.eos_token_ids, tokenizer.vocab_size) == (None, (), 258)


def test_texts_that_run_out_give_fewer_tokens() -> None:
    assert train_bpe(["ab"], 5000).vocab_size == 258
    assert train_bpe([], 5000).vocab_size == 257


@pytest.mark.parametrize(
    ("vocab_size", "special_tokens", "message"),
    [
        (256, ("<|endoftext|>",), "vocab_size=256, expected at least 257"),
        (300, ("",), "expected different texts that are not empty"),
        (300, ("<a>", "<a>"), "expected different texts that are not empty"),
    ],
)
def test_options_that_cannot_be(vocab_size: int, special_tokens: tuple[str, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        train_bpe(["a"], vocab_size, special_tokens=special_tokens)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="none, which cannot be read"):
        train_bpe([tmp_path / "none"], 300)


def test_a_byte_is_its_id() -> None:
    tokenizer = byte_tokenizer()
    assert tokenizer.encode("é\n<|endoftext|>") == [0xC3, 0xA9, 0x0A, 256]
    assert (tokenizer.vocab_size, tokenizer.bos_token_id, tokenizer.eos_token_ids) == (257, 256, (256,))


def test_characters_of_shakespeare_have_the_ids_of_nanogpt(data_dir: Path) -> None:
    path = data_dir / "corpora" / "tinyshakespeare.txt"
    text = path.read_text(encoding="utf-8")
    # nanoGPT, data/shakespeare_char/prepare.py
    ids = {character: place for place, character in enumerate(sorted(set(text)))}
    tokenizer = character_tokenizer([path])
    assert len(ids) == 65
    assert tokenizer.encode(text[:2000]) == [ids[character] for character in text[:2000]]
    assert (tokenizer.vocab_size, tokenizer.bos_token_id, tokenizer.eos_token_ids, tokenizer.unk_token_id) == (67, 65, (65,), 66)


plain_texts = st.text(st.characters(codec="utf-8"), max_size=20).filter(lambda text: "<unk>" not in text and "<|endoftext|>" not in text)


@given(texts=st.lists(plain_texts), other=plain_texts)
def test_each_character_is_one_token_and_an_unknown_one_is_unknown(texts: list[str], other: str) -> None:
    tokenizer = character_tokenizer(iter(texts))
    known = sorted(set("".join(texts)))
    assert [tokenizer.token(place) for place in range(len(known))] == known
    assert tokenizer.vocab_size == len(known) + 2
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode(other) == [known.index(each) if each in known else len(known) + 1 for each in other]


def test_the_characters_of_special_tokens_do_not_count() -> None:
    tokenizer = character_tokenizer(["a<|endoftext|>b<pad>"], named_tokens={"pad_token": "<pad>"})
    assert [tokenizer.token(place) for place in range(tokenizer.vocab_size)] == ["a", "b", "<|endoftext|>", "<unk>", "<pad>"]
    assert tokenizer.encode("a<|endoftext|>x<pad>") == [0, 2, 3, 4]


def test_no_characters_at_all() -> None:
    tokenizer = character_tokenizer([])
    assert (tokenizer.vocab_size, tokenizer.encode("a")) == (2, [1])


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(PromptError, match="the lone surrogate U.D800"):
        character_tokenizer(["a\ud800"])


MAKERS = {
    "bytes": lambda **options: byte_tokenizer(**options),
    "characters": lambda **options: character_tokenizer(["abc é"], **options),
    "bpe": lambda **options: train_bpe(["abc abc"], 300, **options),
}
TRANSLATING = {"pad_token": "<pad>", "eos_token": "</s>"}


@pytest.mark.parametrize("kind", MAKERS)
def test_named_tokens_take_their_part_and_the_end_is_added(kind: str) -> None:
    tokenizer = MAKERS[kind](named_tokens=TRANSLATING, adds_end=True)
    (end,) = tokenizer.eos_token_ids
    assert tokenizer.token(end) == "</s>"
    assert tokenizer.token(tokenizer.pad_token_id) == "<pad>"
    assert tokenizer.token(tokenizer.bos_token_id) == "<|endoftext|>"
    plain = MAKERS[kind]().encode("abc")
    shift = 2 if kind == "bpe" else 0
    assert tokenizer.encode("abc", add_special_tokens=False) == [each + shift for each in plain]
    assert tokenizer.encode("abc") == [*tokenizer.encode("abc", add_special_tokens=False), end]
    assert tokenizer.encode("<pad>a</s>") == [tokenizer.pad_token_id, *tokenizer.encode("a", add_special_tokens=False), end, end]
    assert tokenizer.decode(tokenizer.encode("abc")) == "abc"
    assert len({tokenizer.token(place) for place in range(tokenizer.vocab_size)}) == tokenizer.vocab_size


@pytest.mark.parametrize("kind", MAKERS)
def test_the_end_token_may_be_the_usual_one(kind: str) -> None:
    tokenizer = MAKERS[kind](named_tokens={"pad_token": "<|endoftext|>"}, adds_end=True)
    assert tokenizer.encode("")[-1:] == list(tokenizer.eos_token_ids) == [tokenizer.pad_token_id]
    assert tokenizer.vocab_size == MAKERS[kind]().vocab_size


@pytest.mark.parametrize("model_type", [None, "marian", "t5", "bert"])
@pytest.mark.parametrize("kind", MAKERS)
def test_transformers_opens_a_tokenizer_with_named_tokens(tmp_path: Path, kind: str, model_type: str | None) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = MAKERS[kind](named_tokens={**TRANSLATING, "mask_token": "[MASK]"}, adds_end=True)
    tokenizer.save(tmp_path)
    if model_type:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text in ("abc é", "a [MASK]<pad>", ""):
        assert theirs(text)["input_ids"] == ours.encode(text) == tokenizer.encode(text)
        assert theirs.decode(ours.encode(text), skip_special_tokens=True) == ours.decode(ours.encode(text))
    for name in ("pad_token_id", "mask_token_id", "unk_token_id", "bos_token_id"):
        assert getattr(theirs, name) == getattr(ours, name) == getattr(tokenizer, name)
    assert (theirs.eos_token_id,) == ours.eos_token_ids


@pytest.mark.parametrize("named_tokens", [{"pad": "<pad>"}, {"pad_token": ""}])
@pytest.mark.parametrize("kind", MAKERS)
def test_named_tokens_that_cannot_be(kind: str, named_tokens: dict[str, str]) -> None:
    with pytest.raises(OptionError, match="got named_tokens with 'pad.*expected names such as pad_token"):
        MAKERS[kind](named_tokens=named_tokens)


def test_an_end_needs_a_token() -> None:
    with pytest.raises(OptionError, match="adds_end=True without an eos token"):
        train_bpe(["a"], 300, special_tokens=(), adds_end=True)


def test_named_tokens_need_room_too() -> None:
    with pytest.raises(OptionError, match="vocab_size=257, expected at least 258"):
        train_bpe(["a"], 257, named_tokens={"pad_token": "<pad>"})


@pytest.mark.parametrize("model_type", [None, "gpt2", "llama"])
@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_transformers_opens_what_save_wrote_and_encodes_the_same(tmp_path: Path, kind: str, model_type: str | None) -> None:
    transformers = pytest.importorskip("transformers")
    texts = ["The cat sat on the mat.", "naïve 😀\n\n  it's <|endoftext|> 123", ""]
    tokenizer = byte_tokenizer() if kind == "bytes" else train_bpe(texts * 3, 280)
    tokenizer.save(tmp_path, model_max_length=64)
    if model_type:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    theirs, ours = transformers.AutoTokenizer.from_pretrained(tmp_path), load_tokenizer(tmp_path)
    for text in texts:
        assert theirs(text)["input_ids"] == ours.encode(text) == tokenizer.encode(text)
        assert theirs.decode(ours.encode(text)) == ours.decode(ours.encode(text), skip_special_tokens=False) == text
    assert (theirs.bos_token_id, theirs.eos_token_id) == (ours.bos_token_id, *ours.eos_token_ids)
    assert (theirs.model_max_length, len(theirs)) == (64, ours.vocab_size)


def test_saving_leaves_the_old_files_whole_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    byte_tokenizer().save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*paths: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        train_bpe(["abab"], 258).save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_chat_templates_are_saved_too(tmp_path: Path) -> None:
    for templates in ({"default": "a"}, {"default": "a", "tool_use": "b"}):
        LibraryTokenizer(byte_tokenizer().backend, chat_templates=templates).save(tmp_path)
        assert load_tokenizer(tmp_path).chat_templates == templates
