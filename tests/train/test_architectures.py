"""Architectures: options, initial weights, and loading of the trained folder."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch

import headway
from headway.checkpoints.reading import load_checkpoint
from headway.errors import OptionError
from headway.models import ARCHITECTURES, architecture
from headway.tokenizers import load_tokenizer
from headway.train.architectures import Architecture
from headway.train.loop import Progress
from headway.train.options import TrainingOptions
from headway.train.run import Data, train
from headway.train.sequences import sequences
from headway.train.weights import initial_weights
from headway.trees import leaves

OPTIONS = TrainingOptions(
    context=26,
    num_layers=2,
    num_heads=4,
    hidden_size=24,
    batch_size=6,
    num_steps=60,
    learning_rate=1e-2,
    warmup_steps=3,
    eval_every=20,
    dtype="float32",
    dropout=0.1,
    seed=7,
)
CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM", "transformer": "MarianMTModel"}


NAMES = tuple(CLASSES)
DECODERS = [
    *("mistral", "qwen2", "gemma", "gemma2", "gemma3_text", "gemma3", "phi3", "smollm3", "granite", "olmo2", "olmo3"),
]
"""Further decoders of the registry."""
MIXTURES = ("olmoe", "mixtral", "qwen3_moe", "gpt_oss")


def options_of(name: str, **more) -> TrainingOptions:
    grouped = {"num_kv_heads": 2} if name in ("llama", "qwen3") else {}
    return replace(OPTIONS, architecture=name, **grouped | more)


def data_of(name: str, folder: Path) -> Data:
    folder.mkdir(exist_ok=True)
    if name == "transformer":
        (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in sequences(range(2, 9), 300, seed=1)))
        return Data(files=[folder / "pairs.tsv"], tokenizer="characters")
    (folder / "text.txt").write_text("The cat sat on the mat. The dog sat on the log. " * 60)
    return Data(files=[folder / "text.txt"], tokenizer="characters")


@pytest.fixture(scope="module", params=NAMES)
def trained(request, tmp_path_factory) -> tuple[str, Path, list[Progress]]:
    folder = tmp_path_factory.mktemp(request.param)
    report: list[Progress] = []
    train(folder / "out", options_of(request.param), data_of(request.param, folder), report=report.append)
    return request.param, folder / "out", report


def test_it_learns(trained):
    _, _, report = trained
    assert report[-1].validation_loss < report[19].validation_loss
    assert report[-1].validation_loss < report[0].loss - 0.5


def test_the_folder_opens_in_transformers_with_the_same_logits(trained):
    import transformers

    name, out, _ = trained
    theirs = getattr(transformers, CLASSES[name]).from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    here = load_checkpoint(out)
    texts = ["sort bca"] if name == "transformer" else ["The cat sat."]
    token_ids = numpy.array(tokenizer(texts)["input_ids"])
    assert token_ids.tolist() == [load_tokenizer(out).encode(text) for text in texts]
    given = {"input_ids": torch.tensor(token_ids)}
    if name == "transformer":
        start = theirs.generation_config.decoder_start_token_id
        answer = numpy.array([[start, 1, 2]])
        mine = here.architecture.forward(token_ids, answer, here.weights, here.config)
        given["decoder_input_ids"] = torch.tensor(answer)
    else:
        mine = here.architecture.forward(token_ids, here.weights, here.config)
    with torch.no_grad():
        numpy.testing.assert_allclose(mine, theirs(**given).logits.numpy(), atol=1e-4, rtol=0)


def test_the_folder_generates_what_transformers_generates(trained):
    import transformers

    name, out, _ = trained
    theirs = getattr(transformers, CLASSES[name]).from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    text = "sort bca" if name == "transformer" else "The cat"
    given = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
    token_ids = theirs.generate(**given, do_sample=False, max_new_tokens=6, max_length=None, temperature=None, top_p=None)[0].tolist()
    completion = headway.load(out).generate(text, temperature=0, max_new_tokens=6)
    assert token_ids[1 if name == "transformer" else given["input_ids"].shape[1] :] == completion.token_ids


def test_the_run_keeps_its_architecture(trained):
    name, out, _ = trained
    assert json.loads((out / "training" / "options.json").read_text())["architecture"] == name


@pytest.mark.parametrize("name", NAMES)
def test_first_weights_are_as_wide_as_the_authors_draw_them(name):
    options = options_of(name, hidden_size=96, num_layers=8)
    config = Architecture(name).config(211, options)
    weights = dict(leaves(initial_weights(config, options)))
    layers = "encoder.layers" if name == "transformer" else "layers"
    up, output, embedding = (
        float(weights[path].std())
        for path in (f"{layers}.0.feed_forward.up.weight", f"{layers}.0.attention.output.weight", "token_embedding")
    )
    if name == "transformer":
        assert up == pytest.approx(math.sqrt(2 / (96 + 384)), rel=0.05)
        assert output == pytest.approx(math.sqrt(2 / (96 + 96)), rel=0.05)
        assert embedding == pytest.approx(1 / math.sqrt(96), rel=0.05)
    else:
        assert up == pytest.approx(0.02, rel=0.05)
        assert output == pytest.approx(0.02 / 4, rel=0.05)
        assert embedding == pytest.approx(0.02, rel=0.05)
    assert all((leaf == 1).all() for path, leaf in weights.items() if path.endswith("norm.weight"))
    assert all((leaf == 0).all() for path, leaf in weights.items() if path.endswith("bias"))
    assert weights["output_head"] is weights["token_embedding"]


def test_every_decoder_of_the_registry_is_trained_or_a_mixture_of_experts():
    decoders = {name for name in ARCHITECTURES if architecture(name).KIND == "decoder"}
    assert decoders == {*NAMES, *DECODERS, *MIXTURES} - {"transformer"}


@pytest.mark.parametrize("name", DECODERS)
def test_the_loss_of_other_decoders_falls_and_transformers_loads_them(tmp_path, name):
    import transformers

    options = options_of(name, num_steps=16, eval_every=4, num_kv_heads=2)
    report: list[Progress] = []
    train(tmp_path / "model", options, data_of(name, tmp_path / "data"), report=report.append)
    assert report[-1].validation_loss < report[3].validation_loss
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    ours = load_checkpoint(tmp_path / "model")
    token_ids = numpy.arange(20)[None] % 15
    with torch.no_grad():
        expected = theirs(torch.from_numpy(token_ids)).logits.numpy()
    numpy.testing.assert_allclose(ours.architecture.forward(token_ids, ours.weights, ours.config), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures_of_experts_are_refused(name):
    with pytest.raises(OptionError, match=f"got architecture={name}, a mixture of experts"):
        replace(OPTIONS, architecture=name)


@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_grouped_heads_share_keys_and_values(name):
    config = Architecture(name).config(211, options_of(name))
    assert (config.num_attention_heads, config.num_key_value_heads, config.intermediate_size) == (4, 2, 64)
    assert Architecture(name).config(211, replace(OPTIONS, architecture=name)).num_key_value_heads == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"architecture": "bert"},
            "got architecture='bert', expected gpt2, llama, qwen3 or the model_type of another decoder, or transformer",
        ),
        ({"num_kv_heads": 2}, "(?s)num_kv_heads=2 and architecture=gpt2 cannot be combined.*architecture llama or qwen3"),
        ({"architecture": "transformer", "num_kv_heads": 2}, "num_kv_heads=2 and architecture=transformer cannot be combined"),
        ({"architecture": "llama", "num_kv_heads": 3}, "num_heads=4 and num_kv_heads=3, expected num_heads to be a multiple"),
        (
            {"architecture": "llama", "hidden_size": 12},
            "hidden_size=12 and num_heads=4 with architecture=llama, expected an even hidden_size / num_heads",
        ),
        (
            {"architecture": "transformer", "hidden_size": 25, "num_heads": 5},
            "hidden_size=25 with architecture=transformer, expected an even number",
        ),
        ({"num_heads": 3, "hidden_size": 16}, "a multiple of num_heads"),
        ({"num_steps": 0}, "num_steps=0"),
        ({"intermediate_size": 0}, "intermediate_size=0"),
        ({"dtype": "int8"}, "dtype='int8'"),
        ({"weights_dtype": "bf16"}, "weights_dtype='bf16', expected float32, float16 or bfloat16"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"min_learning_rate": -1.0}, "min_learning_rate=-1.0, expected at least 0"),
        ({"dropout": 1.0}, "dropout=1.0, expected at least 0 and below 1"),
        ({"beta2": 1.0}, "beta2=1.0"),
    ],
)
def test_options_that_do_not_apply_or_are_out_of_range(options, message):
    with pytest.raises(OptionError, match=message):
        TrainingOptions(**options)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("gpt2", {}, "got no training data, expected one of files"),
        ("gpt2", {"files": ["a"], "num_stories": 3}, "got files and stories, expected one"),
        ("gpt2", {"source": "a", "target": "b"}, "(?s)a source file and architecture=gpt2 cannot be combined.*text files"),
        ("transformer", {"source": "a"}, "one of a source file and a target file, expected both"),
        ("transformer", {"num_stories": 3}, "(?s)stories and architecture=transformer cannot be combined.*pairs"),
        ("gpt2", {"files": ["a"], "tokenizer": "words"}, "tokenizer='words', expected bpe, bytes or characters"),
        (
            "gpt2",
            {"files": ["a"], "tokenizer": "bytes", "vocab_size": 300},
            "(?s)vocab_size=300 and tokenizer=bytes cannot be combined.*use bpe",
        ),
        ("gpt2", {"files": ["a"], "validation_share": 1.0}, "validation_share=1.0"),
        ("gpt2", {"num_stories": 0}, "num_stories=0"),
    ],
)
def test_data_that_does_not_fit(name, data, message):
    with pytest.raises(OptionError, match=message):
        Data(**data).check_for(name)
