"""Text of files, as it may be shown: names, comments and values that somebody else wrote can steer a terminal."""


def printable(text: str) -> str:
    r"""Write every character that is not printable as its escape; line feeds stay.

    All that the commands print passes through this function, and so does text of files that becomes part of a message.

    Parameters
    ----------
    text : str
        Any text.  Undecodable bytes of a file name (surrogates), invisible characters and those that turn the direction
        of writing around count as not printable.

    Returns
    -------
    str

    Examples
    --------
    >>> printable("left\x1b[2J.png")
    'left\\x1b[2J.png'
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
