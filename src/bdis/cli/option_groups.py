"""What every command is wrapped in: options that belong together as one parameter, and requests that cannot be."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from ..common.bad_request import BadRequest
from .terminal import UsageError


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see the fields of a dataclass as options of a command.

    Several commands take the same nine options about cameras. They are declared once, as the fields of a dataclass, and
    a command has one parameter of that type.

    Parameters
    ----------
    command : callable
        Function with typer's annotations. A parameter whose type is a dataclass stands for the fields of the dataclass,
        which carry typer's annotations as well.

    Returns
    -------
    callable
        Takes every option by keyword, and calls ``command``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int = 640
    ...     height: int = 480
    >>> def show(size: Size, title: str = ""):
    ...     print(title, size)
    >>> command = with_option_groups(show)
    >>> list(inspect.signature(command).parameters)
    ['width', 'height', 'title']
    >>> command(width=320, height=240, title="small:")
    small: Size(width=320, height=240)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        if is_dataclass(hint):
            groups[parameter.name] = hint
            parameters += _parameters_of(hint)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hint))

    @functools.wraps(command)
    def flat(**values: Any) -> None:
        arguments = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**arguments, **values)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def with_usage_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command answer a :class:`BadRequest` as it answers a wrong command line.

    Parameters
    ----------
    command : callable
        May raise BadRequest.

    Returns
    -------
    callable
        The same, but raises UsageError.
    """

    @functools.wraps(command)
    def checked(**values: Any) -> None:
        try:
            command(**values)
        except BadRequest as error:
            raise UsageError(str(error)) from error

    return checked


def _parameters_of(group: Any) -> list[inspect.Parameter]:
    """The fields of a dataclass as parameters of a function."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
