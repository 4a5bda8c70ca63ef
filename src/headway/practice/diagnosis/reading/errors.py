"""Exceptions of the learner's code: what they are about, and where they were raised."""

from __future__ import annotations

import re
import traceback

OF_SIZES = (
    r"shapes? |sizes? of tensor|size for first two dimensions|must match|mat1 and mat2|broadcast|cannot be multiplied|core dimension"
    r"|enough dimensions|Dimension out of range|axes don.t match|out of bounds for (array|axis)"
)
"""Pattern of the messages with which libraries refuse arrays whose sizes do not suit each other."""


def is_of_sizes(error: BaseException) -> bool:
    """Return True for the exception with which a library refuses arrays whose sizes do not suit each other."""
    return isinstance(error, ValueError | RuntimeError | IndexError) and re.search(OF_SIZES, str(error)) is not None


def last_line(error: BaseException, path: str) -> int | None:
    """Return the number of the last line of a file in an exception's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else None


def is_own(error: BaseException) -> bool:
    """Return True for an exception that a program itself raises: it states which inputs it is for."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and (frames[-1].line or "").startswith(("raise", "assert"))


def asks_for_mask(error: BaseException) -> bool:
    """Return True for an exception because a mask is missing, raised by a program itself or by the function that rearranges its axes."""
    frames = traceback.extract_tb(error.__traceback__)
    written = (frames[-1].line or "") if frames else ""
    is_rearranged = "NoneType" in str(error) and any(re.search(REARRANGED, frame.line or "") for frame in frames)
    return is_rearranged or (written.startswith(("raise", "assert")) and "mask" in f"{written} {error}".lower())


def is_of_no_mask(error: BaseException) -> bool:
    """Return True for the exception of a line that computes with a mask although it is None."""
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, TypeError | AttributeError) and "NoneType" in str(error) and bool(frames) and "mask" in (frames[-1].line or "")


REARRANGED = r"\b(rearrange|repeat|reduce)\(\w*mask\b"
"""Pattern of a line that gives a mask to a function of einops."""
