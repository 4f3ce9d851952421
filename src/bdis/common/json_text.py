"""JSON of anything: for the answers of the commands and the files that describe a run."""

import json
from typing import Any


def json_text(data: Any) -> str:
    """``data`` as JSON, indented.

    Examples
    --------
    >>> print(json_text({"fps": float("nan")}))
    {
      "fps": null
    }
    """
    return json.dumps(plain(data), indent=2)


def plain(value: Any) -> Any:
    """``value`` made of what JSON knows: NaN becomes None, paths and everything else text.

    Examples
    --------
    >>> plain({"size": (640, 480), "sigma": float("inf")})
    {'size': [640, 480], 'sigma': None}
    """
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | str | None):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if number - number == 0 else None
