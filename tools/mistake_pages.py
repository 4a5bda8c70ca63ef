"""Pages of the documentation site that describe every mistake that a verdict can name, one for each part (a mkdocs hook).

A heading is the last part of a rule such as softmax/no_shift, so that `headway.practice.rules.url_of` leads to it.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from headway.practice.exercises import NAMES, exercise
from headway.practice.message import LANGUAGES, Message
from headway.practice.rules import GENERAL, Rule, rules_of


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    for name, content in pages().items():
        files.append(File.generated(config, f"mistakes/{name}.md", content=content))
    return files


def pages() -> dict[str, str]:
    """Return the Markdown of each page by name: one for each part, `general`, and `index`."""
    found = {name: _page(name, [rule for key, rule in rules_of(name).items() if key not in GENERAL]) for name in NAMES}
    found["general"] = "# Any part\n\n" + "\n".join(_section(name, [says]) for name, says in GENERAL.items())
    rows = "\n".join(f"- [{exercise(name).title.en}]({name}.md)" for name in NAMES)
    found["index"] = f"# Mistakes\n\nThe mistakes that a verdict can name, by part; some concern [any part](general.md).\n\n{rows}\n"
    return found


def _page(name: str, rules: list[Rule]) -> str:
    sections = [
        _section(rule.name, [rule.says, *([rule.fix] if rule.fix else []), *([rule.hides] if rule.hides else [])]) for rule in rules
    ]
    return f"# {exercise(name).title.en}\n\n" + "\n".join(sections)


def _section(name: str, messages: list[Message]) -> str:
    """Return a section with the text in each language, shown as it is."""
    texts = ["\n".join(text for each in messages if (text := each.text(language))) for language in LANGUAGES]
    return f"## {name}\n\n" + "\n".join(f"```text\n{text}\n```\n" for text in texts)
