"""What the workbook says to a person."""

from __future__ import annotations

from pathlib import Path

from headway.practice.message import Message
from headway.practice.workbook.folder import Begun, is_untouched, next_part, path_of
from headway.practice.workbook.parts import NAMES, PARTS, Part
from headway.practice.workbook.progress import Progress

NEW = Message("{total} files in {folder}, in {array}: from softmax to a story by your own GPT-2", "已在 {folder} 写好 {total} 个文件（{array}）：从 softmax 到用你自己的 GPT-2 写故事")  # fmt: skip
KEPT = Message("these were there already and stay as they are: {files}", "以下文件原本就在，保持不变：{files}")
RESTORED = Message("these had been deleted and are written anew: {files}", "以下文件已被删除，现已重新写出：{files}")
STANDING = Message("{number} of {total} solved", "已完成 {number}/{total}")
NEXT = Message("next: {path}, {title}: {equation}", "下一个：{path}，{title}：{equation}")
HELP = Message(
    "edit it and save; it is checked at once. In another terminal: headway practice hint {folder}; Ctrl-C leaves",
    "编辑并保存，会立即检查。在另一个终端里：headway practice hint {folder}；按 Ctrl-C 离开",
)
FINISHED = Message(
    "all is solved: from softmax to the story, every function is yours. A bug to find? headway practice --find-the-bug {folder}",
    "全部完成：从 softmax 到故事，每个函数都是你写的。想找错？headway practice --find-the-bug {folder}",
)
RESUME = Message("{standing}. To go on: headway practice {folder}", "{standing}。继续：headway practice {folder}")
UNSOLVED = Message("{name} was solved, and is not any more", "{name} 之前是对的，现在不对了")
WRITING = Message("your functions are writing …", "你的函数正在写故事……")
BUILDS_ON = Message("it builds on what is not right yet: {files}", "它用到的这些文件还不对：{files}")
NOT_BEGUN = Message("not begun", "尚未开始")
SOLVED = Message("solved", "已完成")
SHOWN = Message("solution seen", "看过答案")
OPEN = Message("not solved yet", "尚未完成")
HINTS = Message("{number} of 3 hints", "看过 {number}/3 个提示")
HINT = Message("{title}, hint {number} of 3: {hint}", "{title}，提示 {number}/3：{hint}")
RESET = Message("{file} is written anew", "{file} 已重新写出")
ASIDE = Message("{file} is written anew; what was in it is now in {aside}", "{file} 已重新写出；原来的内容在 {aside}")


def beginning(folder: Path, begun: Begun) -> list[Message]:
    """What was written, and what was there."""
    said = [NEW.format(total=len(PARTS), folder=folder, array=begun.progress.array)] if begun.is_new else []
    said += [KEPT.format(files=", ".join(begun.kept))] if begun.kept else []
    return said + ([RESTORED.format(files=", ".join(begun.restored))] if begun.restored else [])


def standing(progress: Progress) -> Message:
    """How many parts are solved."""
    return STANDING.format(number=sum(progress.of(name).is_solved for name in NAMES), total=len(NAMES))


def upcoming(folder: Path, progress: Progress) -> Message:
    """The next part, or that there is none."""
    part = next_part(progress)
    if part is None:
        return FINISHED.format(folder=folder)
    return NEXT.format(path=path_of(folder, part), title=part.title, equation=part.equation)


def listing(folder: Path, progress: Progress) -> list[Message]:
    """One line per part, then where one stands."""
    ahead = next_part(progress)
    lines = [_line(folder, part, progress, is_next=part == ahead) for part in PARTS]
    return [*lines, standing(progress), upcoming(folder, progress)]


def _line(folder: Path, part: Part, progress: Progress, *, is_next: bool) -> Message:
    at = progress.of(part.name)
    mark = "✓" if at.is_solved else "→" if is_next else "·"
    state = SOLVED if at.is_solved else NOT_BEGUN if is_untouched(folder, part, progress.array) else OPEN
    more = [HINTS.format(number=at.num_hints)] if at.num_hints else []
    more += [SHOWN] if at.saw_solution else []

    def text(language: str) -> str:
        said = ", ".join(each.text(language) for each in (state, *more))
        return f"{mark} {part.name}.py — {part.title.text(language)}: {said}"

    return Message(text("en"), text("zh"))


def unsolved_below(part: Part, progress: Progress) -> Message | None:
    """The parts that one builds on and that are not solved; None where all are."""
    files = [f"{name}.py" for name in NAMES if name in _below(part) and not progress.of(name).is_solved]
    return BUILDS_ON.format(files=", ".join(files)) if files else None


def _below(part: Part) -> set[str]:
    return set(part.uses).union(*(_below(PARTS[NAMES.index(name)]) for name in part.uses))
