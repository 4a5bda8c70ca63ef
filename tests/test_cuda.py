"""Headway on a CUDA device against itself on the CPU; skipped where there is none. Captured steps: kernels/test_captured_decoder.py."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy
import pytest
import torch

import headway
from headway import functions
from headway.arrays import from_numpy, is_floating, to_numpy
from headway.checkpoints import load_checkpoint
from headway.kernels import operations
from headway.runners import CapturedRunner, ReferenceRunner
from headway.train.loop import Progress
from headway.train.options import TrainingOptions
from headway.train.run import Data, finish, resume, start
from headway.trees import leaves
from tests.cli.command import headway as run_headway
from tests.functions.close import assert_close
from tests.functions.test_array_libraries import FROM_LIKE, FUNCTIONS, ON_ARRAYS, example, map_arrays, results
from tests.models import test_encoders
from tests.models.conftest import saved_encoder_decoder  # noqa: F401
from tests.models.saved_by_transformers import ENCODER_DECODER_CASES
from tests.nn.cases import CASES
from tests.small_encoders import save_bert

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")

CLOSE = 1e-4
PROMPTS = ["Once upon a time", "Lily", "The little dog was very happy because"]
OPTIONS = TrainingOptions(
    context=24, num_layers=2, num_heads=2, hidden_size=16, batch_size=5, num_steps=12, learning_rate=1e-2, warmup_steps=3, eval_every=4
)


def on_cuda(leaf):
    return from_numpy(leaf.astype(numpy.float32) if is_floating(leaf) else leaf, "torch", "cuda")


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_a_function_gives_the_same_on_cuda(name):
    call = example(name)
    exact = results(FUNCTIONS[name](**call))
    given = {argument: map_arrays(on_cuda, value) for argument, value in call.items()}
    for one, expected in zip(results(FUNCTIONS[name](**given)), exact, strict=True):
        assert one.is_cuda
        if is_floating(expected):
            assert_close(one, expected, dtype="float32")
        else:
            assert to_numpy(one).tolist() == expected.tolist()


@pytest.mark.parametrize("name", FROM_LIKE)
def test_a_function_without_arrays_answers_on_the_device_of_like(name):
    call = example(name, sizes={})
    result = FUNCTIONS[name](**call, like=torch.zeros(2, device="cuda"))
    assert result.is_cuda
    assert_close(result.float(), FUNCTIONS[name](**call).astype(numpy.float32), dtype="float32")


def test_a_cache_keeps_its_rows_on_the_device():
    cache = functions.KVCache.empty((3, 7, 5), torch.zeros(1, device="cuda"))
    key, value = torch.randn(2, 3, 2, 5, device="cuda")
    keys, values = cache.append(key, value)
    assert keys.is_cuda
    assert torch.equal(keys, key)
    assert torch.equal(values, value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_module_on_cuda_equals_its_definition_and_its_gradients_those_of_the_cpu(case):
    module = case.module()
    expected = module(*case.inputs, **case.masks)
    gradients = torch.autograd.grad(expected.square().sum(), list(module.parameters()))
    moved = module.to("cuda")
    inputs, masks = [x.cuda() for x in case.inputs], {name: mask.cuda() for name, mask in case.masks.items()}
    result = moved(*inputs, **masks)
    assert_close(result, expected)
    for one, other in zip(torch.autograd.grad(result.square().sum(), list(moved.parameters())), gradients, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("family", "head"), test_encoders.CASES)
def test_encoders_equal_transformers(tmp_path, family, head):
    saved = test_encoders.save(test_encoders.FAMILIES[family], head, tmp_path)
    loaded = load_checkpoint(saved.folder, array="torch", device="cuda")
    own, ops = loaded.architecture, operations("torch")
    token_ids, lengths = (from_numpy(each, "torch", "cuda") for each in (saved.token_ids, test_encoders.LENGTHS))
    hidden = own.encode(token_ids, loaded.weights, loaded.config, lengths=lengths, ops=ops)
    numpy.testing.assert_allclose(saved.real(to_numpy(hidden)), saved.real(saved.hidden), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("name", [case.name for case in ENCODER_DECODER_CASES])
def test_encoder_decoders_equal_transformers(saved_encoder_decoder, name):  # noqa: F811
    saved = saved_encoder_decoder(name)
    loaded = load_checkpoint(saved.folder, array="torch", device="cuda", dtype="float32")
    source_ids, token_ids, lengths = (from_numpy(each, "torch", "cuda") for each in (saved.source_ids, saved.token_ids, saved.lengths))
    logits = loaded.architecture.forward(source_ids, token_ids, loaded.weights, loaded.config, lengths=lengths, ops=operations("torch"))
    numpy.testing.assert_allclose(to_numpy(logits), saved.logits, atol=CLOSE, rtol=0)


@pytest.fixture(scope="module")
def stories():
    """The embedded model on the CPU, with captured steps on CUDA, and with the definitions on CUDA."""
    with (
        headway.load("stories", array="torch", device="cpu") as cpu,
        headway.load("stories", array="torch", device="cuda") as captured,
        headway.load("stories", array="torch", device="cuda", weights="none") as plain,
    ):
        assert isinstance(captured.engine.runner, CapturedRunner)
        assert type(plain.engine.runner) is ReferenceRunner
        yield cpu, captured, plain


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"temperature": 0.8, "seed": 5}, {"repetition_penalty": 1.3}], ids=str)
def test_generation_is_that_of_the_cpu(stories, options):
    cpu, *others = stories
    given = {"temperature": 0, "max_new_tokens": 80} | options
    expected = [completion.text for completion in cpu.generate(PROMPTS, **given)]
    for model in others:
        assert [completion.text for completion in model.generate(PROMPTS, **given)] == expected


def test_threads_share_one_model(stories):
    _, captured, _ = stories
    expected = [captured.generate(prompt, max_new_tokens=60, temperature=0).text for prompt in PROMPTS]
    texts: dict[int, str] = {}

    def work(number: int) -> None:
        texts[number] = captured.generate(PROMPTS[number % 3], max_new_tokens=60, temperature=0).text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [texts[number] for number in range(9)] == expected * 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_writes_a_story(dtype):
    with headway.load("stories", array="torch", device="cuda", dtype=dtype) as model:
        completion = model.generate("Once upon a time", max_new_tokens=60, temperature=0)
    assert completion.text.startswith(", ")


def test_the_command_line_generates_on_cuda():
    given = ("generate", "Once upon a time", "--max-new-tokens", "30", "--temperature", "0", "--array", "torch")
    results = [run_headway(*given, "--device", device) for device in ("cpu", "cuda")]
    assert [result.returncode for result in results] == [0, 0], results[1].stderr
    assert results[0].stdout == results[1].stdout


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_training_on_cuda_gives_the_losses_of_the_cpu_and_resumes(tmp_path, dtype):
    text = tmp_path / "text.txt"
    text.write_text("The cat sat on the mat. The dog sat on the log. " * 60)
    losses: dict[str, list[float]] = {}
    for device in ("cpu", "cuda"):
        report: list[Progress] = []
        run = start(tmp_path / device, replace(OPTIONS, device=device, dtype=dtype, seed=7), Data(files=[text], tokenizer="bytes"))
        assert run.train(report.append)
        losses[device] = [progress.loss for progress in report]
    numpy.testing.assert_allclose(losses["cuda"], losses["cpu"], rtol=1e-3 if dtype == "float32" else 3e-2)
    continued = resume(tmp_path / "cuda", num_steps=16)
    assert next(iter(leaves(continued.weights)))[1].is_cuda
    assert continued.train(report.append)
    finish(continued, tmp_path / "cuda")
    with headway.load(tmp_path / "cuda", array="torch", device="cuda") as model:
        assert model.generate("The cat", max_new_tokens=5, temperature=0).text


def test_vectors_on_cuda_equal_those_of_the_cpu(tmp_path):
    folder, texts = save_bert(tmp_path / "bert"), ["paris is the capital of france", "playing", "a query ( find )"]
    with headway.load(folder, array="torch", device="cpu") as cpu, headway.load(folder, array="torch", device="cuda") as cuda:
        numpy.testing.assert_allclose(cuda.embed(texts), cpu.embed(texts), atol=1e-5)
