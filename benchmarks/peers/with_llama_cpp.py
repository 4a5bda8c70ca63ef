"""llama.cpp, by the C functions that llama-cpp-python binds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.settings import THREADS, converted
from benchmarks.serving_files import write_gguf


def write_f16(source: Path, target: Path) -> None:
    """The matrices in float16, the vectors in float32, and no tokenizer."""
    write_gguf(source, target, has_tokenizer=False)


def quantise(source: Path, target: Path, *, ftype: str) -> None:
    """As llama-quantize does it: the matrix of the embedding, which is the head's too, is Q8_0 also in a Q4_0 file."""
    import llama_cpp as lib

    params = lib.llama_model_quantize_default_params()
    params.ftype = getattr(lib, f"LLAMA_FTYPE_MOSTLY_{ftype}")
    params.nthread = THREADS
    if lib.llama_model_quantize(str(converted("f16.gguf")).encode(), str(target).encode(), params):
        raise RuntimeError(f"llama_model_quantize refused {ftype}")


def load(path: Path, num_sequences: int, max_length: int) -> Callable[[list[list[int]], int], list[float]]:
    import llama_cpp as lib
    import numpy

    model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_seq_max = num_sequences * max_length, num_sequences
    params.n_threads = params.n_threads_batch = THREADS
    context = lib.llama_init_from_model(model, params)
    if not context:
        raise RuntimeError(f"llama.cpp could not load {path}")
    vocab_size, batch_len = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model)), lib.llama_n_batch(context)
    batch = lib.llama_batch_init(batch_len, 0, 1)

    def decode(entries: list[tuple[int, int, int, bool]]) -> list[int]:
        """Run (token id, position, sequence, whether its logits are wanted); return the likeliest next token of each wanted row."""
        batch.n_tokens = len(entries)
        for index, (token_id, position, sequence, is_asked) in enumerate(entries):
            batch.token[index], batch.pos[index], batch.logits[index] = token_id, position, is_asked
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, sequence
        if lib.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        asked = [index for index, entry in enumerate(entries) if entry[-1]]
        rows = [numpy.ctypeslib.as_array(lib.llama_get_logits_ith(context, index), (vocab_size,)) for index in asked]
        return [int(row.argmax()) for row in rows]

    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        last = len(prompts[0]) - 1
        entries = [(token_id, at, row, at == last) for row, prompt in enumerate(prompts) for at, token_id in enumerate(prompt)]
        parts = [entries[start : start + batch_len] for start in range(0, len(entries), batch_len)]
        token_ids = [token_id for part in parts for token_id in decode(part)]
        times = [time.perf_counter()]
        for step in range(1, num_tokens):
            token_ids = decode([(token_id, last + step, row, True) for row, token_id in enumerate(token_ids)])
            times.append(time.perf_counter())
        return times

    return generate
