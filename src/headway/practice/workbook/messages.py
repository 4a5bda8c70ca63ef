"""Messages of `headway practice`."""

from __future__ import annotations

from pathlib import Path

from headway.practice.message import Message
from headway.practice.workbook.folder import Begun, is_untouched, next_part, path_of
from headway.practice.workbook.parts import NAMES, PARTS, Part
from headway.practice.workbook.progress import Progress

NEW = Message("{total} files in {folder} for {array}: from softmax to a story by your own GPT-2", "已在 {folder} 写出 {total} 个文件（{array}）：从 softmax 到用你自己的 GPT-2 写故事")  # fmt: skip
KEPT = Message("kept existing files: {files}", "保留原有文件：{files}")
RESTORED = Message("wrote deleted files again: {files}", "已重新写出被删除的文件：{files}")
STANDING = Message("{number} of {total} solved", "已完成 {number}/{total}")
NEXT = Message("next: {path}, {title}: {equation}", "下一个：{path}，{title}：{equation}")
HELP = Message(
    "edit and save a file to check it; in another terminal: headway practice hint --folder {folder}. Ctrl-C stops",
    "编辑并保存文件即会检查；需要提示时在另一个终端运行 headway practice hint --folder {folder}。按 Ctrl-C 停止",
)
FINISHED = Message(
    "all parts are solved: every function from softmax to the story is yours. To find bugs next: headway practice bug --folder {folder}",
    "全部完成：从 softmax 到故事，每个函数都是你写的。接下来可以找错：headway practice bug --folder {folder}",
)
RESUME = Message("{standing}. To resume: headway practice start {folder}", "{standing}。继续：headway practice start {folder}")
UNSOLVED = Message("{name} was solved before and is wrong now", "{name} 之前是对的，现在不对了")
WRITING = Message("generating text with your functions …", "正在用你的函数生成文本……")
BUILDS_ON = Message("it imports files that are not solved yet: {files}", "它导入的这些文件尚未完成：{files}")
NOT_BEGUN = Message("not begun", "尚未开始")
SOLVED = Message("solved", "已完成")
SHOWN = Message("solution seen", "看过答案")
OPEN = Message("not solved yet", "尚未完成")
HINTS = Message("{number} of 3 hints", "看过 {number}/3 个提示")
HINT = Message("{title}, hint {number} of 3: {hint}", "{title}，提示 {number}/3：{hint}")
RESET = Message("wrote {file} again", "已重新写出 {file}")
ASIDE = Message("wrote {file} again; the previous version is in {aside}", "已重新写出 {file}；之前的版本在 {aside}")


def beginning(folder: Path, begun: Begun) -> list[Message]:
    """Return messages about the files that were written and kept."""
    lines = [NEW.format(total=len(PARTS), folder=folder, array=begun.progress.array)] if begun.is_new else []
    lines += [KEPT.format(files=", ".join(begun.kept))] if begun.kept else []
    return lines + ([RESTORED.format(files=", ".join(begun.restored))] if begun.restored else [])


def standing(progress: Progress) -> Message:
    """Return the number of solved parts."""
    return STANDING.format(number=sum(progress.of(name).is_solved for name in NAMES), total=len(NAMES))


def upcoming(folder: Path, progress: Progress) -> Message:
    """Return a message about the next part, or one that all are solved."""
    part = next_part(progress)
    if part is None:
        return FINISHED.format(folder=folder)
    return NEXT.format(path=path_of(folder, part), title=part.title, equation=part.equation)


def listing(folder: Path, progress: Progress) -> list[Message]:
    """Return one line per part, then the number of solved parts and the next one."""
    ahead = next_part(progress)
    lines = [_line(folder, part, progress, is_next=part == ahead) for part in PARTS]
    return [*lines, standing(progress), upcoming(folder, progress)]


def _line(folder: Path, part: Part, progress: Progress, *, is_next: bool) -> Message:
    at = progress.of(part.name)
    mark = "✓" if at.is_solved else "→" if is_next else "·"
    state = SOLVED if at.is_solved else NOT_BEGUN if is_untouched(folder, part, progress.array) else OPEN
    more = [HINTS.format(number=at.num_hints)] if at.num_hints else []
    more += [SHOWN] if at.saw_solution else []

    states = [state, *more]
    return Message("{mark} {file}.py — {title}: {states}", "{mark} {file}.py — {title}：{states}").format(
        mark=mark,
        file=part.name,
        title=part.title,
        states=Message(", ".join(each.en for each in states), "，".join(each.zh for each in states)),
    )


def unsolved_below(part: Part, progress: Progress) -> Message | None:
    """Return the unsolved parts that a part imports, directly or indirectly; None if there are none."""
    files = [f"{name}.py" for name in NAMES if name in _below(part) and not progress.of(name).is_solved]
    return BUILDS_ON.format(files=", ".join(files)) if files else None


def _below(part: Part) -> set[str]:
    return set(part.uses).union(*(_below(PARTS[NAMES.index(name)]) for name in part.uses))
