"""headway grade: points for a hand-in, by part and by mistake."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import headway
from headway.cli import check as c
from headway.cli.colour import coloured
from headway.practice.message import Message, PracticeError

FROM_PYPI = Message(
    "its setup.sh installs {package} from PyPI; from a clone, run make wheel and add --package dist/FILE.whl, which is then included",
    "其中的 setup.sh 会从 PyPI 安装 {package}；如果使用的是克隆的仓库，请运行 make wheel，并加上 --package dist/文件名.whl，该文件会包含在内",
)


@c.with_language
def command(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="The hand-in: files or folders.", show_default=False)] = None,
    sheet: Annotated[Path, typer.Option(help="The grade sheet.")] = Path("headway.toml"),
    format: c.Format = "text",
    output: c.Output = None,
    zip: Annotated[
        Path | None, typer.Option("--zip", help="Write an autograder for Gradescope with this sheet, and grade nothing.")
    ] = None,
    package: Annotated[
        str, typer.Option(help="With --zip: what it installs, such as headway[torch], or a wheel file, which is included.")
    ] = f"headway=={headway.__version__}",
    seed: c.Seed = None,
    forbid: c.Forbid = False,
    timeout: c.Timeout = 20.0,
    lang: c.Language = None,
    debug: c.Debug = False,
) -> None:
    """Give points for a hand-in, with partial credit for named mistakes.

    \b
      headway grade handin/ --sheet headway.toml
      headway grade handin/ --sheet headway.toml --format gradescope
      headway grade --zip autograder.zip

    The sheet is a TOML file: [grade], then lines such as `softmax = 2` and `linear = {points = 5, partial = {bias_missing = 3}}`.
    Exit codes: 0 graded, whatever the points, 2 invalid input, 3 headway itself failed.
    """
    from headway.practice.judge.process import start_early

    start_early()
    from headway.practice.checking import Options
    from headway.practice.grading.bundle import wheel_in, write_bundle
    from headway.practice.grading.grade import grade_of
    from headway.practice.grading.sheet import read_sheet
    from headway.practice.report.formats import Settings
    from headway.practice.report.results import Report
    from headway.practice.report.writing import written

    points = read_sheet(sheet)
    if zip is not None:
        write_bundle(zip, sheet, package, seed=seed, forbid=forbid)
        if wheel_in(package)[0] is None:
            typer.echo(FROM_PYPI.format(package=package).text(c.language_of(lang)), err=True)
        return
    if not paths:
        raise PracticeError(Message("got no files, expected the hand-in", "没有给出文件，应给出提交的作业"))
    settings = Settings(c.language_of(lang), output, os.environ)

    def grade() -> Report:
        report = c.check_with_progress(paths, Options(required=tuple(points), timeout_seconds=timeout, seed=seed, is_own=forbid))
        return replace(report, given=grade_of(report.verdicts, points))

    with c.tool_failures(settings.language, is_debug=debug):
        report = written(grade, format, settings, sheet=points, show=coloured)
    if report.has_tool_error:
        raise typer.Exit(c.TOOL_FAILED)
