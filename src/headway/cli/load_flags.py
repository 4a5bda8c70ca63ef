"""The flags that say how a model is loaded, for all subcommands that run one."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from typing import get_type_hints

from headway.cli import options as o
from headway.cli.progress import Work
from headway.errors import OptionError
from headway.language_model import LanguageModel, load


@dataclass(frozen=True, kw_only=True)
class LoadFlags:
    """Values of the flags that say how a model is loaded. The annotation of a field is its flag."""

    array: o.Array = o.ArrayLibrary.numpy
    dtype: o.Dtype = "float32"
    device: o.Device = None
    weights: o.PackedWeights = "auto"
    cache: o.CacheKind = None
    cache_memory: o.CacheMemory = None
    threads: o.Threads = None
    adapter: o.Adapter = None
    ignore_config_key: o.IgnoreConfigKey = None

    @property
    def named_adapters(self) -> dict[str, str]:
        """Folders of adapters by name, in the order of the flags."""
        pairs = [each.split("=", 1) for each in self.adapter or () if _is_named(each)]
        if len({name for name, _ in pairs}) < len(pairs):
            raise OptionError("got two --adapter with the same name, expected different names")
        return dict(pairs)

    @property
    def chosen_adapter(self) -> str | None:
        """Name of the adapter that a single text is generated with; None without named adapters."""
        return next(iter(self.named_adapters), None)

    def refuse_named_adapters(self, hint: str) -> None:
        """Raise OptionError for adapters by name, for a command whose requests choose none of them."""
        if self.named_adapters:
            raise OptionError("got --adapter NAME=FOLDER, expected a folder without a name", hint=hint)

    @property
    def _merged_adapter(self) -> str | None:
        folders = [each for each in self.adapter or () if not _is_named(each)]
        if len(folders) > 1:
            raise OptionError(f"got {len(folders)} --adapter without a name, expected one", hint="name them: --adapter NAME=FOLDER")
        return folders[0] if folders else None

    def loader(self, model: str) -> Callable[..., LanguageModel]:
        """Return a function that loads a model; other processes can call it, too.

        Errors   OptionError for a size of --cache-memory that is no size, or adapters that cannot be combined.
        """
        return partial(
            load,
            model,
            array=self.array.value,
            dtype=self.dtype,
            device=self.device,
            weights="none" if self.weights == "plain" else self.weights,
            cache=None if self.cache is None else self.cache.value,
            cache_bytes=None if self.cache_memory is None else o.read_bytes(self.cache_memory),
            num_threads=self.threads,
            adapter=self._merged_adapter,
            adapters=self.named_adapters,
            ignored_config_keys=tuple(self.ignore_config_key or ()),
        )

    def load(self, model: str) -> LanguageModel:
        """Load a model; show on stderr the work that is only needed the first time."""
        if self.weights == "plain":
            print("headway: warning: --weights plain is deprecated, use --weights none", file=sys.stderr)
        with Work() as work, warnings.catch_warnings():
            warnings.simplefilter("default", DeprecationWarning)
            return self.loader(model)(progress=work.progress)


def _is_named(adapter: str) -> bool:
    """Return True for NAME=FOLDER; a folder itself may have = in its path."""
    return "=" in adapter and not Path(adapter).exists()


def with_load_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of LoadFlags, in the place of its parameter `loading`, which receives them."""
    hints = get_type_hints(LoadFlags, include_extras=True)

    @wraps(command)
    def run(**values: object) -> None:
        command(loading=LoadFlags(**{name: values.pop(name) for name in hints}), **values)  # type: ignore[arg-type]

    flags = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(LoadFlags)
    ]
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    place = [each.name for each in parameters].index("loading")
    own = [each if each.kind is each.VAR_KEYWORD else each.replace(kind=each.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = inspect.Signature([*own[:place], *flags, *own[place + 1 :]])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in run.__signature__.parameters.values()}  # type: ignore[attr-defined]
    del run.__wrapped__  # typer would read its annotations
    return run
