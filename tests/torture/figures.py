"""The figures that the long tests of ``make torture`` measure, one line each, kept for the table at the end."""

from pathlib import Path

KEPT = Path("build", "torture-figures.txt")  # in the folder that `make torture` runs in, which empties it first


def figure(name: str, text: str) -> None:
    """Print a figure, and keep it for the table at the end.

    Parameters
    ----------
    name : str
        What was measured, such as the name of the test.
    text : str
        The figure, with its unit.

    Examples
    --------
    In a module of this folder:

    >>> figure("killed while writing", "200 kills, 0 files damaged")  # doctest: +SKIP
    killed while writing           200 kills, 0 files damaged
    """
    line = f"{name:30} {text}"
    print(line, flush=True)
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as kept:
        print(line, file=kept)
