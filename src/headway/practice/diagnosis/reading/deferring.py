"""Imports that are put off until they are used: what PyTorch needs for its compiler, its export and the meta device alone, a third of its import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

COMPILER, EXPORT, META_KERNELS = "torch._dynamo", "torch.export", "torch._meta_registrations"
PACKAGES = (COMPILER, EXPORT)
"""Packages that are put off; a module of one of them needs the whole."""
FLEXIBLE = "torch.nn.attention.flex_attention"


def defer_compiler() -> None:
    """Put off the imports of PyTorch's compiler, its export and the kernels of its meta device, in this process and its forks.

    Each module is run when an attribute of it is read that it does not have yet. Optimizers use two functions of the compiler, which do nothing
    in functions that are not compiled: these are there at once, and so are generators of random numbers, whose metaclass those kernels set.

    Effects   adds a finder to sys.meta_path
    """
    sys.meta_path.insert(0, _Finder())


def import_meta_kernels() -> None:
    """Import the kernels of PyTorch's meta device now if they were put off."""
    _run(META_KERNELS)


def prepare_flexible_attention() -> None:
    """Import now what PyTorch's flexible attention imports when it is called, and let it compute gradients on the processor, as it can in eager mode.

    Effects   replaces its check of the device, which refuses arrays with gradients on the processor
    """
    _run(COMPILER)
    import_module(f"{COMPILER}.utils")
    vars(import_module(FLEXIBLE)).update(_validate_device=lambda *operands: None)


def _run(name: str) -> None:
    """Run a module now if it was put off."""
    module = sys.modules.get(name)
    if module is not None and module.__spec__ is not None and isinstance(module.__spec__.loader, _Deferred):
        module.__spec__.loader.run(module)


class _Finder(MetaPathFinder):
    """Finder of the modules that are put off."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for package in PACKAGES:
            if name.startswith(f"{package}."):
                _run(package)
        if name not in (*PACKAGES, META_KERNELS):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Deferred(spec.loader)
        return spec


class _Deferred(Loader):
    """Loader that runs a module when a missing attribute of it is read."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._is_run = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        def missing(name: str) -> Any:
            if self._is_run or (name.startswith("__") and name.endswith("__")):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            self.run(module)
            return getattr(module, name)

        vars(module)["__getattr__"] = missing
        if module.__name__ == COMPILER:
            vars(module).update(disable=_disable, graph_break=_break_graph)
        if module.__name__ == META_KERNELS:
            _allow_generators()

    def run(self, module: ModuleType) -> None:
        """Run the module with its own loader, once; the compiler needs the kernels of the meta device."""
        if self._is_run:
            return
        self._is_run = True
        vars(module).pop("__getattr__", None)
        if module.__name__ == COMPILER:
            _run(META_KERNELS)
        self._loader.exec_module(module)


def _allow_generators() -> None:
    """Set the metaclass of PyTorch's generators, which the kernels of the meta device set, and without which no generator can be made."""
    core, bases = sys.modules.get("torch._C"), sys.modules.get("torch._opaque_base")
    set_metaclass = getattr(core, "_set_generator_metaclass", None)
    if set_metaclass is not None and bases is not None:
        set_metaclass(bases.OpaqueBaseMeta)


class _Disabled(ContextDecorator):
    """A context without effect, which is a decorator as well: `with torch._dynamo.disable():`."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        """Do nothing."""


def _disable(function: Callable[..., Any] | None = None, *settings: Any, **named: Any) -> Callable[..., Any]:
    return _Disabled() if function is None else function


def _break_graph(*settings: Any, **named: Any) -> None:
    pass
