"""The file headway.toml, which holds the grade sheet and the permission for the language server."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.practice.message import PracticeError
from headway.practice.texts import Texts

TEXTS = Texts("check")

FILE = "headway.toml"


def read_settings(path: Path) -> Mapping[str, Any]:
    """Return the tables of a headway.toml.

    Errors   OptionError for a missing file, or one that is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PracticeError(TEXTS["no_grade_sheet"].format(path=path), hint=TEXTS["write_a_grade_sheet"]) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PracticeError(TEXTS["not_toml"].format(path=path, error=error)) from error
