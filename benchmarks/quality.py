"""Loss of quality by packing: `python -m benchmarks.quality`.

The embedded model reads 2,000 tokens of its own kind of text, and the distributions of the next token are compared with those of its
float32 weights: by the kernels as they are, and by the definitions with weights rounded as llama.cpp's blocks are, Q8_0 and Q4_0, and
activations rounded to bytes in groups of 32 as its products do. The second table counts how many of ten greedy texts of 200 tokens
are those of float32.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy

import headway
from headway import functions
from headway.engine import SequenceRows
from headway.kernels import operations
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.trees import leaves, tree_from_leaves

STARTS = """
Once upon a time|The little fox|A big dog named|One day, a girl|In the morning|The old man|There was a boat|Lily and Tom|It was raining|The king
""".strip().split("|")
NUM_POSITIONS, WINDOW = 2000, 500


def main() -> None:
    plain = headway.load("stories", weights="none")
    windows = _windows(plain)
    exact = _definitions(plain, windows, plain.model.weights, operations("numpy"))
    print(f"| weights | KL to float32, nats per token, {NUM_POSITIONS} positions | same most likely token |\n|---|---|---|")
    for name, bits in (("Q8_0", 8), ("Q4_0", 4)):
        rounded = _definitions(plain, windows, _rounded(plain.model.weights, bits), _with_rounded_activations())
        _print(f"{name}'s blocks, activations in bytes", exact, rounded)
    for kind in ("float32", "bfloat16", "int8", "int4"):
        for cache in ("float32", "bfloat16", "int16", "int8"):
            model = headway.load("stories", weights=kind, cache=cache)
            _print(f"{kind}, {cache} cache", exact, _kernels(model, windows))
    _texts(plain)


def _print(name: str, exact: numpy.ndarray, other: numpy.ndarray) -> None:
    one, two = (functions.log_softmax(logits.astype(numpy.float64)) for logits in (exact, other))
    divergence = (numpy.exp(one) * (one - two)).sum(axis=-1).mean()
    print(f"| {name} | {divergence:.2e} | {(exact.argmax(-1) == other.argmax(-1)).mean():.4f} |", flush=True)


def _windows(model: headway.LanguageModel) -> list[list[int]]:
    """Stories that the model writes itself, sampled, end to end."""
    token_ids: list[int] = []
    for seed in range(40):
        prompt = model.tokenizer.encode(STARTS[seed % len(STARTS)])
        token_ids += [*prompt, *model.generate(prompt, temperature=1.0, seed=seed, max_new_tokens=300).token_ids]
    return [token_ids[first : first + WINDOW] for first in range(0, NUM_POSITIONS, WINDOW)]


def _definitions(model: headway.LanguageModel, windows: list[list[int]], weights: Any, ops: Any) -> numpy.ndarray:
    forward, config = model.model.architecture.forward, model.model.config
    return numpy.concatenate([forward(numpy.array([window]), weights, config, ops=ops)[0] for window in windows])


def _kernels(model: headway.LanguageModel, windows: list[list[int]]) -> numpy.ndarray:
    runner, rows = cast(CompiledDecoder, model.engine.runner), []
    runner.allocate(pages := -(-WINDOW // runner.page_size))
    for window in windows:
        for start, token_id in enumerate(window):
            rows.append(runner.run([SequenceRows(0, 0, start, [token_id], range(pages), 1)])[0])
    return numpy.stack(rows)


def _rounded(weights: Any, bits: int) -> Any:
    rounded = {path: _blocks(leaf, bits) if leaf.ndim == 2 else leaf for path, leaf in leaves(weights)}
    return tree_from_leaves(type(weights), rounded)


def _blocks(matrix: numpy.ndarray, bits: int) -> numpy.ndarray:
    """By groups of 32 along the inputs, as ggml's reference code rounds them."""
    groups = numpy.pad(matrix, ((0, 0), (0, -matrix.shape[1] % 32))).reshape(len(matrix), -1, 32)
    largest = numpy.take_along_axis(groups, abs(groups).argmax(-1, keepdims=True), -1)
    scale = abs(largest) / 127 if bits == 8 else largest / -8
    inverse = numpy.divide(1, scale, out=numpy.zeros_like(scale), where=scale != 0)
    codes = numpy.rint(groups * inverse) if bits == 8 else numpy.clip(numpy.floor(groups * inverse + 8.5), 0, 15) - 8
    return (codes * scale.astype(numpy.float16).astype(numpy.float32)).reshape(len(matrix), -1)[:, : matrix.shape[1]].astype(numpy.float32)


def _with_rounded_activations() -> SimpleNamespace:
    ops = operations("numpy")
    linear, unembed = ops.linear, ops.unembed

    def rounded(x: numpy.ndarray) -> numpy.ndarray:
        return _blocks(x.reshape(-1, x.shape[-1]), 8).reshape(x.shape)

    ops.linear = lambda x, weight, bias=None: linear(rounded(x), weight, bias)
    ops.unembed = lambda x, table: unembed(rounded(x), table)
    return ops


def _texts(plain: headway.LanguageModel) -> None:
    options = {"temperature": 0, "max_new_tokens": 200, "ignore_end": True}
    expected = [plain.generate(start, **options).text for start in STARTS]
    print("\n| weights | greedy texts of 200 tokens that are float32's |\n|---|---|")
    for kind in ("float32", "bfloat16", "int8", "int4"):
        model = headway.load("stories", weights=kind)
        same = sum(model.generate(start, **options).text == text for start, text in zip(STARTS, expected, strict=True))
        print(f"| {kind} | {same} of {len(STARTS)} |", flush=True)


if __name__ == "__main__":
    main()
