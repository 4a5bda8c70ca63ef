"""CTranslate2."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from benchmarks.peers.settings import THREADS


def write_int8(source: Path, target: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):
        def load_tokenizer(self, tokenizer_class: type, path: str, **options: object) -> SimpleNamespace:
            """No words: the converter fills the vocabulary up with <extra_id_0>, <extra_id_1>, …"""
            special = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), "<extra_id_0>")
            return SimpleNamespace(get_vocab=dict, **special)

    Converter(str(source)).convert(str(target), quantization="int8")


def load(path: Path, num_sequences: int, max_length: int) -> Callable[[list[list[int]], int], list[float]]:
    import ctranslate2

    generator = ctranslate2.Generator(str(path), device="cpu", inter_threads=1, intra_threads=THREADS)

    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        times = [0.0] * num_tokens

        def tell(result: ctranslate2.GenerationStepResult) -> bool:
            times[result.step] = time.perf_counter()  # the last sequence's is the step's
            return False

        generator.generate_batch(
            [[f"<extra_id_{token_id}>" for token_id in prompt] for prompt in prompts],
            min_length=num_tokens,
            max_length=num_tokens,
            include_prompt_in_result=False,
            callback=tell,
        )
        return times

    return generate
