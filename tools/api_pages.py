"""API pages of the documentation site, made from docstrings when mkdocs builds (a mkdocs hook).

A docstring is shown as it is written: the first sentence as prose, the rest (equation, shapes, errors, source) as preformatted text.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGES = {"headway": "headway", "functions": "headway.functions", "nn": "headway.nn", "errors": "headway.errors"}
"""The name of each page and the module that it documents."""


OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\(\.\./(?P<path>[^)]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the API pages to the site."""
    for page, module in PAGES.items():
        files.append(File.generated(config, f"api/{page}.md", content=page_of(importlib.import_module(module))))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show links to files outside the documentation folder as the file's path: the site does not contain them."""
    return OUTSIDE.sub(lambda match: match["text"] if match["text"].startswith("`") else f"{match['text']} (`{match['path']}`)", markdown)


def page_of(module: ModuleType) -> str:
    """Return the Markdown page of a module: its public names, grouped by the file that defines them."""
    parts = [f"# {module.__name__}", _prose(inspect.getdoc(module) or "")]
    group = ""
    for name, value in _public(module):
        home = getattr(value, "__module__", "").rpartition(".")[2]
        if module.__name__ == "headway.functions" and home != group:
            group = home
            parts.append(f"## {home}.py")
        parts += [f"### {name}", _signature(name, value), _prose(inspect.getdoc(value) or "")]
        if inspect.isclass(value):
            parts += [
                text
                for method, function in _methods(value)
                for text in (f"#### {name}.{method}", _signature(method, function), _prose(inspect.getdoc(function) or ""))
            ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    values = [(name, getattr(module, name)) for name in names]
    documented = [(name, value) for name, value in values if callable(value)]
    if module.__name__ == "headway.functions":
        documented.sort(key=lambda pair: pair[1].__module__)
    yield from documented


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    if issubclass(cls, BaseException):
        return
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)) and inspect.getdoc(value):
            yield name, value


def _signature(name: str, value: Any) -> str:
    if isinstance(value, property):
        return ""
    try:
        return f"```python\n{name}{inspect.signature(value)}\n```"
    except (TypeError, ValueError):
        return ""


def _prose(docstring: str) -> str:
    first, _, rest = docstring.partition("\n\n")
    return f"{first}\n\n```text\n{rest.rstrip()}\n```" if rest.strip() else first
