"""The verdict on one function or class, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

from headway.practice.exercise import Convention
from headway.practice.message import Message
from headway.practice.rules import rule_id, stable_name, url_of
from headway.practice.texts import Texts

TEXTS = Texts("verdict")

SCHEMA = "headway/verdict/v1"
"""Name of the format of `Verdict.to_dict`; a field that is removed or changes its meaning needs a new version."""

Status = Literal["correct", "wrong", "unknown", "could not run", "missing", "not judged"]
Confidence = Literal["certain", "likely", "one of several", "none"]

STATUS_WORDS = {
    "correct": TEXTS["correct"],
    "wrong": TEXTS["wrong"],
    "unknown": TEXTS["cause_unknown"],
    "could not run": TEXTS["could_not_run"],
    "missing": TEXTS["missing"],
    "not judged": TEXTS["not_judged"],
}

NOT_UNDERSTOOD = TEXTS["not_understood"]
"""Text for a subject that runs, and whose outputs fit no convention that is known."""


UNSURE = {
    "likely": TEXTS["probably"],
    "one of several": TEXTS["one_of_several"],
}
"""Text after the status if the cause is not certain."""

NO_LINE = Message("", " ")


@dataclass(frozen=True)
class Cause:
    """One mistake, or a pair of mistakes, that explains every output.

    says      what the code does, with the numbers that show it
    fix       what to change
    proof     evidence that this is the cause
    hides     reason why a simple example does not show it
    line      line number in the file, or in the cell of a notebook, counted from 1
    column, end_line, end_column, cell   as in Edit; None unless the file was read
    """

    name: str
    says: Message
    fix: Message
    proof: Message
    hides: Message | None = None
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    cell: int | None = None


@dataclass(frozen=True)
class Edit:
    """Replacement of a range of a learner's file.

    Lines and columns (in characters) count from 1; the end column is exclusive.

    cell   number of the notebook's cell, counted from 1 over cells of every kind; lines then count within the cell
    """

    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str
    cell: int | None = None


@dataclass(frozen=True)
class Repair:
    """The smallest change found of the learner's own code after which every probe matches.

    edits            replacements, which do not overlap, in the order of the file
    says             the change as one line: `value.shape[-1] → key.shape[-1]`
    num_probes       number of probes that match after the change
    num_evaluations  number of candidates tried
    alternatives     other changes of the same size after which every probe matches too, as in `says`
    """

    edits: tuple[Edit, ...]
    says: Message
    num_probes: int
    num_evaluations: int = 0
    alternatives: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Result of judging one function or class.

    line        line of the definition, counted from 1; 0 if there is none
    status      "correct", "wrong" (the causes say why), "unknown" (the output differs and no known mistake explains it),
                "could not run", "missing" (a required part that no file defines), "not judged" (a class that no part recognises)
    causes      most likely first; if there are several, each of them explains all outputs
    notes       accepted conventions, and inputs that were not judged
    difference  the first element that differs, and the pattern of all that do
    repair      a change of the learner's code after which every probe matches, if one was found
    is_confirmed  False if such a change was sought and none was found: the cause is then likely, not certain
    conventions the conventions it was judged under; not serialized
    trial       the calls and outputs that were judged; not serialized
    trials      those under all conventions that were considered, unless functions that it calls were replaced; not serialized
    file        path as it was given, with forward slashes; None for a function that was passed alone
    column, end_line, end_column, cell   range of the definition, as in Edit; None unless the file was read
    """

    subject: str
    exercise: str
    line: int
    status: Status
    causes: tuple[Cause, ...] = ()
    notes: tuple[Message, ...] = ()
    difference: Message | None = None
    title: Message | None = None
    repair: Repair | None = None
    is_confirmed: bool = True
    conventions: tuple[Convention, ...] = field(default=(), compare=False, repr=False)
    trial: Any = field(default=None, compare=False, repr=False)
    trials: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    file: str | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    cell: int | None = None

    @property
    def is_correct(self) -> bool:
        """True if every output equals the definition's."""
        return self.status == "correct"

    @property
    def status_word(self) -> Message:
        """Return the status as text."""
        return NOT_UNDERSTOOD if any(cause.name == "not_understood" for cause in self.causes) else STATUS_WORDS[self.status]

    @property
    def confidence(self) -> Confidence:
        """Certainty of the cause: one mistake that explains every output is certain.

        It is not if it is a pair or one of several, or if no change of the learner's code confirms it.
        """
        if self.status == "unknown":
            return "none"
        if len(self.causes) > 1:
            return "one of several"
        return "likely" if self._is_pair or not self.is_confirmed else "certain"

    @property
    def _is_pair(self) -> bool:
        return bool(self.causes) and " + " in self.causes[0].name

    def text(self, language: str = "en") -> str:
        """Return the verdict as lines of text."""
        title = self.title or Message(self.exercise, self.exercise)
        is_pair = self.confidence == "likely" and self._is_pair
        certainty = TEXTS["two_at_once"] if is_pair else UNSURE.get(self.confidence, Message("", ""))
        mark = {"correct": "✓", "not judged": "·"}.get(self.status, "✗")
        place = _place(self.cell, self.line)
        heading = TEXTS["heading"].format(
            mark=mark, subject=self.subject, place=place, title=title, status=self.status_word, certainty=certainty
        )
        lines = [heading.text(language)]
        for number, cause in enumerate(self.causes, 1):
            prefix = f"{number}. " if len(self.causes) > 1 else ""
            place = _place(cause.cell, cause.line)
            lines.append(f"  {prefix}{cause.says.text(language)}{place.text(language).rstrip()}")
            lines.append(f"     → {cause.fix.text(language)}")
            lines += [f"     {each.text(language)}" for each in (cause.proof, cause.hides) if each and each.en]
        if self.difference:
            lines.append(f"  {self.difference.text(language)}")
        if self.repair:
            lines.append(f"  {TEXTS['repair'].format(says=self.repair.says, num_probes=self.repair.num_probes).text(language)}")
            lines += [f"  {TEXTS['equivalent'].format(says=each).text(language)}" for each in self.repair.alternatives]
        lines += [f"  {note.text(language)}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text("en")

    def html(self, language: str = "en") -> str:
        """Return the verdict as HTML."""
        import html

        colour = "#1a7f37" if self.is_correct else "#cf222e"
        return f'<pre style="border-left: 4px solid {colour}; padding-left: 1em">{html.escape(self.text(language))}</pre>'

    def _repr_html_(self) -> str:
        """Return the verdict as HTML for a notebook."""
        return self.html("en")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the verdict as text for IPython, and as HTML for a notebook."""
        return self.shown_in("en")

    def shown_in(self, language: str) -> dict[str, str]:
        """Return the verdict as text and as HTML, by MIME type."""
        return {"text/plain": self.text(language), "text/html": self.html(language)}

    @property
    def rule(self) -> str | None:
        """Stable identifier `exercise/cause` of the likeliest cause; None if the verdict is correct."""
        if self.is_correct:
            return None
        return rule_id(self.exercise, self._names[0])

    def points(self, maximum: float, partial: Mapping[str, float] | None = None) -> float:
        """Return `maximum` if the verdict is correct, else the points that `partial` gives for its cause, else 0.

        partial   points by the name of a cause; of a pair of mistakes or several possible ones, the lowest counts
        """
        if self.is_correct:
            return float(maximum)
        names = [stable_name(name) for names in self._names for name in names.split(" + ")]
        return float(min((partial or {}).get(name, 0.0) for name in names))

    @property
    def _names(self) -> list[str]:
        """Return the names of the causes; without a cause "repaired" if there is a repair, else the status."""
        return [cause.name for cause in self.causes] or ["repaired" if self.repair else self.status.replace(" ", "_")]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, with both languages, in the format `SCHEMA`."""
        values = {each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.compare}
        places = {name: values[name] for name in ("file", "cell", "line", "column", "end_line", "end_column")}
        ids: dict[str, Any] = {"rule": self.rule, "url": url_of(self.rule)}
        for cause in values["causes"]:
            rule = rule_id(self.exercise, cause["name"])
            cause |= {"rule": rule, "url": url_of(rule)}
        own = {name: value for name, value in values.items() if name not in places}
        return {"schema": SCHEMA, **places, **own, "confidence": self.confidence, **ids}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Verdict:
        """Rebuild a verdict from `to_dict` output."""

        def built(kind: type, given: dict[str, Any]) -> Any:
            known = {each.name: given[each.name] for each in fields(kind) if each.name in given}
            return kind(**{name: Message(**value) if isinstance(value, dict) and "en" in value else value for name, value in known.items()})

        repair = values["repair"] and built(
            Repair,
            values["repair"]
            | {
                "edits": tuple(built(Edit, each) for each in values["repair"]["edits"]),
                "alternatives": tuple(Message(**each) for each in values["repair"].get("alternatives", ())),
            },
        )
        parts = {
            "causes": tuple(built(Cause, each) for each in values["causes"]),
            "notes": tuple(Message(**note) for note in values["notes"]),
            "repair": repair,
        }
        return built(cls, values | parts)


def _plain(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _place(cell: int | None, line: int | None) -> Message:
    """Return a line as text in parentheses; empty without a line."""
    if not line:
        return NO_LINE
    return TEXTS["line"].format(line=line) if cell is None else TEXTS["line_of_cell"].format(cell=cell, line=line)
