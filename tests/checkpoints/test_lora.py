"""LoRA adapters: computed next to the weights, merged at load, and merged into a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from safetensors.numpy import load_file, save_file

import headway
from headway.checkpoints import load_checkpoint, merge_adapter, resolve_model, with_adapter
from headway.errors import CheckpointError, ModelNotFoundError, NotFiniteError, OptionError, UnsupportedError
from headway.functions import LowRank
from headway.trees import leaves
from tests.cli.command import headway as command
from tests.fuzz.models import write_model

QUERY, DOWN = "model.layers.0.self_attn.q_proj", "model.layers.0.mlp.down_proj"
TOKENS = numpy.array([[1, 2, 3, 4]])


def write_adapter(folder: Path, modules: dict[str, tuple[int, int]], rank: int = 2, **keys: Any) -> Path:
    """Write an adapter of random matrices; modules has the number of outputs and inputs of each module."""
    folder.mkdir(exist_ok=True)
    random, tensors = numpy.random.default_rng(0), {}
    for module, (rows, columns) in modules.items():
        tensors[f"base_model.model.{module}.lora_A.weight"] = random.standard_normal((rank, columns)).astype(numpy.float32)
        tensors[f"base_model.model.{module}.lora_B.weight"] = random.standard_normal((rows, rank)).astype(numpy.float32)
    save_file(tensors, folder / "adapter_model.safetensors")
    given = {"peft_type": "LORA", "r": rank, "lora_alpha": 4, "bias": "none", "use_dora": False, "target_modules": ["q_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(given | keys))
    return folder


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return write_model(tmp_path / "base", "llama")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    return write_adapter(tmp_path / "adapter", {QUERY: (8, 8), DOWN: (8, 5)})


def logits(checkpoint: Any) -> numpy.ndarray:
    return numpy.asarray(checkpoint.architecture.forward(TOKENS, checkpoint.weights, checkpoint.config))


def test_an_update_next_to_the_weights_equals_a_merged_one(llama, adapter):
    base = load_checkpoint(llama)
    unmerged, merged = with_adapter(base, adapter), with_adapter(base, adapter, merges=True)
    assert isinstance(unmerged.weights.layers[0].attention.query.weight, LowRank)
    numpy.testing.assert_allclose(logits(unmerged), logits(merged), atol=1e-4, rtol=1e-4)
    assert numpy.abs(logits(unmerged) - logits(base)).max() > 0.1


def test_the_scale_is_alpha_by_the_rank_or_its_root(llama, tmp_path):
    base = load_checkpoint(llama)
    for keys, scale in (({}, 2.0), ({"use_rslora": True}, 4 / 2**0.5), ({"alpha_pattern": {"q_proj": 6}}, 3.0)):
        updated = with_adapter(base, write_adapter(tmp_path / "adapter", {QUERY: (8, 8)}, **keys))
        assert updated.weights.layers[0].attention.query.weight.scale == pytest.approx(scale)


@pytest.mark.parametrize(
    ("name", "module", "shape"), [("gpt2", "transformer.h.0.attn.c_attn", (18, 6)), ("phi3", "model.layers.0.self_attn.qkv_proj", (24, 8))]
)
def test_a_fused_matrix_updates_each_of_its_parts(tmp_path, name, module, shape):
    folder, adapter = write_model(tmp_path / "base", name), write_adapter(tmp_path / "adapter", {module: shape})
    merge_adapter(folder, adapter, tmp_path / "merged")
    updated = with_adapter(load_checkpoint(folder), adapter)
    for part in ("query", "key", "value"):
        assert isinstance(getattr(updated.weights.layers[0].attention, part).weight, LowRank)
    numpy.testing.assert_allclose(logits(updated), logits(load_checkpoint(tmp_path / "merged")), atol=1e-4, rtol=1e-4)


def test_a_merged_folder_differs_in_the_adapters_matrices_only(llama, adapter, tmp_path):
    assert merge_adapter(llama, adapter, tmp_path / "merged") == 2
    before, after = load_file(llama / "model.safetensors"), load_file(tmp_path / "merged" / "model.safetensors")
    assert {name for name in before if not numpy.array_equal(before[name], after[name])} == {f"{QUERY}.weight", f"{DOWN}.weight"}
    assert (tmp_path / "merged" / "config.json").read_text() == (llama / "config.json").read_text()
    with pytest.raises(OptionError, match="which exists"):
        merge_adapter(llama, adapter, tmp_path / "merged")


def adapter_of_stories(folder: Path) -> Path:
    """Write an adapter of one matrix of the embedded model."""
    loaded = load_checkpoint(resolve_model("stories"))
    path, place = next(
        (path, place) for path, place in loaded.architecture.stored_weights(loaded.config).items() if "output.weight" in path
    )
    return write_adapter(folder, {place.name.removesuffix(".weight"): dict(leaves(loaded.weights))[path].shape}, lora_alpha=0.2)


def test_merging_that_fails_leaves_no_folder(llama, adapter, tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("headway.checkpoints.lora.save_tensors", fail)
        with pytest.raises(OSError, match="No space left"):
            merge_adapter(llama, adapter, tmp_path / "merged")
    assert list(tmp_path.glob("*merged*")) == []
    assert merge_adapter(llama, adapter, tmp_path / "merged") > 0


def test_generation_with_an_adapter_equals_that_of_the_merged_folder(tmp_path):
    adapter = adapter_of_stories(tmp_path / "adapter")
    merge_adapter(resolve_model("stories"), adapter, tmp_path / "merged")
    options = {"max_new_tokens": 12, "temperature": 0}
    for weights in ("none", "float32"):
        with_one = headway.load("stories", adapter=adapter, weights=weights).generate("Once upon a time", **options)
        assert with_one == headway.load(tmp_path / "merged", weights=weights).generate("Once upon a time", **options)
        assert with_one != headway.load("stories", weights=weights).generate("Once upon a time", **options)


def test_the_command_line_merges_and_uses_an_adapter(tmp_path):
    adapter, merged = adapter_of_stories(tmp_path / "adapter"), tmp_path / "merged"
    result = command("merge", "--model", "stories", "--adapter", str(adapter), "--out", str(merged))
    assert (result.returncode, result.stderr) == (0, f"{merged}: updated 1 matrix\n")
    generate = ("generate", "--weights", "none", "--temperature", "0", "--max-new-tokens", "8", "Once upon a time")
    assert command(*generate, "--adapter", str(adapter)).stdout == command(*generate, "--model", str(merged)).stdout
    assert command(*generate, "--adapter", str(tmp_path)).returncode == 2


def adapter_of_the_head(base: Path, folder: Path, copied: float = 1.0) -> Path:
    """An adapter of the output head, with the copy of the base model's head that PEFT saves, multiplied by a number."""
    tensors = load_file(base / "model.safetensors")
    head = tensors.get("lm_head.weight", tensors["model.embed_tokens.weight"])
    path = write_adapter(folder, {"lm_head": head.shape}) / "adapter_model.safetensors"
    save_file(load_file(path) | {"base_model.model.lm_head.base_layer.weight": copied * head}, path)
    return folder


@pytest.mark.parametrize("name", ["llama", "gemma3_text"])
def test_an_adapter_of_the_output_head_changes_it_alone_even_if_it_is_tied(tmp_path, name):
    base = load_checkpoint(write_model(tmp_path / "base", name))
    adapter = adapter_of_the_head(tmp_path / "base", tmp_path / "adapter")
    assert base.config.tie_word_embeddings == (name == "gemma3_text")
    both = [with_adapter(base, adapter, merges=merges) for merges in (False, True)]
    for updated in both:
        arguments = (TOKENS, updated.weights, updated.config)
        numpy.testing.assert_array_equal(
            updated.architecture.hidden_states(*arguments), base.architecture.hidden_states(TOKENS, base.weights, base.config)
        )
        numpy.testing.assert_allclose(logits(updated), logits(both[0]), atol=1e-4, rtol=1e-4)
        assert numpy.abs(logits(updated) - logits(base)).max() > 0.1


def test_an_adapter_of_the_output_head_is_merged_unless_the_head_is_tied(llama, tmp_path):
    adapter = adapter_of_the_head(llama, tmp_path / "adapter")
    assert merge_adapter(llama, adapter, tmp_path / "merged") == 1
    merged = load_checkpoint(tmp_path / "merged")
    numpy.testing.assert_allclose(logits(merged), logits(with_adapter(load_checkpoint(llama), adapter)), atol=1e-4, rtol=1e-4)
    tied = write_model(tmp_path / "tied", "gemma3_text")
    with pytest.raises(CheckpointError, match=r"got an adapter of lm_head\.weight") as raised:
        merge_adapter(tied, adapter_of_the_head(tied, tmp_path / "other"), tmp_path / "merged-tied")
    assert "tied to the embedding" in str(raised.value.hint)


def test_a_copy_of_another_base_models_head_is_refused(llama, tmp_path):
    adapter = adapter_of_the_head(llama, tmp_path / "adapter", copied=1.1)
    with pytest.raises(CheckpointError, match=r"lm_head\.base_layer\.weight, expected the values of the base model's tensor"):
        with_adapter(load_checkpoint(llama), adapter)


def test_an_adapter_of_the_embedding_is_refused_by_name(llama, tmp_path):
    adapter = write_adapter(tmp_path / "adapter", {QUERY: (8, 8)})
    path = adapter / "adapter_model.safetensors"
    pair = {"lora_embedding_A": (2, 7), "lora_embedding_B": (8, 2)}
    embedding = {f"base_model.model.model.embed_tokens.{name}": numpy.ones(shape, numpy.float32) for name, shape in pair.items()}
    save_file(load_file(path) | embedding, path)
    with pytest.raises(UnsupportedError, match=r"with the tensor base_model\.model\.model\.embed_tokens\.lora_embedding_A, expected only"):
        with_adapter(load_checkpoint(llama), adapter)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type='IA3', expected 'LORA'"),
        ({"use_dora": True}, "DoRA is not supported"),
        ({"bias": "all"}, "bias='all', expected 'none'"),
        ({"modules_to_save": ["lm_head"]}, r"modules_to_save=\['lm_head'\]"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights='pissa', which changes the base model"),
        ({"layer_replication": [[0, 2]]}, "layer_replication"),
        ({"alpha_pattern": {".*_proj": 2}}, "alpha_pattern"),
    ],
)
def test_other_kinds_of_adapters_are_refused_by_name(llama, tmp_path, keys, message):
    with pytest.raises(UnsupportedError, match=message):
        with_adapter(load_checkpoint(llama), write_adapter(tmp_path / "adapter", {QUERY: (8, 8)}, **keys))


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({QUERY: (16, 16)}, r"lora_A\.weight \(2, 16\) and .* \(16, 2\), expected \(rank, 8\) and \(8, rank\)"),
        ({"model.layers.7.self_attn.q_proj": (8, 8)}, r"model\.layers\.7\.self_attn\.q_proj.*expected modules of the base model"),
    ],
)
def test_an_adapter_of_another_base_model_is_refused(llama, tmp_path, modules, message):
    with pytest.raises(CheckpointError, match=message) as caught:
        with_adapter(load_checkpoint(llama), write_adapter(tmp_path / "adapter", modules))
    assert "another base model" in str(caught.value.hint)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
@pytest.mark.parametrize("part", ["lora_A", "lora_B"])
def test_an_adapter_with_nan_or_infinity_is_refused_by_the_name_of_its_tensor(llama, adapter, part, value):
    path = adapter / "adapter_model.safetensors"
    tensors = load_file(path)
    name = f"base_model.model.{QUERY}.{part}.weight"
    tensors[name][1, 1] = value
    save_file(tensors, path)
    with pytest.raises(NotFiniteError, match=f"NaN or infinity in {name}"):
        with_adapter(load_checkpoint(llama), adapter)


def test_a_folder_without_an_adapter_is_refused(llama):
    with pytest.raises(ModelNotFoundError, match=r"without adapter_config\.json"):
        with_adapter(load_checkpoint(llama), llama)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft uses deprecated names of transformers
@pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers`")  # the head is among the modules
def test_logits_equal_those_of_peft(tmp_path):
    peft = pytest.importorskip("peft", reason="the library PEFT is not installed")
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = write_model(tmp_path / "base", "llama")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    config = peft.LoraConfig(
        r=3, lora_alpha=5, target_modules=["q_proj", "o_proj", "up_proj", "lm_head"], rank_pattern={"up_proj": 2}, use_rslora=True
    )
    theirs = peft.get_peft_model(model, config).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "lora_" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(len(name)))
        theirs.save_pretrained(tmp_path / "adapter")
        expected = theirs(torch.from_numpy(TOKENS[:, :3])).logits.numpy()
    actual = logits(with_adapter(load_checkpoint(folder), tmp_path / "adapter"))[:, :3]  # transformers has no window for Llama
    numpy.testing.assert_allclose(actual, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("weights", ["none", "float32"])
def test_adapters_of_one_model_are_chosen_by_name(tmp_path, weights):
    adapter = adapter_of_stories(tmp_path / "adapter")
    options = {"max_new_tokens": 12, "temperature": 0}
    alone = headway.load("stories", adapter=adapter, weights=weights).generate("Once upon a time", **options)
    with headway.load("stories", weights=weights, adapters={"mine": adapter}) as model:
        assert model.adapters == ("mine",)
        assert model.generate("Once upon a time", adapter="mine", **options).token_ids == alone.token_ids
        assert model.generate(["Once upon a time"], **options)[0].token_ids != alone.token_ids
        with pytest.raises(OptionError, match="got adapter='other', expected one of those that are loaded: mine"):
            model.generate("Once upon a time", adapter="other")
        with pytest.raises(OptionError, match="got the adapter name 'mine', expected a name that no other adapter has"):
            model.load_adapter("mine", adapter)
        with pytest.raises(OptionError, match="got a second adapter named 'mine'"):  # as when two threads load it at once
            model.engine.runner.add_adapter("mine", {})
        assert model.generate("Once upon a time", adapter="mine", **options).token_ids == alone.token_ids


def test_an_unloaded_adapter_frees_its_name_and_memory(tmp_path):
    adapter, options = adapter_of_stories(tmp_path / "adapter"), {"max_new_tokens": 12, "temperature": 0}
    with headway.load("stories", adapters={"mine": adapter, "other": adapter}) as model:
        num_bytes = model.adapter_bytes
        stream = model.stream("Once upon a time", adapter="mine", **options)
        next(stream)
        with pytest.raises(OptionError, match="got the adapter 'mine' in use, requests: 1"):
            model.unload_adapter("mine")
        tokens = model.generate("Once upon a time", adapter="other", **options).token_ids
        del stream
        model.unload_adapter("mine")
        assert model.adapters == ("other",)
        assert model.adapter_bytes == num_bytes // 2
        with pytest.raises(OptionError, match="got adapter='mine', expected one of those that are loaded: other"):
            model.unload_adapter("mine")
        model.load_adapter("mine", adapter)
        assert model.generate("Once upon a time", adapter="mine", **options).token_ids == tokens


def test_named_adapters_are_computed_by_the_definitions_on_torch(tmp_path, monkeypatch):
    pytest.importorskip("torch")

    def capture(*_: object) -> None:
        raise AssertionError("a captured decoder computes no adapters")

    monkeypatch.setattr("headway.language_model.loading.captured_decoder", capture)
    with headway.load("stories", array="torch", adapters={"mine": adapter_of_stories(tmp_path / "adapter")}) as model:
        assert model.adapters == ("mine",)


def test_the_command_line_uses_the_first_named_adapter(tmp_path):
    adapter = adapter_of_stories(tmp_path / "adapter")
    generate = ("generate", "--weights", "none", "--temperature", "0", "--max-new-tokens", "8", "Once upon a time")
    named = command(*generate, "--adapter", f"mine={adapter}", "--adapter", f"other={adapter}")
    assert named.stdout == command(*generate, "--adapter", str(adapter)).stdout
    assert "got two --adapter with the same name" in command(*generate, "--adapter", f"a={adapter}", "--adapter", f"a={adapter}").stderr
