"""Tokenizers of the tokenizers library: the same ids and texts as transformers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from headway.errors import PromptError, TokenIdError
from headway.tokenizers import LibraryTokenizer, byte_tokenizer, load_tokenizer
from tests.tokenizers.sentences import SENTENCES

KINDS = ["byte_level", "llama", "gemma", "metaspace", "wordpiece"]
TEXT = st.text(st.one_of(st.sampled_from(" the cats.é中😀\n<>/"), st.characters(codec="utf-8")), max_size=30)


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, made_up: dict[str, Path]) -> tuple[LibraryTokenizer, object]:
    transformers = pytest.importorskip("transformers")
    folder = made_up[request.param]
    return load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)


@given(text=TEXT, special=st.booleans())
def test_encodes_and_decodes_as_transformers(both: tuple[LibraryTokenizer, object], text: str, special: bool) -> None:
    ours, theirs = both
    token_ids = ours.encode(text, add_special_tokens=special)
    assert token_ids == theirs(text, add_special_tokens=special)["input_ids"]
    for skips in (True, False):
        assert ours.decode(token_ids, skip_special_tokens=skips) == theirs.decode(token_ids, skip_special_tokens=skips)


def test_knows_itself_as_transformers_does(both: tuple[LibraryTokenizer, object]) -> None:
    ours, theirs = both
    assert (ours.bos_token_id, ours.eos_token_ids) == (theirs.bos_token_id, (theirs.eos_token_id,))
    assert ours.vocab_size == len(theirs)
    assert [ours.token(token_id) for token_id in range(ours.vocab_size)] == theirs.convert_ids_to_tokens(list(range(ours.vocab_size)))


def test_special_tokens_that_are_not_there_have_no_id(made_up: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(made_up["llama"])
    named = (tokenizer.unk_token_id, tokenizer.pad_token_id, tokenizer.mask_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert named == (0, None, None, None, None)


def test_special_tokens_are_added_on_demand(made_up: dict[str, Path]) -> None:
    llama = load_tokenizer(made_up["llama"])
    assert llama.encode("the", add_special_tokens=False) == llama.encode("the")[1:]
    assert llama.encode("the")[0] == llama.bos_token_id == 1


def test_an_id_without_a_token_adds_nothing() -> None:
    assert byte_tokenizer().decode([104, 9999, 105]) == "hi"


@pytest.mark.parametrize("token_id", [-1, 2**32])
def test_an_id_that_no_vocabulary_has_is_an_error(token_id: int) -> None:
    with pytest.raises(TokenIdError, match=f"got token id {token_id}, expected 0 or more"):
        byte_tokenizer().decode([104, token_id])


@pytest.mark.parametrize("token_id", [-1, 257])
def test_a_token_that_is_not_there(token_id: int) -> None:
    with pytest.raises(TokenIdError, match=f"got token id {token_id}, expected one of the vocabulary, 0 to 256"):
        byte_tokenizer().token(token_id)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(PromptError, match=r"U\+DCFF at character 2, expected text that has a UTF-8 form"):
        byte_tokenizer().encode("ab\udcff")


@pytest.fixture(scope="module")
def unigram(corpus_lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 tokenizer as transformers saves it, with a vocabulary from the library's trainer."""
    transformers = pytest.importorskip("transformers")
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    options = {"vocab_size": 367, "special_tokens": ["<pad>", "</s>", "<unk>"], "unk_token": "<unk>", "show_progress": False}
    backend.train_from_iterator(corpus_lines, trainers.UnigramTrainer(**options))
    vocab = sorted(backend.get_vocab(), key=backend.token_to_id)
    folder = tmp_path_factory.mktemp("unigram")
    scores = [(piece, -float(place)) for place, piece in enumerate(vocab)]
    extra = [(f"<extra_id_{place}>", 0.0) for place in reversed(range(5))]
    transformers.T5Tokenizer(vocab=[*scores, *extra], extra_ids=5).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("text", [*SENTENCES, "the <extra_id_0> king</s> <pad>", "</s>"])
def test_t5_encodes_and_decodes_as_transformers(unigram: Path, text: str) -> None:
    import transformers

    ours, theirs = load_tokenizer(unigram), transformers.AutoTokenizer.from_pretrained(unigram)
    token_ids = ours.encode(text)
    assert token_ids == theirs(text)["input_ids"]
    assert token_ids[-1:] == list(ours.eos_token_ids) == [1]
    assert (ours.pad_token_id, ours.unk_token_id, ours.vocab_size) == (theirs.pad_token_id, theirs.unk_token_id, len(theirs))
    for skips in (True, False):
        decoder = ours.stream_decoder(skip_special_tokens=skips)
        pieces = [*map(decoder.add, token_ids), decoder.flush()]
        decoded = theirs.decode(token_ids, skip_special_tokens=skips)
        assert "".join(pieces) == ours.decode(token_ids, skip_special_tokens=skips) == decoded
