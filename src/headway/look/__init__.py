"""Views of a computation: each line with the arrays that it made, and a prompt's way through a model.

headway.look(softmax, x)               a function with its arguments
headway.look("softmax")                a definition with small example inputs
headway.look(model, "The cat sat")     a prompt through a loaded model
headway.look("The cat sat", model="stories")     the same by the model's name
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from headway.language_model import LanguageModel
    from headway.look.model_view import ModelView
    from headway.look.view import View

__all__ = ["look"]


@overload
def look(what: str, *, model: str, compare: str | None = None, ablate: Sequence[str] = ()) -> ModelView: ...  # type: ignore[overload-overlap]  # model= is never a function's
@overload
def look(what: LanguageModel, prompt: str, /, *, compare: str | None = None, ablate: Sequence[str] = ()) -> ModelView: ...
@overload
def look(what: str | Callable[..., Any], *args: Any, **kwargs: Any) -> View: ...
def look(what: str | LanguageModel | Callable[..., Any], *args: Any, **kwargs: Any) -> View | ModelView:
    """Record a call, and return a view of each line with the values that it made, or of a prompt's way through a model.

    what          a function, called with the other arguments; the name of a definition, such as "softmax", called with them or with
                  small example inputs; or a loaded model, followed by a prompt
    model         name or folder of a model; `what` is then a prompt
    compare       a second prompt, shown next to the first; it goes through the whole model, without `ablate`
    ablate        layers such as "3" and heads such as "3.1" to switch off

    The view shows itself in a notebook. `view.save("out.html")` writes one self-contained file, print(view) prints the text.

    Errors   OptionError for an unknown name; the function's own exceptions, if nothing of it was recorded; with a model, as
             headway.look.models.TracedModel.trace.

    >>> import headway, numpy as np
    >>> view = headway.look("softmax", np.array([1.0, 2.0]))
    >>> [value.name for value in view.panels[0].trace.call.arguments]
    ['x', 'axis']
    """
    if isinstance(what, str) and "model" in kwargs:
        from headway.look.models import open_model

        return open_model(kwargs.pop("model")).view(what, *args, **kwargs)
    from headway.look.definitions import definition, view_of_call, view_of_definition

    if isinstance(what, str):
        return view_of_call(definition(what), *args, **kwargs) if args or kwargs else view_of_definition(what)
    if callable(what):
        return view_of_call(what, *args, **kwargs)
    from headway.look.models import traced_model

    return traced_model(what).view(*args, **kwargs)


class _CallableModule(ModuleType):
    """The module as the function of the same name, because `headway.look` is both."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return look(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
