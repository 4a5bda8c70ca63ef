"""headway serve: a server with OpenAI's HTTP API."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.load_flags import LoadFlags, with_load_flags
from headway.cli.serve_models import OnDemand, Source, models_of, read_template, sources_of
from headway.errors import OptionError, quantity

if TYPE_CHECKING:
    from headway.server.model_pool import DeclaredModel
    from headway.server.run import Address
    from headway.server.served_model import ServedModel
    from headway.server.settings import Settings


@with_load_flags
def command(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="stories (included), a folder, or a Hugging Face name; NAME=FOLDER gives its name in requests. Repeatable: the first one "
            "answers requests that name none.  [default: stories]",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; one that other machines reach needs a key or --open.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of a single model in requests.  [default: --model, or its last part]")
    ] = None,
    api_key: Annotated[list[str] | None, typer.Option(help="Key that callers must send; repeatable.", envvar="HEADWAY_API_KEY")] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="File with one key per line.")] = None,
    is_open: Annotated[bool, typer.Option("--open", help="Serve everybody who reaches --host, without a key.")] = False,
    chat_template: Annotated[Path | None, typer.Option(help="Jinja file in place of the model's chat template.")] = None,
    max_waiting: Annotated[int, typer.Option(min=1, help="Requests that may wait before others get 429.")] = 256,
    timeout: Annotated[float, typer.Option(min=0.001, help="Seconds after which a request ends with an error.")] = 600.0,
    drain: Annotated[float, typer.Option(min=0, help="Seconds for running requests after SIGTERM.")] = 30.0,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Name that callers use for this server, such as that of a proxy; repeatable. Those of localhost are always allowed."
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may call the server; repeatable; * is every one.")
    ] = None,
    certificate: Annotated[str | None, typer.Option(help="File with the TLS certificate.")] = None,
    private_key: Annotated[str | None, typer.Option(help="File with the key of the certificate.")] = None,
    load_on_demand: Annotated[
        bool,
        typer.Option("--load-on-demand", help="Load all models but the first one when a request needs them; --model-memory implies it."),
    ] = False,
    model_memory: Annotated[
        str | None,
        typer.Option(
            help="Memory of the loaded models together, with their KV caches, such as 8GiB: idle models are unloaded for others.  "
            "[default with --load-on-demand: the free memory]"
        ),
    ] = None,
    lora_modules: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FOLDER", help="LoRA adapter of the first model, under a name of its own in requests; repeatable."),
    ] = None,
    any_model: Annotated[bool, typer.Option("--any-model", help="Answer requests for models of other names, too.")] = False,
    ray: Annotated[bool, typer.Option("--ray", help="Serve on a Ray cluster; needs the extra ray.")] = False,
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster; auto is that of this machine.  [default: one that is started here]")
    ] = None,
    replicas: Annotated[int | None, typer.Option(min=1, help="With --ray, number of processes with an engine.  [default: 1]")] = None,
    ingresses: Annotated[
        int | None,
        typer.Option(min=1, help="With --ray, number of processes that answer HTTP; a single one is on Ray's head node.  [default: 1]"),
    ] = None,
    loading: LoadFlags = LoadFlags(),  # noqa: B008 - frozen
) -> None:
    """Serve a model over HTTP, with OpenAI's API.

    \b
      headway serve
      headway serve --model Qwen/Qwen2-0.5B-Instruct --port 9000
      headway serve --model ./my-model --host 0.0.0.0 --api-key-file keys.txt
      headway serve --model chat=./my-model --model vectors=./all-MiniLM-L6-v2 --cache-memory 2GiB
      headway serve --model small=./my-model --model large=./my-other-model --model-memory 16GiB
      headway serve --model ./my-model --lora-modules polite=./my-adapter
      headway serve --model /shared/my-model --ray --address auto --replicas 8 --threads 16

    Needs the extra serve. Ctrl-C or SIGTERM lets running requests finish; a second one ends them.

    Exit codes: 0 stopped, 2 invalid input.
    """
    require_packages()
    from headway.server.run import Address, run
    from headway.server.security import LOCAL_HOSTS, allowed_hosts, check_address, read_keys
    from headway.server.service import Service
    from headway.server.settings import Settings

    loading.refuse_named_adapters("requests choose from --lora-modules NAME=FOLDER")
    keys, on_demand = read_keys(api_key or (), api_key_file), OnDemand.from_flags(load_on_demand, model_memory)
    check_address(host, keys, is_open=is_open)
    settings = Settings(
        api_keys=keys,
        accept_any_model=any_model,
        max_waiting=max_waiting,
        timeout_seconds=timeout,
        drain_seconds=drain,
        allowed_hosts=allowed_hosts(host, keys, allowed_host or ()),
        cors_origins=tuple(cors_origin or ()),
        model_bytes=None if on_demand is None else on_demand.num_bytes,
        has_look=host in LOCAL_HOSTS and not ray,
    )
    listening = Address(host, port, certificate, private_key)
    sources = sources_of(model or ["stories"], name, read_template(chat_template), lora_modules or ())
    if ray:
        if on_demand is not None:
            raise OptionError("got --ray with models on demand, expected one of the two", hint="on a cluster every model has its replicas")
        serve_cluster(sources, loading, settings, listening, Scale(address, replicas or 1, ingresses or 1))
        return
    for flag, given in (("--replicas", replicas), ("--ingresses", ingresses), ("--address", address)):
        if given is not None:
            raise OptionError(f"got {flag} without --ray, expected one process", hint="add --ray, which needs the extra ray")
    with ExitStack() as stack:
        models = models_of(sources, loading, on_demand, stack)
        run(Service(models, settings), listening, lambda url: _greet(url, models, bool(keys)))


@dataclass(frozen=True)
class Scale:
    """Size of a cluster's application.

    address     of a Ray cluster; None starts one on this machine
    """

    address: str | None
    num_replicas: int
    num_ingresses: int


def serve_cluster(sources: Sequence[Source], loading: LoadFlags, settings: Settings, listening: Address, scale: Scale) -> None:
    """Serve models on a Ray cluster until a signal.

    Errors   OptionError without the extra ray, and on a cluster of others without --threads.
    """
    num_cpus = cores_of_a_replica(loading, scale.address, scale.num_replicas * len(sources))
    from headway.cluster.deployment import ModelDeployment
    from headway.cluster.run import run
    from headway.language_model import load_without_kernels

    ignored = tuple(loading.ignore_config_key or ())

    def deployment(source: Source) -> ModelDeployment:
        loader = partial(with_threads(loading, num_cpus).loader(source.model), adapters=dict(source.adapters))
        light = partial(load_without_kernels, source.model, ignored_config_keys=ignored)
        return ModelDeployment(source.name, loader, light, scale.num_replicas, num_cpus, source.template, tuple(source.adapters))

    def greet(url: str) -> None:
        size = f"{quantity(scale.num_replicas, 'replica')} of {quantity(num_cpus, 'core')} each"
        print(f"headway: serving {', '.join(each.name for each in sources)} at {url}, {size}", file=sys.stderr, flush=True)

    run(
        [deployment(each) for each in sources],
        settings,
        listening,
        cluster=scale.address,
        num_ingresses=scale.num_ingresses,
        on_start=greet,
    )


def cores_of_a_replica(loading: LoadFlags, address: str | None, num_replicas: int) -> int:
    """Return the number of cores that Ray reserves for an engine: --threads, or a share of this machine.

    Errors   OptionError without the extra ray, and on a cluster of others without --threads.
    """
    require_packages("ray", "ray")
    if address is not None and loading.threads is None:
        raise OptionError("got --address without --threads, expected the cores of a replica", hint="Ray reserves as many: --threads 16")
    return loading.threads or max(1, (os.cpu_count() or 1) // num_replicas)


def with_threads(loading: LoadFlags, num_cpus: int) -> LoadFlags:
    """Return flags with as many threads as cores, for models that have compiled kernels."""
    has_kernels = loading.weights not in ("none", "plain") and loading.array.value == "numpy" and loading.dtype == "float32"
    return replace(loading, threads=num_cpus if has_kernels else None)


def _greet(url: str, models: Sequence[ServedModel | DeclaredModel], has_keys: bool) -> None:
    """Print the address, the size of the KV caches, and a command to try, on stderr."""
    from headway.server.served_model import ServedModel

    key = ' -H "Authorization: Bearer $KEY"' if has_keys else ""
    body = f'{{"model": "{models[0].name}", "prompt": "Once upon a time", "max_tokens": 60}}'
    names = ", ".join(name for each in models for name in (each.name, *each.adapters))
    print(f"headway: serving {names} at {url}, which is also a page to chat in the browser", file=sys.stderr)
    for each in models:
        served = each if isinstance(each, ServedModel) else each.loaded
        if served is not None and (num_tokens := served.model.engine.max_cached_tokens) is not None:
            of = f" of {served.name}" if len(models) > 1 else ""
            print(f"headway: KV cache{of} for {num_tokens:,} tokens (--cache-memory)", file=sys.stderr)
    print(f"curl {url}/v1/completions{key} -H 'Content-Type: application/json' -d '{body}'", file=sys.stderr, flush=True)


def require_packages(extra: str = "serve", *names: str) -> None:
    """Raise OptionError if an extra is not installed."""
    from importlib.util import find_spec

    missing = [name for name in names or ("starlette", "uvicorn", "msgspec", "prometheus_client") if find_spec(name) is None]
    if missing:
        raise OptionError(
            f"got an installation without {', '.join(missing)}, expected the extra {extra}",
            hint=f'install it: pip install "headway[{extra}]"',
        )
