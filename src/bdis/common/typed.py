"""Programs as they have to be typed, for messages with a command that runs as it is printed."""

import os
import shlex
import shutil
import sys


def typed_program(path: str | os.PathLike[str]) -> str:
    """Return what to type in the current folder to run a program.

    Parameters
    ----------
    path : str or path-like
        Where the program is.

    Returns
    -------
    str
        Its name if the shell finds this very file by it, else its path: relative inside the current folder.

    Examples
    --------
    >>> typed_program("/opt/tools/bin/python")
    '/opt/tools/bin/python'
    """
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:  # the current folder has been removed
        return quoted(os.fspath(path))
    whole = os.path.abspath(path)
    name = os.path.basename(whole)
    found = shutil.which(name)
    if found is not None and os.path.normcase(os.path.abspath(found)) == os.path.normcase(whole):
        return name
    return quoted(os.path.relpath(whole) if whole.startswith(here) else whole)


def quoted(word: object) -> str:
    """Return a word with the quotes that a shell needs around it, if any.

    Parameters
    ----------
    word : object
        A path or anything else that :class:`str` makes a text of.

    Returns
    -------
    str
        The word for a command line of this system.

    Examples
    --------
    >>> quoted("left image.png")
    "'left image.png'"
    """
    text = str(word)
    if sys.platform == "win32":  # cmd and PowerShell both know double quotes
        return f'"{text}"' if not text or set(" &()^;,'") & set(text) else text
    return shlex.quote(text)
