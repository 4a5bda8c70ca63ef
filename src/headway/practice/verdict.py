"""The verdict on one function or class, and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from headway.practice.exercise import Convention
from headway.practice.message import Message

Status = Literal["correct", "wrong", "unknown", "could not run"]
Confidence = Literal["certain", "likely", "one of several", "none"]

STATUS_WORDS = {
    "correct": Message("correct", "正确"),
    "wrong": Message("wrong", "有错"),
    "unknown": Message("wrong, cause unknown", "有错，原因未知"),
    "could not run": Message("could not run", "无法运行"),
}


UNSURE = {
    "likely": Message(" (probably two mistakes at once)", "（很可能同时有两处错误）"),
    "one of several": Message(" (one of the following)", "（以下原因之一）"),
}
"""Text after the status if the cause is not certain."""

HEADING = Message(
    "{mark} {subject} (line {line}) — {title}: {status}{certainty}", "{mark} {subject}（第 {line} 行）— {title}：{status}{certainty}"
)
REPAIR = Message("{says}; with this change all {num_probes} probes match", "{says}；这样修改之后，全部 {num_probes} 个探针都一致")
LINE = Message(" (line {line})", "（第 {line} 行）")


@dataclass(frozen=True)
class Cause:
    """One mistake, or a pair of mistakes, that explains every output.

    says      what the code does, with the numbers that show it
    fix       what to change
    proof     evidence that this is the cause
    hides     reason why a simple example does not show it
    line      line number in the file, counted from 1
    """

    name: str
    says: Message
    fix: Message
    proof: Message
    hides: Message | None = None
    line: int | None = None


@dataclass(frozen=True)
class Edit:
    """Replacement of a range of a learner's file. Lines and columns (in characters) count from 1; the end column is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


@dataclass(frozen=True)
class Repair:
    """The smallest change found of the learner's own code after which every probe matches.

    edits            replacements, which do not overlap, in the order of the file
    says             the change as one line: `value.shape[-1] → key.shape[-1]`
    num_probes       number of probes that match after the change
    num_evaluations  number of candidates tried
    """

    edits: tuple[Edit, ...]
    says: Message
    num_probes: int
    num_evaluations: int = 0


@dataclass(frozen=True)
class Verdict:
    """Result of judging one function or class.

    status      "correct", "wrong" (the causes say why), "unknown" (the output differs and no known mistake explains it),
                "could not run"
    causes      most likely first; if there are several, each of them explains all outputs
    notes       accepted conventions, and inputs that were not judged
    difference  the first element that differs, and the pattern of all that do
    repair      a change of the learner's code after which every probe matches, if one was found
    conventions the conventions it was judged under; not serialized
    trial       the calls and outputs that were judged; not serialized
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
    conventions: tuple[Convention, ...] = field(default=(), compare=False, repr=False)
    trial: Any = field(default=None, compare=False, repr=False)

    @property
    def is_correct(self) -> bool:
        """True if every output equals the definition's."""
        return self.status == "correct"

    @property
    def confidence(self) -> Confidence:
        """Certainty of the cause: one mistake that explains every output is certain, a pair or one of several is not."""
        if self.status == "unknown":
            return "none"
        if len(self.causes) > 1:
            return "one of several"
        return "likely" if self.causes and " + " in self.causes[0].name else "certain"

    def text(self, language: str = "en") -> str:
        """Return the verdict as lines of text."""
        title = self.title or Message(self.exercise, self.exercise)
        certainty = UNSURE.get(self.confidence, Message("", ""))
        mark = "✓" if self.is_correct else "✗"
        heading = HEADING.format(
            mark=mark, subject=self.subject, line=self.line, title=title, status=STATUS_WORDS[self.status], certainty=certainty
        )
        lines = [heading.text(language)]
        for number, cause in enumerate(self.causes, 1):
            prefix = f"{number}. " if len(self.causes) > 1 else ""
            place = LINE.format(line=cause.line).text(language) if cause.line else ""
            lines.append(f"  {prefix}{cause.says.text(language)}{place}")
            lines.append(f"     → {cause.fix.text(language)}")
            lines += [f"     {each.text(language)}" for each in (cause.proof, cause.hides) if each and each.en]
        if self.difference:
            lines.append(f"  {self.difference.text(language)}")
        if self.repair:
            lines.append(f"  {REPAIR.format(says=self.repair.says, num_probes=self.repair.num_probes).text(language)}")
        lines += [f"  {note.text(language)}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text("en")

    def _repr_html_(self) -> str:
        """Return the verdict as HTML for a notebook."""
        import html

        colour = "#1a7f37" if self.is_correct else "#cf222e"
        return f'<pre style="border-left: 4px solid {colour}; padding-left: 1em">{html.escape(self.text("en"))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, with both languages."""
        values = asdict(replace(self, conventions=(), trial=None))
        return {name: value for name, value in values.items() if name not in ("conventions", "trial")} | {"confidence": self.confidence}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Verdict:
        """Rebuild a verdict from `to_dict` output."""

        def words(value: dict[str, str] | None) -> Message | None:
            return None if value is None else Message(**value)

        causes = tuple(
            Cause(
                **{name: words(each[name]) for name in ("says", "fix", "proof", "hides")},  # type: ignore[arg-type]
                name=each["name"],
                line=each["line"],
            )
            for each in values["causes"]
        )
        notes = tuple(Message(**note) for note in values["notes"])
        plain = {name: values[name] for name in ("subject", "exercise", "line", "status")}
        return cls(
            **plain,
            causes=causes,
            notes=notes,
            difference=words(values["difference"]),
            title=words(values["title"]),
            repair=_repair_from(values["repair"]),
        )


def _repair_from(values: dict[str, Any] | None) -> Repair | None:
    if values is None:
        return None
    edits = tuple(Edit(**each) for each in values["edits"])
    return Repair(**values | {"edits": edits, "says": Message(**values["says"])})
