"""A class in place of Lightning's module, whose methods for training change no output."""

from __future__ import annotations

import inspect
import sys
from functools import lru_cache
from importlib import import_module
from typing import Any


class Settings(dict[str, Any]):
    """Settings by name, which are attributes as well: `self.hparams.width`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@lru_cache
def lightning_module() -> Any:
    """Return a class of torch's modules that knows its device and its settings, and logs nothing."""
    torch = import_module("torch")
    base: Any = torch.nn.Module

    class LightningModule(base):
        """A module of a file that uses Lightning."""

        current_epoch = global_step = 0
        trainer = logger = None

        @property
        def device(self) -> Any:
            """The device of the weights, also before there are any."""
            return next((each.device for each in self.parameters()), torch.device("cpu"))

        @property
        def dtype(self) -> Any:
            """The type of the weights."""
            return next((each.dtype for each in self.parameters()), torch.get_default_dtype())

        @property
        def hparams(self) -> Settings:
            """The settings that were saved."""
            held: Settings = self.__dict__.setdefault("_hparams", Settings())
            return held

        def save_hyperparameters(self, *names: Any, ignore: Any = (), **_: Any) -> None:
            """Keep the arguments of the constructor that calls this: all of them, or those with these names."""
            left_out = {ignore} if isinstance(ignore, str) else set(ignore or ())
            given = _arguments_of(sys._getframe(1))
            chosen = [each for each in names if isinstance(each, str)] or given
            self.hparams.update({name: given[name] for name in chosen if name in given and name not in left_out})
            for each in names:
                self.hparams.update(each if isinstance(each, dict) else {} if isinstance(each, str) else vars(each))

        def log(self, *_: Any, **__: Any) -> None:
            """Log nothing."""

        log_dict = print = log

    return LightningModule


def _arguments_of(frame: Any) -> dict[str, Any]:
    """Return the arguments of the call of a frame apart from the instance, those of `**options` by their own names."""
    names, _, options, values = inspect.getargvalues(frame)
    return {**{name: values[name] for name in names[1:]}, **(values[options] if options else {})}
