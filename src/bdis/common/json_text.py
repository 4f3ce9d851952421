"""JSON text of values that JSON itself has no notation for, such as NaN, tuples, paths and NumPy numbers."""

import json
from typing import Any


def json_text(data: Any) -> str:
    """Convert ``data`` to indented JSON text.

    Parameters
    ----------
    data : object
        Any value that :func:`json_ready` accepts.

    Returns
    -------
    str
        JSON, indented by two spaces.

    Examples
    --------
    >>> print(json_text({"fps": float("nan")}))
    {
      "fps": null
    }
    """
    return json.dumps(json_ready(data), indent=2)


def json_ready(value: Any) -> Any:
    """Convert ``value`` to types that the :mod:`json` module can write as valid JSON.

    Parameters
    ----------
    value : object
        Dictionaries, lists and tuples are converted recursively.

    Returns
    -------
    object
        Dictionaries with text keys, lists, numbers, booleans, text and None.  NaN and infinity become None, because
        JSON has neither; anything else that is no number becomes text.

    Examples
    --------
    >>> json_ready({"size": (640, 480), "sigma": float("inf")})
    {'size': [640, 480], 'sigma': None}
    """
    if isinstance(value, dict):
        return {str(name): json_ready(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, bool | int | str | None):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if number - number == 0 else None
