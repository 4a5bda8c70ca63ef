"""Stable identifiers of causes, `exercise/cause`, and the pages that document them.

The pages are `mistakes/EXERCISE/` of the documentation, with the cause's name as anchor. Causes that any exercise may have are on the
page `mistakes/general/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from headway.practice.message import Message

GENERAL = {
    "unknown": Message("The outputs differ, and no known mistake explains them.", "输出不同，而已知的错误都无法解释。"),
    "repaired": Message(
        "No known mistake explains the outputs, but a small change of the code makes all of them right.",
        "已知的错误都无法解释输出，但对代码作一处小改动后，所有输出都正确。",
    ),
    "missing": Message("No file defines a required part.", "没有文件定义要求的部分。"),
    "raises": Message("A call, or the file itself, raises an exception.", "调用或文件本身抛出异常。"),
    "because_of_callee": Message("Wrong only because a function that it calls is wrong.", "出错只是因为它调用的函数有错。"),
    "parameters": Message("The parameters do not match the inputs of the part.", "参数与这一部分的输入不符。"),
    "not_understood": Message(
        "The code runs, but its outputs fit no convention that is known.", "代码可以运行，但输出不符合任何已知的约定。"
    ),
    "tool_error": Message("Headway itself failed; the code may be right.", "Headway 自身出错；代码可能没有问题。"),
    "could_not_run": Message("The code could not be run.", "代码无法运行。"),
    "too_slow": Message("Does not return within the limit.", "没有在限度内返回。"),
    "too_large": Message("Uses more memory than the limit.", "占用的内存超过限度。"),
    "exits": Message("Ends the process.", "终止了进程。"),
    "default_value": Message("The outputs are correct, but a default value is not.", "输出正确，但某个默认值不对。"),
    "changes_inputs": Message("Modifies its input arrays.", "修改了传入的数组。"),
    "not_repeatable": Message("Two calls with the same arguments return different outputs.", "用相同的参数调用两次，输出不同。"),
    "dropout_in_eval": Message("Dropout is active in eval mode.", "dropout 在 eval 模式下仍然生效。"),
    "returns_nothing": Message("Returns None.", "没有返回值。"),
    "gradient_stops": Message("The outputs are correct, but a gradient does not reach an input.", "输出正确，但梯度传不到某个输入。"),
    "gradient_is_wrong": Message("The outputs are correct, but a gradient is not.", "输出正确，但梯度不对。"),
    "gradient_raises": Message("The outputs are correct, but the backward pass raises.", "输出正确，但反向传播抛出异常。"),
    "forbidden": Message(
        "Calls a library's own function for the part, which the course forbids.", "调用了库自带的函数，而课程禁止这样做。"
    ),
    "not_confirmed": Message(
        "The outputs for fresh random inputs, compared outside its process, are not the definition's.",
        "用新的随机输入、在它的进程之外比较时，输出与定义不同。",
    ),
    "not_defined": Message("Is no longer a function or class once the file has run.", "运行文件之后，它已不是函数或类。"),
    "nothing_found": Message("No function of the file belongs to a part.", "文件中没有属于任何一部分的函数。"),
    "unreadable": Message("The file cannot be read.", "无法读取文件。"),
    "not_judged": Message("A class computes something that no part recognises.", "这个类进行某种计算，但不属于任何已知的部分。"),
    "no_function": Message("The file defines no function.", "文件中没有函数。"),
}
"""Causes that any exercise may have."""


@dataclass(frozen=True)
class Rule:
    """One kind of mistake.

    says, fix, hides   as in Mistake; None for a cause whose text depends on the program
    """

    exercise: str
    name: str
    says: Message
    fix: Message | None = None
    hides: Message | None = None

    @property
    def id(self) -> str:
        """Identifier `exercise/name`."""
        return rule_id(self.exercise, self.name)


def stable_name(cause: str) -> str:
    """Return a cause's name without what depends on the program: the exception's class, or the function at fault."""
    if cause.startswith("raises_"):
        return "raises"
    return "because_of_callee" if cause.startswith("because_of_") else cause


def rule_id(exercise: str, cause: str) -> str:
    """Return the identifier of a cause: `softmax/no_shift`; for a pair of mistakes `softmax/no_shift+wrong_axis`."""
    return f"{exercise}/{'+'.join(stable_name(name) for name in cause.split(' + '))}"


def url_of(rule: str | None) -> str | None:
    """Return the address of a rule's page; of a pair, the first mistake's.

    Relative to the documentation unless the package's metadata has a project URL named Documentation.
    """
    if rule is None:
        return None
    exercise, _, names = rule.partition("/")
    name = names.partition("+")[0]
    return f"{_documentation()}mistakes/{'general' if name in GENERAL else exercise}/#{name}"


@cache
def _documentation() -> str:
    """Return the address of the documentation with a slash at its end, or an empty string."""
    from importlib import metadata  # not at the top: a check of correct code needs no address

    try:
        urls = metadata.metadata("headway").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    found = dict(each.split(", ", 1) for each in urls if ", " in each)
    return found["Documentation"].rstrip("/") + "/" if "Documentation" in found else ""


def rules_of(exercise: str) -> dict[str, Rule]:
    """Return the rules of an exercise by name: its own mistakes and measured numbers, then the general ones.

    Errors   ImportError for an unknown exercise.
    """
    from headway.practice.exercises import exercise as by_name

    chosen = by_name(exercise)
    found: dict[str, Rule] = {}
    for each in chosen.mistakes:
        name = each.said_as or each.name
        found.setdefault(name, Rule(exercise, name, each.says, each.fix, each.hides))
    for recovery in chosen.recoveries:
        measured = Message(f"The number is not {recovery.right_name}.", f"所用的数不是 {recovery.right_name}。")
        found.setdefault(recovery.name, Rule(exercise, recovery.name, measured, recovery.fix, recovery.hides))
    for name, says in GENERAL.items():
        found.setdefault(name, Rule(exercise, name, says))
    return found
