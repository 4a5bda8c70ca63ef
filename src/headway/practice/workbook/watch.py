"""Watch mode: check each file when it is saved, and continue with the next part when it is correct."""

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
    """A learner's session in a practice folder.

    judge       checks one part's file
    write_line  prints a line
    seen        modification time and size of each file when it was last read
    """

    folder: Path
    language: str
    judge: Callable[[Part], Judgement]
    write_line: Callable[[str], None]
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)

    def watch(self, pause: Callable[[], None]) -> None:
        """Check files when they are saved, until every part is solved.

        pause   called between two scans; an exception from it ends the session
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
        """Announce the next part; check it if its file was edited already, and continue as long as parts are correct."""
        while True:
            progress = progress_of(self.folder)
            part = next_part(progress)
            self.write_line(messages.upcoming(self.folder, progress).text(self.language))
            if part is None or not path_of(self.folder, part).exists() or is_untouched(self.folder, part, progress.array):
                return
            if not self.judged(part).of(part.name).is_solved:
                return

    def judge_all(self) -> bool:
        """Check every part that was started; return True if all are solved."""
        for part in PARTS:
            progress = progress_of(self.folder)
            if is_untouched(self.folder, part, progress.array):
                self.write_line(f"· {part.name}.py — {messages.NOT_BEGUN.text(self.language)}")
                write_progress(self.folder, progress.changed(part.name, is_solved=False))
            else:
                self.judged(part)
        progress = progress_of(self.folder)
        self.write_line(messages.standing(progress).text(self.language))
        self.write_line(messages.upcoming(self.folder, progress).text(self.language))
        return next_part(progress) is None

    def judged(self, part: Part) -> Progress:
        """Check one part, print the verdict, and return the saved progress."""
        self._look(part)
        before = progress_of(self.folder)
        if not part.is_exercise:
            self.write_line(messages.WRITING.text(self.language))
        judgement = self.judge(part)
        offer = f"\n  {messages.LOOK.format(name=part.name).text(self.language)}" if part.is_exercise and not judgement.is_solved else ""
        self.write_line(judgement.text(self.language) + offer)
        below = messages.unsolved_below(part, before)
        if below and not judgement.is_solved:
            self.write_line(f"  {below.text(self.language)}")
        if before.of(part.name).is_solved and not judgement.is_solved:
            self.write_line(messages.UNSOLVED.format(name=part.name).text(self.language))
        progress = progress_of(self.folder).changed(
            part.name, is_solved=judgement.is_solved
        )  # reload: a hint may have been shown meanwhile
        write_progress(self.folder, progress)
        return progress

    def _look(self, part: Part) -> bool:
        """Scan a file; return True if it was saved since the last scan."""
        try:
            stat = path_of(self.folder, part).stat()
        except OSError:  # some editors replace the file by renaming another
            return False
        now = (stat.st_mtime_ns, stat.st_size)
        is_new, self.seen[part.name] = self.seen.get(part.name) != now, now
        return is_new
