"""Loading the story writer, which is in the source repository and not in the installed package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from headway.errors import OptionError

FOLDER = Path(__file__).resolve().parents[3] / "tools" / "stories"
"""Folder of the writer in a clone of the repository."""


def load_story_writer() -> ModuleType:
    """Return the package in tools/stories.

    Errors   OptionError if this is an installed package without the source repository.
    """
    if not (FOLDER / "__init__.py").is_file():
        raise OptionError(
            "got --stories without the story writer, expected tools/stories of Headway's source repository",
            hint="clone the repository, install it with: pip install -e '.[torch]', and train there; or train on text files",
        )
    if (module := sys.modules.get("headway_stories")) is not None:
        return module
    spec = importlib.util.spec_from_file_location("headway_stories", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
