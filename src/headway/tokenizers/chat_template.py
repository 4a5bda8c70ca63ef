"""Chat templates: finding them beside a model, and rendering a conversation with one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.errors import OptionError, TokenizerError
from headway.tokenizers.reading import read_json, read_text

REMEDY = "use generate, which continues plain text"


def read_chat_templates(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """The templates of a model folder by name; most have one, "default".

    Files of their own come before tokenizer_config.json, and that before chat_template.json.

    Errors   TokenizerError for files that hold something else.
    """
    templates = {path.stem: read_text(path) for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))}
    if (folder / "chat_template.jinja").exists():
        templates["default"] = read_text(folder / "chat_template.jinja")
    if templates:
        return templates
    if config.get("chat_template") is not None:
        return _named(config["chat_template"], folder / "tokenizer_config.json")
    path = folder / "chat_template.json"
    return _named(read_json(path).get("chat_template"), path) if path.exists() else {}


def _named(value: Any, path: Path) -> dict[str, str]:
    try:
        value = {"default": value} if isinstance(value, str) else value
        named = value if isinstance(value, dict) else {each["name"]: each["template"] for each in value}
        if not all(isinstance(part, str) for item in named.items() for part in item):
            raise TypeError
    except (TypeError, KeyError, ValueError) as error:
        raise TokenizerError(
            f"came: {path} with chat_template {value!s:.60}; expected: a Jinja template, or a list of name and template"
        ) from error
    return named


def choose_template(templates: Mapping[str, str], *, has_tools: bool) -> str:
    """The template named "tool_use" where tools are given and there is one, else "default".

    Errors   TokenizerError where there is no such template.
    """
    if not templates:
        raise TokenizerError(f"came: a conversation for a model without a chat template; expected: plain text; {REMEDY}")
    name = "tool_use" if has_tools and "tool_use" in templates else "default"
    if name not in templates:
        raise TokenizerError(f"came: chat templates {', '.join(sorted(templates))}; expected: one named default; rename one, or {REMEDY}")
    return templates[name]


def render(template: str, variables: Mapping[str, Any]) -> str:
    """The text that a template makes of its variables. It is code from elsewhere, and runs in Jinja's sandbox.

    Errors   TokenizerError where the template is broken, refuses the conversation, or reaches out of its sandbox, with its own
             words; OptionError for a variable that JSON does not have.
    """
    from headway.tokenizers.jinja_environment import compile_template

    variables = {name: _plain(value, name) for name, value in variables.items()}
    try:
        return compile_template(template).render(variables)
    # The template's author decides what it raises.
    except Exception as error:
        raise TokenizerError(
            f"came: a conversation that the chat template does not take: {error} ({type(error).__name__}); expected: what it asks for; "
            f"change the conversation, or {REMEDY}"
        ) from error


def _plain(value: Any, name: str) -> Any:
    """A copy of JSON's own types, so that a template reaches nothing of the caller's, and changes nothing."""
    if isinstance(value, Mapping):
        return {_plain(key, name): _plain(item, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, name) for item in value]
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return None
    raise OptionError(f"came: {name} with a {type(value).__name__}; expected: text, numbers, true, false, None, lists and dicts of them")
