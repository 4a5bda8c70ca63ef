"""Counters and histograms for Prometheus, with vLLM's names under `headway:`."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from headway.engine import EngineStats
    from headway.server.generation import Times

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
ENGINE_STATES = (
    ("num_requests_running", "num_running", "Requests that have memory and are computed"),
    ("kv_cache_usage_perc", "cache_usage", "Share of the KV cache in use by running requests, 0 to 1"),
)
ENGINE_COUNTS = (
    ("prefix_cache_queries", "num_prefix_tokens", "Prompt tokens that were looked up in the prefix cache"),
    ("prefix_cache_hits", "num_prefix_hits", "Prompt tokens that were found in the prefix cache"),
    ("num_preemptions", "num_preemptions", "Requests that gave their memory to others and were computed again"),
    ("iteration_tokens", "num_rows", "Rows of all passes"),
    ("spec_decode_num_draft_tokens", "num_drafted", "Tokens that were drafted"),
    ("spec_decode_num_accepted_tokens", "num_accepted", "Drafted tokens that were accepted"),
)
"""Name of a metric, field of EngineStats, and help text."""
RATE_SECONDS = 30.0
"""Length of the time over which the throughput is measured."""

ModelStats: TypeAlias = "Mapping[str, Mapping[str, EngineStats]]"
"""Figures by the name of the model and the name of the engine."""


class TimeHistogram(Collector):
    """Times by the upper bounds in SECONDS. One thread observes without a lock, which costs a tenth of the package's own histogram."""

    def __init__(self, name: str, text: str) -> None:
        """Start without times."""
        self.name, self.text, self.total, self._numbers = name, text, 0.0, [0] * (len(SECONDS) + 1)

    def observe(self, seconds: float) -> None:
        """Count a time."""
        self._numbers[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield the metric."""
        bounds = [*(str(float(bound)) for bound in SECONDS), "+Inf"]
        numbers = zip(bounds, map(float, accumulate(self._numbers)), strict=True)
        yield HistogramMetricFamily(self.name, self.text, buckets=list(numbers), sum_value=self.total)


class Metrics:
    """Figures of a server. They are changed in the event loop's thread only.

    num_waiting_choices, num_waiting_tokens   choices without a token so far, and the tokens of their prompts
    """

    def __init__(self) -> None:
        self.num_waiting_choices = self.num_waiting_tokens = 0
        self._ended: deque[tuple[float, int]] = deque()
        self.registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"headway:{name}", text, labels, registry=self.registry)

        def histogram(name: str, text: str) -> TimeHistogram:
            each = TimeHistogram(f"headway:{name}", text)
            self.registry.register(each)
            return each

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"headway:{name}", text, registry=self.registry)

        gauge("num_requests_waiting", "Choices without a first token, and requests for vectors and ranks").set_function(
            lambda: self.num_waiting_choices
        )
        self._prompt_tokens = counter("prompt_tokens", "Tokens of prompts")
        self._generation_tokens = counter("generation_tokens", "Generated tokens")
        self._success = counter("request_success", "Finished choices", "finished_reason")
        self._rejections = counter("admission_rejections", "Requests that were refused", "reason")
        self._first_token = histogram("time_to_first_token_seconds", "Time from arrival to the first token")
        self._next_token = histogram("inter_token_latency_seconds", "Time between two tokens of a request")
        self._end_to_end = histogram("e2e_request_latency_seconds", "Time from arrival to the last token")
        self._decode = histogram("request_decode_time_seconds", "Time from the first to the last token")
        self._loads = counter("model_loads", "Models that were loaded for a request", "model_name")
        self._load_failures = counter("model_load_failures", "Models that could not be loaded", "model_name")
        self._unloads = counter("model_unloads", "Models that were unloaded, because others needed the memory", "model_name")
        self._load_time = Histogram(
            "headway:model_load_seconds", "Time to load a model", ["model_name"], registry=self.registry, buckets=SECONDS
        )

    def watch(self, stats: Callable[[], ModelStats], memory: Callable[[], Mapping[str, int]]) -> None:
        """Report the figures of the models that are loaded, which are read when the metrics are.

        stats    figures of each engine, by the names of the model and of the engine
        memory   bytes of each model
        """
        self.registry.register(_ModelFigures(stats, memory))

    def model_loaded(self, name: str, seconds: float) -> None:
        """Count a model that was loaded for a request."""
        self._loads.labels(name).inc()
        self._load_time.labels(name).observe(seconds)

    def model_failed(self, name: str) -> None:
        """Count a model that could not be loaded."""
        self._load_failures.labels(name).inc()

    def model_unloaded(self, name: str) -> None:
        """Count a model that was unloaded."""
        self._unloads.labels(name).inc()

    def first_token(self, seconds: float) -> None:
        """Count the first token of a request."""
        self._first_token.observe(seconds)

    def next_token(self, seconds: float) -> None:
        """Count a later token."""
        self._next_token.observe(seconds)

    def finished(self, reason: str) -> None:
        """Count a finished choice."""
        self._success.labels(reason).inc()

    def rejected(self, reason: str) -> None:
        """Count a request that was refused at the door."""
        self._rejections.labels(reason).inc()

    def ended(self, times: Times, num_prompt_tokens: int, num_new_tokens: int) -> None:
        """Count a request whose choices are all finished."""
        self._prompt_tokens.inc(num_prompt_tokens)
        self._generation_tokens.inc(num_new_tokens)
        self._end_to_end.observe(times.last - times.arrived)
        self._decode.observe(times.last - times.first)
        self._count_tokens(num_prompt_tokens + num_new_tokens)

    def encoded(self, seconds: float, num_tokens: int) -> None:
        """Count a finished request for vectors or ranks."""
        self.finished("stop")
        self._prompt_tokens.inc(num_tokens)
        self._end_to_end.observe(seconds)
        self._count_tokens(num_tokens)

    def _count_tokens(self, number: int) -> None:
        self._ended.append((time.perf_counter(), number))
        self._forget_old()

    def _forget_old(self) -> None:
        while self._ended and self._ended[0][0] < time.perf_counter() - RATE_SECONDS:
            self._ended.popleft()

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of the requests that ended within the last 30 seconds, per second; None if there are none."""
        self._forget_old()
        return sum(number for _, number in self._ended) / RATE_SECONDS if self._ended else None

    def text(self) -> bytes:
        """Return the figures in the text format of Prometheus."""
        return generate_latest(self.registry)


class _ModelFigures(Collector):
    """Figures of models that come and go, so that their labels do, too."""

    def __init__(self, stats: Callable[[], ModelStats], memory: Callable[[], Mapping[str, int]]) -> None:
        self._stats, self._memory = stats, memory

    def describe(self) -> list[Metric]:
        """Return no names: the registry then does not collect to find them."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        stats = [(model, engine, each) for model, engines in self._stats().items() for engine, each in engines.items()]
        kinds: tuple[tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], tuple[tuple[str, str, str], ...]], ...]
        kinds = ((GaugeMetricFamily, ENGINE_STATES), (CounterMetricFamily, ENGINE_COUNTS))
        for kind, figures in kinds:
            for name, field, text in figures:
                family = kind(f"headway:{name}", text, labels=("model_name", "engine"))
                for model, engine, each in stats:
                    family.add_metric((model, engine), getattr(each, field))
                yield family
        memory = GaugeMetricFamily("headway:model_memory_bytes", "Memory of a model's weights and KV cache", labels=("model_name",))
        for model, size in self._memory().items():
            memory.add_metric((model,), size)
        yield memory
