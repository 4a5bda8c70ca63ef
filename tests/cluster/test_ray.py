"""Two nodes on this machine: a lost replica, a lost node and a rolling restart in mid-stream. `make cluster` runs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec

import httpx
import pytest

import headway
from headway.language_model import load_without_kernels
from headway.server.run import Address
from headway.server.settings import Settings
from tests.server.conftest import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra ray"),
    pytest.mark.skipif("HEADWAY_CLUSTER" not in os.environ, reason="takes minutes; `make cluster` runs it"),
]

NUM_STREAMS, NUM_TOKENS = 16, 440


@dataclass
class Nodes:
    """A cluster of two nodes with the application."""

    cluster: object
    url: str
    second: object

    def start(self, settings: Settings | None = None) -> None:
        from headway.cluster.deployment import ModelDeployment
        from headway.cluster.run import start

        model = ModelDeployment(
            "stories", partial(headway.load, "stories", num_threads=1), load_without_kernels, num_replicas=2, num_cpus=1
        )
        start([model], settings or Settings(drain_seconds=1), Address(port=int(self.url.rpartition(":")[2])))

    def stop(self) -> None:
        from ray import serve

        serve.delete("headway")

    def process_ids(self) -> set[int]:
        from ray import serve

        handle = serve.get_deployment_handle("model-stories", "headway")
        return {handle.process_id.remote(str(key)).result(timeout_s=600) for key in range(20)}

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=600)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    from ray.cluster_utils import Cluster

    from headway.cluster.run import connect

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    connect(cluster.address)
    running = Nodes(cluster, f"http://127.0.0.1:{port}", second)
    try:
        running.start()
        yield running
    finally:
        import ray
        from ray import serve

        serve.shutdown()
        ray.shutdown()
        cluster.shutdown()


@dataclass
class Stream:
    """A client that reads a stream in its own thread."""

    nodes: Nodes
    body: dict
    texts: dict[int, str] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    problem: object = None
    thread: threading.Thread | None = None

    def read(self) -> None:
        try:
            with self.nodes.client() as client, client.stream("POST", "/v1/completions", json=self.body) as answer:
                assert answer.status_code == 200, answer.read()
                for line in answer.iter_lines():
                    if line.startswith("data: {"):
                        self.add(json.loads(line.removeprefix("data: ")))
        except Exception as error:
            self.problem = error

    def add(self, event: dict) -> None:
        if "error" in event:
            self.problem = event
            return
        for choice in event["choices"]:
            self.texts[choice["index"]] = self.texts.get(choice["index"], "") + choice["text"]
            if choice["finish_reason"]:
                self.reasons[choice["index"]] = choice["finish_reason"]

    @property
    def is_running(self) -> bool:
        return bool(self.texts) and len(self.reasons) < self.body["n"]


@pytest.fixture(scope="module")
def bodies_and_texts() -> list[tuple[dict, list[str]]]:
    """Requests, and the texts that the model gives them in this process."""
    from headway.server.served_model import ServedModel
    from tests.server.conftest import running

    bodies = [
        {
            "prompt": f"The {animal} number {index}",
            "max_tokens": NUM_TOKENS,
            "ignore_eos": True,
            "temperature": index % 2,
            "seed": index,
            "n": 2 if index % 4 == 1 else 1,
            "frequency_penalty": 0.5 if index % 3 == 0 else None,
        }
        for index, animal in enumerate(["fox", "cat", "dog", "hen"] * (NUM_STREAMS // 4))
    ]
    with headway.load("stories", num_threads=1) as model, running(ServedModel("stories", model)) as server, server.client() as client:
        answers = [client.post("/v1/completions", json=body).json()["choices"] for body in bodies]
    return [(body, [choice["text"] for choice in choices]) for body, choices in zip(bodies, answers, strict=True)]


def check_streams(nodes, bodies_and_texts, harm) -> None:
    """Start streams, do harm while most of them run, and compare every text."""
    streams = [Stream(nodes, {**body, "stream": True}) for body, _ in bodies_and_texts]
    for stream in streams:
        stream.thread = threading.Thread(target=stream.read)
        stream.thread.start()
    assert eventually(lambda: sum(bool(stream.texts) for stream in streams) >= NUM_STREAMS - 2)
    num_running = sum(stream.is_running for stream in streams)
    harm()
    for stream in streams:
        stream.thread.join(600)
    assert num_running > NUM_STREAMS * 3 // 4, "the streams ended too early for this test"
    assert [stream.problem for stream in streams] == [None] * NUM_STREAMS
    for stream, (_, texts) in zip(streams, bodies_and_texts, strict=True):
        assert [stream.texts[index] for index in range(len(texts))] == texts


def test_a_killed_replica_is_not_noticed(nodes, bodies_and_texts):
    before = nodes.process_ids()
    assert len(before) == 2
    check_streams(nodes, bodies_and_texts, lambda: os.kill(min(before), signal.SIGKILL))
    assert eventually(lambda: len(nodes.process_ids() - {min(before)}) == 2)


def answered(nodes) -> int:
    """Return the status code of a request over a new connection. The system may reset one that waits while its listener ends."""
    for _ in range(2):
        with suppress(httpx.NetworkError, httpx.RemoteProtocolError), nodes.client() as client:
            return client.post("/v1/completions", json={"prompt": "Once", "max_tokens": 1}).status_code
    return 0


def test_a_rolling_restart_is_not_noticed(nodes, bodies_and_texts):
    before, codes, end = nodes.process_ids(), [], threading.Event()

    def connect() -> None:
        while not end.is_set():
            codes.append(answered(nodes))

    connecting = threading.Thread(target=connect)
    connecting.start()
    check_streams(nodes, bodies_and_texts, nodes.start)
    end.set()
    connecting.join()
    assert len(codes) > 5
    assert set(codes) == {200}
    assert not before & nodes.process_ids()


def test_a_lost_node_is_not_noticed(nodes, bodies_and_texts):
    check_streams(nodes, bodies_and_texts, lambda: nodes.cluster.remove_node(nodes.second, allow_graceful=False))
    nodes.second = nodes.cluster.add_node(num_cpus=1)
    assert eventually(lambda: len(nodes.process_ids()) == 2)


def test_a_disconnect_ends_the_request_in_the_replica(nodes):
    from ray import serve

    handle = serve.get_deployment_handle("model-stories", "headway")
    num_open = [handle.num_open.remote(str(key)) for key in range(20)]
    assert sum(response.result(timeout_s=600) for response in num_open) == 0
    body = {"prompt": "The fox", "max_tokens": 500, "ignore_eos": True, "stream": True}
    with nodes.client() as client, client.stream("POST", "/v1/completions", json=body) as answer:
        assert answer.iter_lines().__next__().startswith("data: ")
    assert eventually(lambda: sum(handle.num_open.remote(str(key)).result(timeout_s=600) for key in range(20)) == 0)


def test_prompts_of_one_request_run_together(nodes):
    prompts = [f"The {animal}" for animal in ("fox", "cat", "dog", "hen", "cow", "owl")]
    with headway.load("stories", num_threads=1) as model, nodes.client() as client:
        answer = client.post("/v1/completions", json={"prompt": prompts, "max_tokens": 5, "temperature": 0}).json()
        texts = [model.generate(prompt, max_new_tokens=5, temperature=0).text for prompt in prompts]
    assert [choice["text"] for choice in answer["choices"]] == texts


def test_vectors_are_those_of_the_model(nodes):
    with headway.load("stories", num_threads=1) as model, nodes.client() as client:
        answer = client.post("/v1/embeddings", json={"input": ["A fox."]}).json()
        assert answer["data"][0]["embedding"] == model.embed(["A fox."])[0].tolist()


def test_a_full_queue_answers_429(nodes):
    nodes.start(Settings(max_waiting=1))
    prompts, answers = [f"{number} Once upon a time" * 40 for number in range(100)], []
    with nodes.client() as client, ThreadPoolExecutor(1) as other:
        large = other.submit(client.post, "/v1/completions", json={"prompt": prompts, "max_tokens": 1})
        while not large.done():
            answers.append(client.post("/v1/completions", json={"prompt": "a", "max_tokens": 1}))
    refused = next(answer for answer in [*answers, large.result()] if answer.status_code != 200)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1


def test_a_batch_continues_with_the_lines_that_have_no_result(nodes, tmp_path):
    from headway.cluster.batch import run_batch
    from headway.server.batch import Files

    nodes.stop()  # the engines of the application hold the cores
    files = Files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "errors.jsonl")
    body = {"model": "stories", "max_tokens": 4, "temperature": 0}
    lines = [
        {"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": {**body, "prompt": f"The fox {i}"}} for i in range(40)
    ]
    lines[7]["body"]["model"] = "other"
    files.input.write_text("".join(json.dumps(line) + "\n" for line in lines))
    runner = ("stories", partial(headway.load, "stories", num_threads=1), None, Settings(), 8)
    first = run_batch(runner, files, num_replicas=2, num_cpus=1)
    assert (first.num_lines, first.num_earlier, first.num_failed) == (40, 0, 1)
    whole = files.out.read_bytes().splitlines(keepends=True)
    files.out.write_bytes(b"".join(whole[:20]) + whole[20][:15])
    second = run_batch(runner, files, num_replicas=1, num_cpus=1)
    assert (second.num_earlier, second.num_failed) == (21, 1)
    texts = {(each := json.loads(line))["custom_id"]: each["response"]["body"]["choices"][0]["text"] for line in files.out.open()}
    with headway.load("stories", num_threads=1) as model:
        expected = [model.generate(f"The fox {i}", max_new_tokens=4, temperature=0).text for i in range(40)]
    assert [texts[str(i)] for i in range(40) if i != 7] == [text for i, text in enumerate(expected) if i != 7]
    assert len(files.out.read_text().splitlines()) == 39
