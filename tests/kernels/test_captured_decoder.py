"""A decoder's captured steps against ordinary passes.

Without a GPU, a step is traced with torch.fx: operation by operation at one position, on the tensors of the cache, and then only
repeated. Like a CUDA graph, this gives wrong results if a step depends on a number on the host or on a tensor that is reallocated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock, call, create_autospec

import numpy
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from headway.arrays import from_numpy
from headway.checkpoints import Checkpoint
from headway.engine import Engine
from headway.errors import HeadwayError, PromptError, UnsupportedError
from headway.kernels import captured_decoder, operations
from headway.kernels.captured_decoder import CapturedDecoder, CapturedKVCache
from headway.language_model import LanguageModel
from headway.language_model.decoders import captured_decoder as captured_decoder_of
from headway.models import gemma2, gpt2, past, qwen2, qwen3, t5
from headway.runners import CapturedRunner, Model, ReferenceRunner
from headway.tokenizers import byte_tokenizer
from headway.trees import map_tree
from tests.kernels.cpu.packed_models import FAMILIES, LLAMA_LIKE, MIXTURES, MODELS, NARROW, error, prompts
from tests.small_models import random_weights, request

WINDOW_ABOVE = qwen2.Config(
    hidden_size=64,
    intermediate_size=96,
    num_attention_heads=4,
    num_key_value_heads=2,
    use_sliding_window=True,
    sliding_window=6,
    max_window_layers=1,
    **LLAMA_LIKE,
)
LARGE_EPS = qwen3.Config(hidden_size=36, intermediate_size=48, num_attention_heads=4, head_dim=10, rms_norm_eps=0.1, **LLAMA_LIKE)
SOFT_CAPS = gemma2.Config(**NARROW | {"sliding_window": 6}, attn_logit_softcapping=5.0, final_logit_softcapping=4.0)
RECORDED = MODELS | {
    "qwen2 with a window in the upper layer": (qwen2, WINDOW_ABOVE),
    "qwen3 with a large eps": (qwen3, LARGE_EPS),
    "gemma2": (gemma2, SOFT_CAPS),
}
"""Architectures that together have every part of a decoder; recording a step takes seconds."""
ALL = {name: family for name, family in FAMILIES.items() if name not in MIXTURES} | RECORDED
FEW = ("gpt2", "qwen2 with a window in the upper layer")
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.03}
"""Relative to the largest logit."""
READS_BACK = ("_local_scalar_dense", "item", "nonzero", "is_nonzero", "equal", "masked_select", "unique", "allclose")
every_model = pytest.mark.parametrize("name", ALL)
some_models = pytest.mark.parametrize("name", FEW)
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")


def uncaptured(step):
    return step


def recorded(step):
    return make_fx(step)()


every_capture = pytest.mark.parametrize("capture", [uncaptured, recorded], ids=["uncaptured", "recorded"])
most_captures = pytest.mark.parametrize(
    ("name", "capture"), [(name, uncaptured) for name in ALL] + [pytest.param(name, recorded, marks=pytest.mark.slow) for name in RECORDED]
)


@pytest.fixture(autouse=True)
def few_keys(monkeypatch):
    """Let short texts need several graphs."""
    monkeypatch.setattr(captured_decoder, "MIN_KEYS", 8)


def ordinary(name, dtype=torch.float32, device=None):
    """Return a model whose passes are the architecture's."""
    architecture, config = ALL[name]
    weights = map_tree(lambda leaf: from_numpy(leaf, "torch", device).to(dtype), random_weights(architecture, config, deviation=0.2))
    return Model(architecture, config, weights, "torch", device, operations("torch"))


def captured(model, capture):
    return CapturedRunner(model, CapturedDecoder(model.architecture, model.config, model.weights, model.ops, capture=capture))


def last_logits(model, token_ids):
    """Return the logits of one whole pass without a cache."""
    tokens = torch.tensor([token_ids], device=model.device)
    return model.architecture.forward(tokens, model.weights, model.config, ops=model.ops)[0, -1].float().cpu().numpy()


def stream(model_or_runner, requests):
    """Return the tokens of the requests, by the ordinary passes of a model or by a runner."""
    runner = ReferenceRunner(model_or_runner) if isinstance(model_or_runner, Model) else model_or_runner
    return list(Engine(runner, runner.model.limits, sampling_ops=operations("numpy")).stream(requests))


def run(model_or_runner, requests):
    """Return the tokens and log probabilities of each request."""
    rows = {}
    for token in stream(model_or_runner, requests):
        rows.setdefault(token.index, []).append((token.token_id, token.log_prob))
    return [list(zip(*rows[index], strict=True)) for index in range(len(requests))]


@most_captures
def test_logits_are_those_of_a_whole_pass(name, capture):
    expect_the_logits_of_whole_passes(name, torch.float32, capture)


@some_models
def test_bfloat16_is_within_its_tolerance(name):
    expect_the_logits_of_whole_passes(name, torch.bfloat16, recorded)


def expect_the_logits_of_whole_passes(name, dtype, capture):
    model, rows = ordinary(name, dtype), prompts(5, 12, 1)
    stack = captured(model, capture).decoder
    cache = stack.new_cache(3, 40)
    for token_ids in [rows, *([[3 * step + row] for row in range(3)] for step in range(28))]:
        logits = stack.next_logits(token_ids, cache)
        rows = rows if token_ids is rows else [row + new for row, new in zip(rows, token_ids, strict=True)]
        if len(rows[1]) in (12, 16, 17, 33, 40):  # at the last position of a graph, and of the cache
            for mine, row in zip(logits, rows, strict=True):
                assert error(mine, last_logits(model, row)) < TOLERANCE[dtype]


@pytest.mark.slow
@every_capture
@pytest.mark.parametrize("name", RECORDED)
def test_generation_is_that_of_the_ordinary_passes(name, capture):
    sampling = {"temperature": 0.9, "top_k": 30, "repetition_penalty": 1.1, "seed": 3}
    requests = [
        request(prompt, length, num_log_probs=0, **(sampling if length != 9 else {}))
        for prompt, length in zip(prompts(5, 12, 1, 3), (20, 3, 9, 15), strict=True)
    ]
    expected = run(ordinary(name), requests)
    for mine, theirs in zip(run(captured(ordinary(name), capture), requests), expected, strict=True):
        assert mine[0] == theirs[0]
        assert mine[1] == pytest.approx(theirs[1], abs=1e-4)


@pytest.mark.slow
@every_capture
@some_models
def test_beam_search_is_that_of_the_ordinary_passes(name, capture):
    requests = [request(prompt, 14, num_beams=width) for prompt, width in zip(prompts(7, 2, 1), (4, 1, 3), strict=True)]
    mine, theirs = stream(captured(ordinary(name), capture), requests), stream(ordinary(name), requests)
    assert [(token.index, token.token_id) for token in mine] == [(token.index, token.token_id) for token in theirs]
    ended = [(one.hypotheses, other.hypotheses) for one, other in zip(mine, theirs, strict=True) if one.finish_reason]
    assert sorted(len(found[0]) for found in ended) == [0, 1, 1]
    for found in ended:
        pairs = list(zip(*found, strict=True))
        assert all(one.token_ids == other.token_ids and one.score == pytest.approx(other.score, abs=1e-4) for one, other in pairs)


@every_capture
def test_rows_continue_others(capture):
    model, rows = ordinary("qwen2"), prompts(9, 4, 17)
    stack = captured(model, capture).decoder
    cache = stack.new_cache(3, 30)
    stack.next_logits(rows, cache)
    for parents in ([2, 0, 0, 2, 2], [4, 0, 1, 1, 3], [1, 2]):
        cache.take(parents)
        rows = [[*rows[parent], number] for number, parent in enumerate(parents)]
        logits = stack.next_logits([row[-1:] for row in rows], cache)
        assert error(logits, numpy.stack([last_logits(model, row) for row in rows])) < 1e-5


def test_a_prompt_longer_than_a_pass_and_one_in_parts(monkeypatch):
    model, (prompt, other) = ordinary("qwen2"), prompts(50, 31)
    monkeypatch.setattr(past, "PREFILL_CHUNK", 16)
    stack = captured(model, recorded).decoder
    cache = stack.new_cache(2, 60)
    logits = stack.next_logits([prompt, other], cache)
    assert error(logits[1], last_logits(model, other)) < 1e-5
    logits = stack.next_logits([[1, 2, 3], [4, 5, 6]], cache)
    assert error(logits[0], last_logits(model, [*prompt, 1, 2, 3])) < 1e-5
    logits = stack.next_logits([[7], [8]], cache)
    assert error(logits[1], last_logits(model, [*other, 4, 5, 6, 8])) < 1e-5


def test_a_step_is_captured_once_for_each_power_of_two_of_keys():
    captures = []

    def counting(step):
        captures.append(step)
        return step

    run(captured(ordinary("gpt2"), counting), [request([3, 5], 30), request([7], 12)])
    assert [step.args[1] for step in captures] == [8, 16, 32]


@every_model
def test_a_step_is_idempotent(name):
    stack = captured(ordinary(name), lambda step: lambda: [step() for _ in range(3)][-1]).decoder
    once = captured(ordinary(name), uncaptured).decoder
    answers = []
    for each in (stack, once):
        cache = each.new_cache(1, 20)
        answers.append([each.next_logits([tokens], cache) for tokens in ([5, 7, 11], [2], [3], [5])])
    numpy.testing.assert_array_equal(*answers)


class Recording(TorchDispatchMode):
    """Record every operation, and the devices of its input and output tensors."""

    def __init__(self):
        super().__init__()
        self.names, self.devices = Counter(), Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        self.names[function.overloadpacket.__name__] += 1
        for leaf in torch.utils._pytree.tree_leaves((args, kwargs, result)):
            if isinstance(leaf, torch.Tensor):
                self.devices[leaf.device.type] += 1
        return result


@every_model
def test_a_step_reads_nothing_back(name):
    stack = captured(ordinary(name), uncaptured).decoder
    cache = stack.new_cache(2, 20)
    for token_ids in (prompts(4, 7), [[1], [2]]):
        stack.next_logits(token_ids, cache)
    with Recording() as recording:
        stack.step(cache, 16)
    assert recording.names["index_copy_"] == 2 * len(stack.spec.layers)
    assert not set(recording.names) & set(READS_BACK)


@every_model
def test_a_step_takes_nothing_from_the_host(name):
    model = ordinary(name)
    on_meta = replace(model, weights=map_tree(lambda leaf: leaf.to("meta"), model.weights))
    stack = captured(on_meta, uncaptured).decoder
    cache = stack.new_cache(2, 20)
    with Recording() as recording:
        logits = stack.step(cache, 16)
    assert logits.shape == (2, 101)
    assert set(recording.devices) == {"meta"}  # these tensors have no data: reading a number would raise


def test_a_step_that_reads_back_would_be_found():
    with Recording() as recording:
        torch.ones(1).item()
    assert set(recording.names) & set(READS_BACK)


def test_addresses_change_only_with_the_number_of_rows():
    def addresses(cache: CapturedKVCache):
        (rotary,) = cache.rotary.values()
        tensors = (*cache.keys_and_values, cache.tokens, cache.padding, cache.position, *rotary)
        return [x.data_ptr() for x in tensors]

    stack = captured(ordinary("qwen2"), uncaptured).decoder
    cache = stack.new_cache(3, 30)
    before = addresses(cache)
    stack.next_logits(prompts(5, 3, 4), cache)
    cache.take([2, 2, 0])
    stack.next_logits([[1], [2], [3]], cache)
    assert addresses(cache) == before
    assert cache.replay
    cache.take([0])
    assert cache.replay is None


@pytest.mark.parametrize(
    ("token_ids", "message"),
    [
        ([[1, 2], [3]], "got 1 to 2 tokens for 2 rows after 3, expected at least 1 token for each of 2 rows"),
        ([[1]], "got 1 to 1 tokens for 1 rows"),
        ([[], []], "got 0 to 0 tokens"),
        ([[1] * 18] * 2, "got 18 tokens after 3, expected at most 20 in total"),
    ],
)
def test_wrong_input_of_a_step_is_an_error(token_ids, message):
    stack = captured(ordinary("gpt2"), uncaptured).decoder
    cache = stack.new_cache(2, 20)
    stack.next_logits([[1, 2, 3], [4]], cache)
    with pytest.raises(PromptError, match=message):
        stack.next_logits(token_ids, cache)


def test_a_graph_is_captured_on_the_stream_of_its_warm_up_and_in_order(monkeypatch):
    """Check the order of the calls with mocks that have torch's signatures, because there is no GPU."""
    calls = Mock()
    for name in ("Stream", "CUDAGraph", "graph", "stream", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, create_autospec(getattr(torch.cuda, name)))
        calls.attach_mock(getattr(torch.cuda, name), name)
    current, own, graph = torch.cuda.current_stream.return_value, torch.cuda.Stream.return_value, torch.cuda.CUDAGraph.return_value
    torch.cuda.stream.return_value = torch.cuda.graph.return_value = MagicMock()
    calls.attach_mock(graph.replay, "replay")
    repeat = captured_decoder.cuda_graph(calls.step)
    assert repeat() is repeat() is calls.step.return_value
    order = [call.current_stream(), call.Stream(), call.Stream().wait_stream(current), call.stream(own), *[call.step()] * 3]
    order += [call.current_stream().wait_stream(own), call.CUDAGraph()]
    order += [call.graph(graph, stream=own, capture_error_mode="thread_local"), call.step(), call.replay(), call.replay()]
    assert [made for made in calls.mock_calls if made in order] == order


def test_only_a_decoder_on_cuda_is_captured():
    model = ordinary("qwen2")
    on_cuda = SimpleNamespace(token_embedding=SimpleNamespace(is_cuda=True))
    for architecture, weights, expected in (
        (qwen2, on_cuda, CapturedDecoder),
        (qwen2, model.weights, type(None)),
        (t5, on_cuda, type(None)),
    ):
        assert isinstance(captured_decoder_of(Checkpoint(architecture, model.config, weights, {}), model.ops), expected)


def test_a_mixture_of_experts_is_not_captured():
    mixtral, config = FAMILIES["mixtral"]
    on_cuda = SimpleNamespace(token_embedding=SimpleNamespace(is_cuda=True))
    assert captured_decoder_of(Checkpoint(mixtral, config, on_cuda, {}), operations("torch")) is None
    with pytest.raises(UnsupportedError, match="got a decoder with a mixture of experts"):
        CapturedDecoder(mixtral, config, None, operations("torch"))


def test_a_language_model_generates_and_embeds_the_same_with_captured_steps():
    config = gpt2.Config(vocab_size=257, n_positions=64, n_embd=12, n_layer=2, n_head=3)
    weights = map_tree(lambda leaf: from_numpy(leaf, "torch"), random_weights(gpt2, config))
    stack = CapturedDecoder(gpt2, config, weights, operations("torch"), capture=recorded)
    mine, plain = (
        LanguageModel(Checkpoint(gpt2, config, weights, {}), byte_tokenizer(), array="torch", decoder=each) for each in (stack, None)
    )
    texts = ["a", "abcdef", "Hello"]
    assert mine.generate(texts, max_new_tokens=20) == plain.generate(texts, max_new_tokens=20)
    numpy.testing.assert_array_equal(mine.embed(texts), plain.embed(texts))


@needs_cuda
@every_model
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_graphs_on_cuda_equal_a_whole_pass(name, dtype):
    model, rows = ordinary(name, dtype, "cuda"), prompts(5, 12, 1)
    stack = captured(model, captured_decoder.cuda_graph).decoder
    cache = stack.new_cache(3, 60)
    logits = stack.next_logits(rows, cache)
    for number in range(24):
        if number == 10:
            cache.take([2, 0, 0])
            rows = [rows[2], rows[0], rows[0]]
        rows = [[*row, number + place] for place, row in enumerate(rows)]
        logits = stack.next_logits([row[-1:] for row in rows], cache)
        for mine, row in zip(logits, rows, strict=True):
            assert error(mine, last_logits(model, row)) < TOLERANCE[dtype]


@needs_cuda
@some_models
def test_generation_on_cuda_is_that_of_the_ordinary_passes(name):
    model = ordinary(name, device="cuda")
    requests = [request(prompt, 14, num_beams=width) for prompt, width in zip(prompts(7, 2, 1), (4, 1, 1), strict=True)]
    mine, theirs = (run(each, requests) for each in (captured(model, captured_decoder.cuda_graph), model))
    assert [tokens for tokens, _ in mine] == [tokens for tokens, _ in theirs]


def test_a_closed_decoder_refuses_calls():
    decoder = captured(ordinary("gpt2"), uncaptured).decoder
    cache = decoder.new_cache(1, 20)
    decoder.close()
    decoder.close()
    with pytest.raises(HeadwayError, match="got a call of a closed model"):
        decoder.next_logits([[1]], cache)
