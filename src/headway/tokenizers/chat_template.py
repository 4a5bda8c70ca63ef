"""Find the chat templates of a model folder, and render conversations with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headway.errors import OptionError, TokenizerError
from headway.tokenizers.reading import JsonObject, read_json, read_text

HINT = "use generate, which continues plain text"


def read_chat_templates(folder: Path, config: JsonObject) -> dict[str, str]:
    """Return the templates of a model folder by name. Most folders have one, "default".

    Template files take precedence over tokenizer_config.json, which takes precedence over chat_template.json.

    Errors   TokenizerError for files that contain something else.
    """
    templates = {path.stem: read_text(path) for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))}
    if (folder / "chat_template.jinja").exists():
        templates["default"] = read_text(folder / "chat_template.jinja")
    if templates:
        return templates
    if config.get("chat_template") is not None:
        return _by_name(config["chat_template"], folder / "tokenizer_config.json")
    path = folder / "chat_template.json"
    return _by_name(read_json(path).get("chat_template"), path) if path.exists() else {}


def _by_name(value: object, path: Path) -> dict[str, str]:
    try:
        if isinstance(value, str):
            return {"default": value}
        if isinstance(value, list):
            value = {each["name"]: each["template"] for each in value}
        if isinstance(value, dict) and all(isinstance(part, str) for item in value.items() for part in item):
            return value
    except (TypeError, KeyError):
        pass
    raise TokenizerError(f"got {path} with chat_template {value!s:.60}, expected a Jinja template, or a list of names and templates")


def choose_template(templates: Mapping[str, str], *, has_tools: bool) -> str:
    """Return the template named "tool_use" if tools are given and it exists, else "default".

    Errors   TokenizerError if there is no such template.
    """
    if not templates:
        raise TokenizerError("got a conversation for a model without a chat template, expected plain text", hint=HINT)
    name = "tool_use" if has_tools and "tool_use" in templates else "default"
    if name not in templates:
        raise TokenizerError(
            f"got chat templates {', '.join(sorted(templates)):.200}, expected one named default", hint=f"rename one, or {HINT}"
        )
    return templates[name]


def render(template: str, variables: Mapping[str, object]) -> str:
    """Render a template. Templates are code from untrusted files: they run in Jinja's sandbox with a limit on the steps.

    Errors   TokenizerError for a template that is invalid, rejects the conversation, leaves its sandbox or needs too many steps;
             OptionError for a variable that is not JSON.
    """
    # Importing Jinja takes 50 ms, which a program without chat does not need.
    from headway.tokenizers.jinja_environment import render_template

    variables = {name: _json_copy(value, name) for name, value in variables.items()}
    try:
        return render_template(template, variables)
    # The author of the template decides what it raises.
    except Exception as error:
        raise TokenizerError(
            f"the chat template rejects the conversation: {error!s:.500} ({type(error).__name__})",
            hint=f"change the conversation, or {HINT}",
        ) from error


def _json_copy(value: object, name: str) -> object:
    """Return a copy made of JSON's own types, so that a template can neither reach nor change objects of the caller."""
    if isinstance(value, Mapping):
        return {_json_copy(key, name): _json_copy(item, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_copy(item, name) for item in value]
    for plain_type in (str, bool, int, float):
        if isinstance(value, plain_type):
            return plain_type(value)
    if value is None:
        return None
    raise OptionError(f"got {name} with a {type(value).__name__}, expected text, numbers, true, false, None, lists and dicts of them")
