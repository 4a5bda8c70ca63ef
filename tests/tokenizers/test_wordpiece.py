"""BERT's vocab.txt and tokenizer.json: the same ids and texts as transformers for all options of case and accents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, trainers

from headway.errors import TokenizerError
from headway.tokenizers import Tokenizer, load_tokenizer
from tests.tokenizers.sentences import SENTENCES

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = st.text(st.one_of(st.sampled_from(" the cat.,'éÀ中😀\n#[MASK]"), st.characters(codec="utf-8")), max_size=30)
CONFIGS = {
    "nothing said": {},
    "cased": {"do_lower_case": False},
    "accents kept": {"do_lower_case": True, "strip_accents": False},
    "accents gone": {"do_lower_case": False, "strip_accents": True},
    "Chinese words": {"tokenize_chinese_chars": False, "never_split": None},
    "cleaned up": {"clean_up_tokenization_spaces": True},
    "a word that is not split": {"never_split": ["Élan"], "do_basic_tokenize": True},
}


def stream(tokenizer: Tokenizer, token_ids: Sequence[int], **options: object) -> str:
    decoder = tokenizer.stream_decoder(**options)
    return "".join([*map(decoder.add, token_ids), decoder.flush()])


@pytest.fixture(scope="module")
def words(corpus_lines: list[str]) -> list[str]:
    """A vocabulary with lower and upper case."""
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=487, special_tokens=SPECIAL, show_progress=False)
    backend.train_from_iterator([*corpus_lines, *(line.lower() for line in corpus_lines)], trainer)
    vocab = backend.get_vocab()
    return sorted(vocab, key=vocab.__getitem__)


@pytest.fixture(scope="module")
def write(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    @cache
    def write_folder(config: str = '{"tokenizer_class": "BertTokenizer"}', form: str = "vocab.txt") -> Path:
        folder = tmp_path_factory.mktemp("bert")
        (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(config)
        if form == "vocab.txt":
            return folder
        pytest.importorskip("transformers").AutoTokenizer.from_pretrained(folder).save_pretrained(folder / "saved")
        return folder / "saved"

    return write_folder


@pytest.fixture(scope="module", params=[(name, form) for name in CONFIGS for form in ("vocab.txt", "tokenizer.json")], ids=" in ".join)
def both(request: pytest.FixtureRequest, write: Callable[..., Path]) -> tuple[Tokenizer, Any]:
    transformers = pytest.importorskip("transformers")
    name, form = request.param
    folder = write(json.dumps({"tokenizer_class": "BertTokenizer", **CONFIGS[name]}), form)
    assert (folder / form).exists()
    return load_tokenizer(folder), transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("text", [*SENTENCES, "a [MASK] [SEP]b", "[UNK]", "The [MASK]."])
def test_encodes_and_decodes_as_transformers(both: tuple[Tokenizer, Any], text: str) -> None:
    ours, theirs = both
    token_ids = ours.encode(text)
    assert token_ids == theirs(text)["input_ids"]
    assert [token_ids[0], token_ids[-1]] == [ours.cls_token_id, ours.sep_token_id]
    assert ours.encode(text, add_special_tokens=False) == theirs(text, add_special_tokens=False)["input_ids"] == token_ids[1:-1]
    for skips in (True, False):
        decoded = theirs.decode(token_ids, skip_special_tokens=skips)
        assert ours.decode(token_ids, skip_special_tokens=skips) == stream(ours, token_ids, skip_special_tokens=skips) == decoded


@given(text=TEXT, data=st.data())
def test_any_text_and_any_ids_are_as_in_transformers(both: tuple[Tokenizer, Any], text: str, data: st.DataObject) -> None:
    ours, theirs = both
    assert ours.encode(text) == theirs(text)["input_ids"]
    token_ids = data.draw(st.lists(st.integers(0, ours.vocab_size - 1), max_size=20))
    for skips in (True, False):
        decoded = theirs.decode(token_ids, skip_special_tokens=skips)
        assert ours.decode(token_ids, skip_special_tokens=skips) == stream(ours, token_ids, skip_special_tokens=skips) == decoded


def test_knows_itself_as_transformers_does(both: tuple[Tokenizer, Any]) -> None:
    ours, theirs = both
    for name in ("unk_token_id", "pad_token_id", "mask_token_id", "cls_token_id", "sep_token_id", "bos_token_id"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert (ours.eos_token_ids, ours.vocab_size) == ((), len(theirs))
    assert [ours.token(place) for place in range(ours.vocab_size)] == theirs.convert_ids_to_tokens(list(range(len(theirs))))


def test_words_and_their_parts_are_put_together(write: Callable[..., Path]) -> None:
    tokenizer = load_tokenizer(write())
    token_ids = tokenizer.encode("Unbelievable, thou king!")
    assert any(tokenizer.token(each).startswith("##") for each in token_ids)
    assert tokenizer.decode(token_ids) == "unbelievable, thou king!"


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_names_of_special_tokens_come_from_the_class_where_no_file_says(tmp_path: Path, words: list[str], file: str) -> None:
    """A folder as BERT has on the hub, where tokenizer_config.json contains do_lower_case only."""
    content = {"tokenizer_config.json": {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, "config.json": {"model_type": "bert"}}
    backend = Backend(models.WordPiece({word: place for place, word in enumerate(words)}, unk_token="[UNK]"))
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / file).write_text(json.dumps(content[file]))
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.cls_token_id) == (4, 0, 2)
    (tmp_path / file).unlink()
    assert load_tokenizer(tmp_path).mask_token_id is None


def test_the_config_comes_before_the_normalizer_of_tokenizer_json(tmp_path: Path, words: list[str]) -> None:
    transformers = pytest.importorskip("transformers")
    vocab = {word: place for place, word in enumerate(words)}
    transformers.BertTokenizer(vocab=vocab, do_lower_case=False).save_pretrained(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_lower_case": True}))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert load_tokenizer(tmp_path).encode("The KING") == theirs("The KING")["input_ids"] == theirs("the king")["input_ids"]


def test_windows_line_ends_change_nothing(tmp_path: Path, words: list[str], write: Callable[..., Path]) -> None:
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(words).encode())
    assert load_tokenizer(tmp_path).backend.get_vocab() == load_tokenizer(write()).backend.get_vocab()


def test_other_names_for_the_special_tokens(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["<pad>", "<unk>", "<s>", "</s>", "<mask>", *words[5:]]))
    named = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **named}))
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(tmp_path)
    for text in ("the <mask> ☃ king", "[MASK]"):
        assert load_tokenizer(tmp_path).encode(text) == theirs(text)["input_ids"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"vocab.txt": "[PAD]\n[UNK]\n[CLS]\nthe\n"}, "vocab.txt, 4 lines without the sep_token, '[SEP]', expected BERT's word list"),
        ({"vocab.txt": ""}, "vocab.txt, 1 lines without the unk_token"),
        ({"vocab.txt": b"\xff\n"}, "vocab.txt, not UTF-8 at byte 0"),
        ({"tokenizer_config.json": '{"do_lower_case": "yes"}'}, "with do_lower_case 'yes', expected true or false"),
        (
            {"tokenizer_config.json": '{"tokenizer_class": "EsmTokenizer"}'},
            "tokenizer_class 'EsmTokenizer', vocab.txt and no tokenizer.json",
        ),
        ({"tokenizer_config.json": '{"unk_token": "<unk>"}'}, "without the unk_token, '<unk>', expected "),
        ({"tokenizer_config.json": '{"cls_token": null}'}, "without the cls_token, None, expected "),
    ],
)
def test_a_broken_folder_is_named(tmp_path: Path, files: dict[str, str | bytes], message: str) -> None:
    for name, content in {"vocab.txt": "\n".join([*SPECIAL, "the"]), **files}.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    assert message in str(caught.value)
