"""What a verdict says, in English and in Chinese."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Message:
    """One sentence in both languages; {names} in it are filled in later."""

    en: str
    zh: str

    def format(self, **values: Any) -> Message:
        """The same sentence with its places filled; a value may be Message itself."""

        def each(language: str) -> str:
            chosen = {name: value.text(language) if isinstance(value, Message) else value for name, value in values.items()}
            return self.text(language).format(**chosen)

        return Message(each("en"), each("zh"))

    def text(self, language: str) -> str:
        """The sentence in one language."""
        return self.zh if language == "zh" else self.en
