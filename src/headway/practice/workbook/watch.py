"""Watching a folder: what is saved is judged, and when it is right the next part is up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headway.practice.workbook import messages
from headway.practice.workbook.folder import is_untouched, next_part, path_of, progress_of
from headway.practice.workbook.judging import Judgement
from headway.practice.workbook.parts import PARTS, Part
from headway.practice.workbook.progress import Progress, write_progress


@dataclass
class Session:
    """A learner at work on a folder.

    judge   judges one part's file
    tell    says something to the learner
    seen    what was last known of every file: when it was written, and its size
    """

    folder: Path
    language: str
    judge: Callable[[Part], Judgement]
    tell: Callable[[str], None]
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    def watch(self, pause: Callable[[], None]) -> None:
        """Judge what is saved until everything is solved.

        pause   called between two looks at the files; whatever it raises ends the watching
        """
        for part in PARTS:
            self._look(part)
        self.move_on()
        while next_part(progress_of(self.folder)) is not None:
            pause()
            for part in PARTS:
                if self._look(part):
                    self._on_save(part)

    def _on_save(self, part: Part) -> None:
        ahead = next_part(progress_of(self.folder))
        if self.judged(part).of(part.name).is_solved and part == ahead:
            self.move_on()

    def move_on(self) -> None:
        """Say what is next; where something stands in it already, judge that, and go on as long as it is right."""
        while True:
            progress = progress_of(self.folder)
            part = next_part(progress)
            self.tell(messages.upcoming(self.folder, progress).text(self.language))
            if part is None or not path_of(self.folder, part).exists() or is_untouched(self.folder, part, progress.array):
                return
            if not self.judged(part).of(part.name).is_solved:
                return

    def judge_all(self) -> bool:
        """Judge every part that is begun; whether everything is solved."""
        for part in PARTS:
            progress = progress_of(self.folder)
            if is_untouched(self.folder, part, progress.array):
                self.tell(f"· {part.name}.py — {messages.NOT_BEGUN.text(self.language)}")
                write_progress(self.folder, progress.changed(part.name, is_solved=False))
            else:
                self.judged(part)
        progress = progress_of(self.folder)
        self.tell(messages.standing(progress).text(self.language))
        self.tell(messages.upcoming(self.folder, progress).text(self.language))
        return next_part(progress) is None

    def judged(self, part: Part) -> Progress:
        """Judge one part, say so, and remember; the progress then."""
        self._look(part)
        before = progress_of(self.folder)
        if not part.is_exercise:
            self.tell(messages.WRITING.text(self.language))
        judgement = self.judge(part)
        self.tell(judgement.text(self.language))
        below = messages.unsolved_below(part, before)
        if below and not judgement.is_solved:
            self.tell(f"  {below.text(self.language)}")
        if before.of(part.name).is_solved and not judgement.is_solved:
            self.tell(messages.UNSOLVED.format(name=part.name).text(self.language))
        progress = progress_of(self.folder).changed(part.name, is_solved=judgement.is_solved)  # read anew: a hint may have been given
        write_progress(self.folder, progress)
        return progress

    def _look(self, part: Part) -> bool:
        """Look at a file; whether it was written since the last look."""
        try:
            stat = path_of(self.folder, part).stat()
        except OSError:  # an editor may be about to rename another to it
            return False
        now = (stat.st_mtime_ns, stat.st_size)
        is_new, self.seen[part.name] = self.seen.get(part.name) != now, now
        return is_new
