"""The models of headway serve: their names, and how they are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headway.checkpoints.hub import EMBEDDED, is_hub_name
from headway.cli.load_flags import LoadFlags
from headway.cli.options import read_bytes
from headway.errors import OptionError
from headway.memory_check import available_bytes

if TYPE_CHECKING:
    from headway.server.model_pool import DeclaredModel
    from headway.server.served_model import ServedModel


@dataclass(frozen=True)
class OnDemand:
    """Loading of models when requests need them.

    num_bytes   memory of the loaded models together, with their KV caches; None where the system does not say what is free
    """

    num_bytes: int | None

    @classmethod
    def from_flags(cls, is_given: bool, memory: str | None) -> OnDemand | None:
        """Return what --load-on-demand and --model-memory ask for; None for models that are loaded at the start.

        Errors   OptionError for a size that is no size.
        """
        if memory is not None:
            return cls(read_bytes(memory))
        return cls(available_bytes()) if is_given else None


def models_of(
    sources: Sequence[Source], loading: LoadFlags, on_demand: OnDemand | None, stack: ExitStack
) -> list[ServedModel | DeclaredModel]:
    """Return the models of a server: all of them loaded, or the first one, with the others loaded on demand.

    stack   closes the models that the caller has to close

    Errors   those of headway.load, and of reading the shapes of models in folders; OptionError for a model that cannot fit.
    """
    loading = replace(loading, cache_memory=loading.cache_memory or _share_of_memory(len(sources), on_demand))
    if on_demand is None:
        loaded: list[ServedModel | DeclaredModel] = []
        for source in sources:
            served = source.load(loading)
            stack.enter_context(served.model)
            loaded.append(served)
        return loaded
    declared = [source.declare(loading) for source in sources]
    for source, model in zip(sources, declared, strict=True):
        if not _may_be_downloaded(source.model):
            _check_fits(model, on_demand)
    return [replace(declared[0], loaded=declared[0].load()), *declared[1:]]


@dataclass(frozen=True)
class Source:
    """A model that the command was given.

    model      name or folder
    template   chat template in place of the model's own
    adapters   folders of adapters by their names
    """

    name: str
    model: str
    template: str | None = None
    adapters: Mapping[str, str] = field(default_factory=dict)

    def load(self, loading: LoadFlags) -> ServedModel:
        """Load the model and its adapters."""
        from headway.server.served_model import ServedModel

        model = loading.load(self.model)
        try:
            for name, folder in self.adapters.items():
                model.load_adapter(name, folder)
        except BaseException:
            model.close()
            raise
        return ServedModel(self.name, model, self.template, adapters=tuple(self.adapters))

    def declare(self, loading: LoadFlags) -> DeclaredModel:
        """Return the model, to be loaded when a request needs it."""
        from headway.language_model.memory import estimate_bytes
        from headway.server.model_pool import DeclaredModel

        estimate = partial(
            estimate_bytes,
            self.model,
            cache_bytes=0 if loading.cache_memory is None else read_bytes(loading.cache_memory),
            array=loading.array.value,
            dtype=loading.dtype,
            weights="none" if loading.weights == "plain" else loading.weights,
            adapters=tuple(self.adapters.values()),
            ignored_config_keys=tuple(loading.ignore_config_key or ()),
        )
        return DeclaredModel(self.name, lambda: self.load(loading), estimate, tuple(self.adapters))


def sources_of(models: Sequence[str], name: str | None, template: str | None, adapters: Sequence[str]) -> list[Source]:
    """Return the models that the command was given.

    name       of a single model
    adapters   NAME=FOLDER each, of the first model

    Errors   OptionError for names that are not clear, and a template for several models.
    """
    named = named_models(models, name)
    if template is not None and len(named) > 1:
        raise OptionError("got --chat-template for several models, expected one model", hint="put the template into the model's folder")
    folders: dict[str, str] = {}
    for each in adapters:
        before, _, folder = each.partition("=")
        if not before or not folder:
            raise OptionError(f"got --lora-modules {each!r}, expected NAME=FOLDER with a name and a folder")
        if before in named or before in folders:
            raise OptionError(f"got the name {before!r} twice, expected different names for models and adapters")
        folders[before] = folder
    return [Source(each, source, template, {} if index else folders) for index, (each, source) in enumerate(named.items())]


def _may_be_downloaded(source: str) -> bool:
    return source != EMBEDDED and not Path(source).exists() and is_hub_name(source)


def _check_fits(model: DeclaredModel, on_demand: OnDemand) -> None:
    size = model.estimate()
    if on_demand.num_bytes is not None and size > on_demand.num_bytes:
        raise OptionError(
            f"got {model.name}, which needs {size / 2**30:.2f} GiB with its KV cache, expected at most the "
            f"{on_demand.num_bytes / 2**30:.2f} GiB of --model-memory",
            hint="raise --model-memory, lower --cache-memory, or use --weights int4",
        )


def _share_of_memory(num_models: int, on_demand: OnDemand | None) -> str | None:
    """Return the value of --cache-memory for each of several models: together they get half of the memory."""
    bound = None if on_demand is None else on_demand.num_bytes
    sizes = [size for size in (available_bytes(), bound) if size is not None]
    return None if not sizes or (num_models == 1 and on_demand is None) else str(min(sizes) // (2 * num_models))


def named_models(given: Sequence[str], name: str | None) -> dict[str, str]:
    """Return the models by their name in requests.

    given   names or folders, each as it is or as NAME=FOLDER
    name    name of a single model

    Errors   OptionError for two models with one name, and a name for several.
    """
    if name is not None and len(given) > 1:
        raise OptionError(f"got --name for {len(given)} models, expected one model", hint="write --model NAME=FOLDER for each of them")
    models: dict[str, str] = {}
    for each in given:
        before, separator, source = each.partition("=")
        if Path(each).exists() or not separator:
            before, source = name or wire_name(each), each
        elif name is not None:
            raise OptionError(f"got --name with --model {each!r}, expected one of the two names", hint="leave --name out")
        if not before or not source:
            raise OptionError(f"got --model {each!r}, expected NAME=FOLDER with a name and a folder")
        if before in models:
            raise OptionError(f"got two models with the name {before!r}, expected different ones", hint="write --model NAME=FOLDER")
        models[before] = source
    return models


def wire_name(model: str) -> str:
    """Return the name of a model in requests: a hub name as it is, the last part of a folder's path."""
    path = Path(model)
    return path.resolve().name if path.exists() else model


def read_template(path: Path | None) -> str | None:
    """Return the content of a template file.

    Errors   OptionError for a file that cannot be read.
    """
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"got --chat-template {path}, expected a text file that can be read ({reason})") from error
