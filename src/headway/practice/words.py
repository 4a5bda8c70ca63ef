"""What a verdict says, in English and in Chinese."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Words:
    """One sentence in both languages; {names} in it are filled in later."""

    en: str
    zh: str

    def filled(self, **values: Any) -> Words:
        """The same sentence with its places filled; a value may be Words itself."""

        def each(language: str) -> str:
            chosen = {name: value.told(language) if isinstance(value, Words) else value for name, value in values.items()}
            return self.told(language).format(**chosen)

        return Words(each("en"), each("zh"))

    def told(self, language: str) -> str:
        """The sentence in one language."""
        return self.zh if language == "zh" else self.en
