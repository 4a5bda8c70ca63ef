"""OpenVINO GenAI, set as its LLMPipeline sets itself for one user, but without reusing earlier prompts."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.settings import THREADS


def write(source: Path, target: Path, *, bits: int) -> None:
    from optimum.intel import OVModelForCausalLM, OVWeightQuantizationConfig

    config = OVWeightQuantizationConfig(bits=8) if bits == 8 else OVWeightQuantizationConfig(bits=4, group_size=64)
    OVModelForCausalLM.from_pretrained(source, export=True, quantization_config=config).save_pretrained(target)


def load(path: Path, num_sequences: int, max_length: int) -> Callable[[list[list[int]], int], list[float]]:
    import numpy
    import openvino_genai
    from openvino import Tensor

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.max_num_batched_tokens = num_sequences * max_length
    scheduler.enable_prefix_caching = False
    properties = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY"}
    pipeline = openvino_genai.ContinuousBatchingPipeline(str(path), scheduler, "CPU", properties)

    def generate(prompts: list[list[int]], num_tokens: int) -> list[float]:
        options = openvino_genai.GenerationConfig(max_new_tokens=num_tokens, eos_token_id=0, ignore_eos=True, do_sample=False)
        requests = [pipeline.add_request(index, Tensor(numpy.array([prompt])), options) for index, prompt in enumerate(prompts)]
        times = []
        while pipeline.has_non_finished_requests():
            pipeline.step()
            times.append(time.perf_counter())
        del requests  # a request whose handle is gone counts as cancelled
        return times

    return generate
