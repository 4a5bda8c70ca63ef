"""Encoders against transformers, which saved the folders that are loaded here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import transformers

from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.checkpoints import load_checkpoint, save_checkpoint
from headway.errors import CheckpointError, PromptError, UnsupportedError
from headway.kernels import operations
from headway.trees import leaves

TOLERANCE = 1e-4
LENGTHS = numpy.array([13, 5, 1, 9])
SIZES = {"vocab_size": 97, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40}
LIKE_BERT = SIZES | {"max_position_embeddings": 19}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
HEADS = ("Model", "ForMaskedLM", "ForSequenceClassification")


@dataclass(frozen=True)
class Family:
    """A family of transformers' classes, and the keys of the config of a small model."""

    name: str
    keys: dict[str, Any] = field(default_factory=dict)


FAMILIES = {
    "bert": Family("Bert", LIKE_BERT),
    "roberta": Family("Roberta", LIKE_BERT | {"pad_token_id": 1}),
    "roberta, other padding": Family("Roberta", LIKE_BERT | {"pad_token_id": 3, "type_vocab_size": 1, "tie_word_embeddings": False}),
    "xlm-roberta": Family("XLMRoberta", LIKE_BERT | {"type_vocab_size": 1, "layer_norm_eps": 1e-5}),
    "camembert": Family("Camembert", LIKE_BERT | {"hidden_act": "gelu_new"}),
    "mpnet": Family("MPNet", LIKE_BERT | {"hidden_act": "relu"}),
    "distilbert": Family(
        "DistilBert", {"vocab_size": 97, "dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 19}
    ),
    "distilbert, relu": Family(
        "DistilBert",
        {"vocab_size": 97, "dim": 24, "n_layers": 2, "n_heads": 3, "hidden_dim": 30, "activation": "relu", "sinusoidal_pos_embds": True}
        | {"max_position_embeddings": 19},
    ),
    "modernbert": Family("ModernBert", LIKE_BERT | SPECIAL | {"num_hidden_layers": 4, "local_attention": 4}),
    "modernbert with biases, mean": Family(
        "ModernBert",
        LIKE_BERT
        | SPECIAL
        | {"norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "classifier_pooling": "mean"}
        | {"decoder_bias": False, "local_attention": 6, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    ),
}
CASES = [(family, head) for family in FAMILIES for head in HEADS]
every_case = pytest.mark.parametrize(("family", "head"), CASES, ids=[f"{family} {head}" for family, head in CASES])


@dataclass(frozen=True)
class Saved:
    """A folder, the inputs, and what transformers computes from them, padded on the right."""

    folder: Path
    token_ids: numpy.ndarray
    hidden: numpy.ndarray
    logits: numpy.ndarray | None

    def real(self, values: numpy.ndarray) -> numpy.ndarray:
        """Return the values at the tokens that are not padding."""
        return values[numpy.arange(values.shape[1]) < LENGTHS[:, None]]


def save(family: Family, head: str, folder: Path) -> Saved:
    torch.manual_seed(0)
    kind = getattr(transformers, family.name + head)
    config = getattr(transformers, f"{family.name}Config")(**family.keys, num_labels=5)
    model = kind(config)
    with torch.no_grad():  # norms of exactly 1 and biases of exactly 0 would hide a wrong name
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    is_real = numpy.arange(13) < LENGTHS[:, None]
    token_ids = numpy.where(is_real, numpy.random.default_rng(1).integers(4, 97, (4, 13)), config.pad_token_id)
    with torch.no_grad():
        given = {"input_ids": torch.from_numpy(token_ids), "attention_mask": torch.from_numpy(is_real).long()}
        hidden = model.base_model(**given).last_hidden_state.numpy()
        logits = getattr(model(**given), "logits", None)
    return Saved(folder, token_ids, hidden, None if logits is None else logits.numpy())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory):
    kept: dict[tuple[str, str], Saved] = {}

    def get(family: str, head: str) -> Saved:
        if (family, head) not in kept:
            kept[family, head] = save(FAMILIES[family], head, tmp_path_factory.mktemp("encoder"))
        return kept[family, head]

    return get


def run(loaded: Any, saved: Saved, head: str, array: str = "numpy") -> tuple[numpy.ndarray, numpy.ndarray | None]:
    """The hidden states and the logits of the head."""
    own, weights, config, ops = loaded.architecture, loaded.weights, loaded.config, operations(array)
    token_ids, lengths = from_numpy(saved.token_ids, array), from_numpy(LENGTHS, array)
    hidden, logits = own.encode(token_ids, weights, config, lengths=lengths, ops=ops), None
    if head == "ForMaskedLM":
        logits = to_numpy(own.masked_token_logits(hidden, weights, config, ops=ops))
    elif head == "ForSequenceClassification":
        logits = to_numpy(own.class_logits(hidden, weights, config, lengths=lengths, ops=ops))
    return to_numpy(hidden), logits


def check(loaded: Any, saved: Saved, head: str, array: str = "numpy") -> None:
    hidden, logits = run(loaded, saved, head, array)
    numpy.testing.assert_allclose(saved.real(hidden), saved.real(saved.hidden), atol=TOLERANCE, rtol=0)
    if logits is not None:
        result, expected = (logits, saved.logits) if logits.ndim == 2 else (saved.real(logits), saved.real(saved.logits))
        numpy.testing.assert_allclose(result, expected, atol=TOLERANCE, rtol=0)


@every_case
def test_hidden_states_and_logits_equal_those_of_transformers(saved, family, head):
    saved = saved(family, head)
    check(load_checkpoint(saved.folder), saved, head)


@pytest.mark.parametrize("array", [each for each in ARRAY_LIBRARIES if each != "numpy"])
@pytest.mark.parametrize("family", ["mpnet", "modernbert"])
def test_every_library_with_its_fastest_operations_equals_transformers(saved, family, array):
    saved = saved(family, "ForSequenceClassification")
    check(load_checkpoint(saved.folder, array=array), saved, "ForSequenceClassification", array)


@every_case
def test_a_folder_saved_here_is_read_by_transformers(saved, family, head, tmp_path):
    saved = saved(family, head)
    loaded = load_checkpoint(saved.folder)
    save_checkpoint(tmp_path, loaded.architecture, loaded.config, loaded.weights, generation_config=loaded.generation_config)
    again = load_checkpoint(tmp_path)
    assert again.config == loaded.config
    for (path, first), (_, second) in zip(leaves(loaded.weights), leaves(again.weights), strict=True):
        numpy.testing.assert_array_equal(first, second, err_msg=path)
    model = getattr(transformers, FAMILIES[family].name + head).from_pretrained(tmp_path).eval()
    mask = torch.arange(13) < torch.from_numpy(LENGTHS)[:, None]
    with torch.no_grad():
        hidden = model.base_model(input_ids=torch.from_numpy(saved.token_ids), attention_mask=mask.long()).last_hidden_state.numpy()
    numpy.testing.assert_allclose(saved.real(hidden), saved.real(saved.hidden), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_with_padding_equals_every_text_alone(saved, family):
    saved = saved(family, "ForSequenceClassification")
    loaded = load_checkpoint(saved.folder)
    own, weights, config = loaded.architecture, loaded.weights, loaded.config
    hidden, logits = run(loaded, saved, "ForSequenceClassification")
    for row, length in enumerate(LENGTHS):
        alone = own.encode(saved.token_ids[row : row + 1, :length], weights, config)
        numpy.testing.assert_allclose(alone[0], hidden[row, :length], atol=1e-5, rtol=0)
        numpy.testing.assert_allclose(own.class_logits(alone, weights, config)[0], logits[row], atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_that_the_checkpoint_lacks_is_refused(saved, family):
    saved = saved(family, "Model")
    loaded = load_checkpoint(saved.folder)
    own, hidden = loaded.architecture, saved.hidden
    with pytest.raises(UnsupportedError, match="without a classifier, expected one that classifies texts\nhint: use a checkpoint"):
        own.class_logits(hidden, loaded.weights, loaded.config)
    with pytest.raises(UnsupportedError, match="without a masked-token head, expected one that fills masks"):
        own.masked_token_logits(hidden, loaded.weights, loaded.config)


@pytest.mark.parametrize(("family", "longest"), [("roberta", 17), ("roberta, other padding", 15), ("mpnet", 17), ("distilbert", 19)])
def test_as_many_tokens_as_positions_fit_and_one_more_does_not(saved, family, longest):
    loaded = load_checkpoint(saved(family, "Model").folder)
    assert loaded.config.max_seq_len == longest
    own = loaded.architecture
    assert own.encode(numpy.ones((1, longest), numpy.int64), loaded.weights, loaded.config).shape == (1, longest, 24)
    with pytest.raises(PromptError, match=f"got a text of {longest + 1} tokens, expected at most {longest}"):
        own.encode(numpy.ones((1, longest + 1), numpy.int64), loaded.weights, loaded.config)


@pytest.mark.parametrize("kind", ["ForTokenClassification", "ForMultipleChoice", "ForQuestionAnswering"])
@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "distilbert"])
def test_a_head_of_another_task_is_refused_when_the_folder_is_loaded_or_its_classes_are_used(family, kind, tmp_path):
    keys = FAMILIES[family].keys
    model = getattr(transformers, FAMILIES[family].name + kind)(getattr(transformers, f"{FAMILIES[family].name}Config")(**keys))
    model.save_pretrained(tmp_path)

    def classes() -> None:
        loaded = load_checkpoint(tmp_path)
        loaded.architecture.class_logits(numpy.ones((1, 2, 24), numpy.float32), loaded.weights, loaded.config)

    with pytest.raises((CheckpointError, UnsupportedError), match="expected"):
        classes()
