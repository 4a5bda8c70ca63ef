"""The file headway.toml, which holds the grade sheet and the permission for the language server."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.practice.message import Message, PracticeError

FILE = "headway.toml"


def read_settings(path: Path) -> Mapping[str, Any]:
    """Return the tables of a headway.toml.

    Errors   OptionError for a missing file, or one that is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PracticeError(
            Message(f"got {path}, which does not exist, expected a grade sheet", f"收到 {path}（不存在），应为评分表"),
            hint=Message("write one: [grade] and lines such as softmax = 2", "请写一个：[grade]，其下每行如 softmax = 2"),
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PracticeError(Message(f"got {path}, expected TOML: {error}", f"收到 {path}，应为 TOML：{error}")) from error
