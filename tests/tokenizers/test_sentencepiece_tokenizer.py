"""Marian, T5 and Llama 2 from SentencePiece files: the same ids and texts as transformers and sentencepiece."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.errors import PromptError, TokenIdError
from headway.tokenizers import Tokenizer, load_tokenizer
from tests.tokenizers.sentences import SENTENCES

TEXT = st.text(st.one_of(st.sampled_from(" the cat.,é中😀\n▁<>"), st.characters(codec="utf-8", exclude_characters="\0")), max_size=30)
MARKED = ["a</s>b", "<pad> x <unk>y", "</s>", "hello</s> <s> world  ", "<unk><unk>", "x <extra_id_0> y<extra_id_99>z"]


@cache
def theirs_of(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("google.protobuf")
    with warnings.catch_warnings():
        # transformers warns that sacremoses is missing, but does not need it here.
        warnings.simplefilter("ignore")
        return transformers.AutoTokenizer.from_pretrained(folder)


@cache
def opened(folder: Path, name: str) -> tuple[Tokenizer, Any]:
    sentencepiece = pytest.importorskip("sentencepiece")
    return load_tokenizer(folder), sentencepiece.SentencePieceProcessor(model_file=str(folder / name))


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def write_folder(name: str, model: bytes, **files: Any) -> Path:
        folder = tmp_path_factory.mktemp("pieces")
        (folder / name).write_bytes(model)
        for stem, content in files.items():
            (folder / f"{stem}.json").write_text(json.dumps(content))
        return folder

    return write_folder


@pytest.fixture(scope="module")
def t5(write: Callable[..., Path], t5_model: bytes) -> Path:
    return write("spiece.model", t5_model, config={"model_type": "t5"})


@pytest.fixture(scope="module")
def llama(write: Callable[..., Path], llama_model: bytes) -> Path:
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": False}
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None}
    return write("tokenizer.model", llama_model, config={"model_type": "llama"}, tokenizer_config={**config, **named})


@pytest.fixture(scope="module")
def separate_folder(marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A separate vocabulary per language."""
    folder = tmp_path_factory.mktemp("separate")
    shutil.copytree(marian_folder, folder, dirs_exist_ok=True)
    pieces = [piece for piece in json.loads((folder / "vocab.json").read_text()) if not piece.startswith(">>")]
    special = ["</s>", "<unk>", "<pad>"]
    for name, order in (("vocab.json", 1), ("target_vocab.json", -1)):
        others = [piece for piece in pieces if piece not in special][::order]
        (folder / name).write_text(json.dumps({piece: place for place, piece in enumerate([*special, *others])}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": True}))
    return folder


@pytest.fixture(scope="module", params=["shared", "separate"])
def marian(request: pytest.FixtureRequest, marian_folder: Path, separate_folder: Path) -> tuple[Tokenizer, Any]:
    folder = marian_folder if request.param == "shared" else separate_folder
    return load_tokenizer(folder), theirs_of(folder)


@pytest.mark.parametrize("text", [*SENTENCES, *MARKED, ">>fra<< The fox.", ">>xyz<<The fox", "a >>fra<< b", ">>fra<<", ">>", "a<<b", ">>a"])
def test_marian_encodes_and_decodes_as_transformers(marian: tuple[Tokenizer, Any], text: str) -> None:
    ours, theirs = marian
    token_ids = ours.encode(text)
    assert token_ids == theirs(text)["input_ids"]
    assert ours.encode(text, add_special_tokens=False) == theirs(text, add_special_tokens=False)["input_ids"] == token_ids[:-1]
    written = ours.encode_target(text)
    assert written == theirs(text_target=text)["input_ids"]
    for skips in (True, False):
        assert ours.decode(written, skip_special_tokens=skips) == theirs.decode(written, skip_special_tokens=skips)


@given(text=TEXT)
def test_marian_encodes_any_text_as_transformers(marian: tuple[Tokenizer, Any], text: str) -> None:
    ours, theirs = marian
    assert ours.encode(text) == theirs(text)["input_ids"]
    assert ours.encode_target(text) == theirs(text_target=text)["input_ids"]


@given(data=st.data(), skips=st.booleans())
def test_marian_decodes_any_ids_as_transformers(marian: tuple[Tokenizer, Any], data: st.DataObject, skips: bool) -> None:
    ours, theirs = marian
    token_ids = data.draw(st.lists(st.integers(0, ours.vocab_size - 1), max_size=20))
    assert ours.decode(token_ids, skip_special_tokens=skips) == theirs.decode(token_ids, skip_special_tokens=skips)


def test_marian_knows_itself_as_transformers_does(marian: tuple[Tokenizer, Any]) -> None:
    ours, theirs = marian
    assert (ours.eos_token_ids, ours.pad_token_id, ours.unk_token_id) == ((theirs.eos_token_id,), theirs.pad_token_id, theirs.unk_token_id)
    assert (ours.bos_token_id, ours.vocab_size) == (None, len(theirs))
    assert [ours.token(place) for place in range(ours.vocab_size)] == [theirs.convert_ids_to_tokens(place) for place in range(len(theirs))]


def test_a_language_code_is_one_token_at_the_beginning_alone(marian_folder: Path) -> None:
    tokenizer = load_tokenizer(marian_folder)
    code = 2
    assert tokenizer.token(code) == ">>fra<<"
    assert tokenizer.encode(">>fra<< The fox.") == [code, *tokenizer.encode("The fox.")]
    assert code not in tokenizer.encode("The >>fra<< fox.")


@pytest.mark.parametrize("text", [*SENTENCES, *MARKED])
def test_t5_encodes_and_decodes_as_transformers(t5: Path, text: str) -> None:
    ours, theirs = load_tokenizer(t5), theirs_of(t5)
    token_ids = ours.encode(text)
    assert token_ids == theirs(text)["input_ids"]
    assert ours.encode(text, add_special_tokens=False) == theirs(text, add_special_tokens=False)["input_ids"] == token_ids[:-1]
    assert ours.decode(token_ids, skip_special_tokens=False) == theirs.decode(token_ids)
    # For a text that starts with an unknown character, the library of fast tokenizers keeps the space after it.
    assert ours.decode(token_ids) == theirs.decode(token_ids, skip_special_tokens=True).lstrip(" ")


def test_t5_knows_itself_as_transformers_does(t5: Path) -> None:
    ours, theirs = load_tokenizer(t5), theirs_of(t5)
    assert (ours.eos_token_ids, ours.pad_token_id, ours.unk_token_id, ours.bos_token_id) == ((1,), 0, 2, None)
    assert (theirs.eos_token_id, theirs.pad_token_id, theirs.unk_token_id) == (1, 0, 2)
    assert ours.vocab_size == len(theirs) == 431
    assert [ours.token(place) for place in range(431)] == theirs.convert_ids_to_tokens(list(range(431)))
    assert (ours.token(430), ours.token(331)) == ("<extra_id_0>", "<extra_id_99>")


@pytest.mark.parametrize("text", [*SENTENCES, *MARKED])
def test_llama_encodes_and_decodes_as_transformers(llama: Path, text: str) -> None:
    ours, theirs = load_tokenizer(llama), theirs_of(llama)
    # transformers drops a space at the start; sentencepiece keeps it, as in the model's training.
    text = text.lstrip(" ")
    token_ids = ours.encode(text)
    assert token_ids == theirs(text)["input_ids"]
    for skips in (True, False):
        assert ours.decode(token_ids, skip_special_tokens=skips) == theirs.decode(token_ids, skip_special_tokens=skips)


def test_legacy_puts_a_space_behind_special_tokens_too(write: Callable[..., Path], llama_model: bytes) -> None:
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}
    folder = write("tokenizer.model", llama_model, tokenizer_config={**config, "legacy": True})
    ours, theirs = load_tokenizer(folder), theirs_of(folder)
    for text in ("the</s>king", "<s>the<unk>x"):
        assert ours.encode(text) == theirs(text)["input_ids"]
    assert [ours.token(each) for each in ours.encode("</s>the")] == ["<s>", "</s>", "▁the"]
    without = load_tokenizer(write("tokenizer.model", llama_model, tokenizer_config=config))
    assert [without.token(each) for each in without.encode("</s>the")] == ["<s>", "</s>", "t", "he"]


@given(text=TEXT)
def test_t5_and_llama_encode_text_as_sentencepiece(t5: Path, llama: Path, text: str) -> None:
    for folder, name, before, behind in ((t5, "spiece.model", [], [1]), (llama, "tokenizer.model", [1], [])):
        ours, processor = opened(folder, name)
        assume("<" not in text)
        assert ours.encode(text) == [*before, *processor.encode(text), *behind]


@given(data=st.data())
def test_t5_and_llama_decode_any_ids_as_sentencepiece(t5: Path, llama: Path, data: st.DataObject) -> None:
    for folder, name, first in ((t5, "spiece.model", 3), (llama, "tokenizer.model", 1)):
        ours, processor = opened(folder, name)
        token_ids = data.draw(st.lists(st.integers(first, processor.get_piece_size() - 1)))
        assert ours.decode(token_ids) == processor.decode(token_ids)


@given(text=TEXT)
def test_llama_gives_every_text_back(llama: Path, text: str) -> None:
    ours, _ = opened(llama, "tokenizer.model")
    # The character that sentencepiece writes for a space decodes to a space.
    assume("<" not in text and "▁" not in text)
    assert ours.decode(ours.encode(text)) == text


def test_llama_adds_what_the_config_says(write: Callable[..., Path], llama_model: bytes) -> None:
    config = {"add_bos_token": False, "add_eos_token": True}
    tokenizer = load_tokenizer(write("tokenizer.model", llama_model, tokenizer_config=config))
    assert tokenizer.encode("a")[0] != 1
    assert tokenizer.encode("a")[-1] == 2
    plain = load_tokenizer(write("tokenizer.model", llama_model))
    assert plain.encode("a")[0] == plain.bos_token_id == 1
    assert plain.encode("a")[-1] != 2


def test_llama_without_the_space_before_a_text(write: Callable[..., Path], llama_model: bytes) -> None:
    config = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_prefix_space": False}
    folder = write("tokenizer.model", llama_model, tokenizer_config=config)
    ours, theirs = load_tokenizer(folder), theirs_of(folder)
    for text in ("the king", " the king", "x</s>the"):
        assert ours.encode(text) == theirs(text)["input_ids"]
        assert ours.decode(ours.encode(text)) == theirs.decode(ours.encode(text), skip_special_tokens=True)


def test_added_tokens_follow_the_pieces(write: Callable[..., Path], llama_model: bytes) -> None:
    added = {
        "613": {"content": "<|call|>", "special": False},
        "614": {"content": "<|end|>", "special": True, "lstrip": True, "rstrip": True},
    }
    folder = write("tokenizer.model", llama_model, tokenizer_config={"added_tokens_decoder": added, "eos_token": "<|end|>"})
    tokenizer = load_tokenizer(folder)
    assert tokenizer.eos_token_ids == (614,)
    assert tokenizer.vocab_size == 615
    token_ids = tokenizer.encode("the<|call|>king  <|end|>  x")
    assert [tokenizer.token(each) for each in token_ids if each >= 613] == ["<|call|>", "<|end|>"]
    assert tokenizer.decode(token_ids) == "the<|call|>kingx"
    assert tokenizer.decode(token_ids, skip_special_tokens=False) == "<s> the<|call|>king<|end|>x"


def test_added_tokens_that_are_single_words(write: Callable[..., Path], llama_model: bytes) -> None:
    added = {"613": {"content": "fox", "single_word": True}}
    tokenizer = load_tokenizer(write("tokenizer.model", llama_model, tokenizer_config={"added_tokens_decoder": added}))
    assert 613 in tokenizer.encode("a fox.")
    assert 613 not in tokenizer.encode("foxes")


def test_special_tokens_are_text_where_the_config_says_so(write: Callable[..., Path], t5_model: bytes) -> None:
    tokenizer = load_tokenizer(write("spiece.model", t5_model, tokenizer_config={"split_special_tokens": True}))
    assert 430 not in tokenizer.encode("<extra_id_0>")
    assert tokenizer.encode("</s>").count(1) == 1


@pytest.mark.parametrize("num_extra", [0, 3])
def test_the_config_says_how_many_extra_tokens_there_are(write: Callable[..., Path], t5_model: bytes, num_extra: int) -> None:
    config = {"tokenizer_class": "T5Tokenizer", "extra_ids": num_extra}
    folder = write("spiece.model", t5_model, tokenizer_config=config)
    assert load_tokenizer(folder).vocab_size == len(theirs_of(folder)) == 331 + num_extra


def test_spaces_before_punctuation_go_where_the_config_says_so(write: Callable[..., Path], t5_model: bytes) -> None:
    config = {"tokenizer_class": "T5Tokenizer", "clean_up_tokenization_spaces": True}
    folder = write("spiece.model", t5_model, tokenizer_config=config)
    ours, theirs = load_tokenizer(folder), theirs_of(folder)
    token_ids = ours.encode("He is , as it ' s said , do n't ?")
    assert ours.decode(token_ids) == theirs.decode(token_ids, skip_special_tokens=True) == "He is, as it's said, don't?"


def test_an_id_without_a_token_adds_nothing_and_has_no_name(t5: Path) -> None:
    tokenizer = load_tokenizer(t5)
    assert tokenizer.decode([9999, *tokenizer.encode("fox")]) == "fox"
    with pytest.raises(TokenIdError, match="got token id 431, expected one of the vocabulary, 0 to 430"):
        tokenizer.token(431)
    with pytest.raises(TokenIdError, match="got token id -1"):
        tokenizer.decode([-1])


def test_half_a_surrogate_pair_is_refused(t5: Path, marian_folder: Path) -> None:
    for encode in (load_tokenizer(t5).encode, load_tokenizer(marian_folder).encode_target):
        with pytest.raises(PromptError, match=r"U\+D800 at character 1"):
            encode("a\ud800")
