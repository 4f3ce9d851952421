"""A parser of the part of YAML that calibration files use; no content of a file is ever run as code.

Block and flow maps and sequences, scalars with and without quotes, comments; tags such as ``!!opencv-matrix`` are
skipped.  JSON is covered as well, including the ``0.`` and ``.Nan`` that OpenCV writes and JSON forbids.  Anchors,
aliases and multi-line texts are refused.
"""

import re
from typing import Any, NamedTuple

_MAX_DEPTH = 32
# The patterns below never go back over what they have matched (possessive ++ and *+), so that no text takes longer than
# in proportion to its length.
_TOKEN = re.compile(
    r"""\s*+(?:(?P<mark>[\[\]{},])|(?P<quoted>"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')|(?P<unquoted>[^\[\]{},"']++))""",
    re.DOTALL,
)
_QUOTED_KEY = re.compile(r"""("[^"]*+"|'[^']*+')\s*+:(?=\s|$)""")
_END_OF_KEY = re.compile(r""":(?=\s|$)|[\[\]{},"'#]""")  # or what no name has
_TAG = re.compile(r"!\S*+\s*+")
_WHOLE = re.compile(r"[-+]?[0-9]++")
_NUMBER = re.compile(r"[-+]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][-+]?[0-9]++)?")
_NO_NUMBER = re.compile(r"[-+]?\.(nan|inf)", re.IGNORECASE)
_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def parse_yaml(text: str) -> Any:
    """Parse YAML or JSON text.

    Parameters
    ----------
    text : str
        Content of a file.

    Returns
    -------
    object
        Dicts, lists, strings, numbers, booleans and None; None for an empty text.

    Raises
    ------
    ValueError
        The text is not YAML, or uses a part of YAML that is not supported; the message has the line number.

    Examples
    --------
    >>> parse_yaml("%YAML:1.0\\nT: !!opencv-matrix\\n   rows: 3\\n   data: [ -5.4, 0.,\\n      1e-3 ]")
    {'T': {'rows': 3, 'data': [-5.4, 0.0, 0.001]}}
    >>> parse_yaml("- 1\\n- [2, {a: 'b'}]")
    [1, [2, {'a': 'b'}]]
    """
    lines = _logical_lines(text)
    if not lines:
        return None
    value, used = _block(lines, 0, lines[0].indent, 0)
    if used < len(lines):
        raise _refused(lines[used].number, "its indentation matches no line above")
    return value


def scalar_of(word: str) -> Any:
    """The number, word or text that a single word of YAML stands for."""
    return _scalar(word, 1)


def _refused(number: int, why: str) -> ValueError:
    return ValueError(f"line {number} cannot be read as YAML: {why}")


def _logical_lines(text: str) -> list[_Line]:
    """Lines without comments and without blank lines; a flow collection over several lines becomes one line."""
    lines: list[_Line] = []
    parts: list[str] = []  # of the last line
    open_brackets = 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw).rstrip()
        if not line.strip() or (not open_brackets and (line.startswith("%") or line in ("---", "..."))):
            continue
        body = line.lstrip(" ")
        if body.startswith("\t") and not open_brackets:
            raise _refused(number, "it is indented with a tab")
        if open_brackets:
            parts.append(body.strip())
        else:
            parts = [body]
            lines.append(_Line(number, len(line) - len(body), body))
        unquoted = re.sub(r'"[^"]*"|\'[^\']*\'', "", line)
        open_brackets += sum(map(unquoted.count, "[{")) - sum(map(unquoted.count, "]}"))
        if not open_brackets and len(parts) > 1:
            lines[-1] = lines[-1]._replace(text=" ".join(parts))
    if open_brackets:
        raise _refused(lines[-1].number, "its brackets do not balance; is the file cut short?")
    return lines


def _without_comment(line: str) -> str:
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#" and (place == 0 or line[place - 1] in " \t"):
            return line[:place]
    return line


def _block(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[Any, int]:
    """Parse the map, sequence or scalar that starts at line ``at``; also return the number of the line after it."""
    line = lines[at]
    if depth > _MAX_DEPTH:
        raise _refused(line.number, "it is nested too deeply")
    if line.text == "-" or line.text.startswith("- "):
        return _sequence(lines, at, indent, depth)
    if _split_key(line.text):
        return _map(lines, at, indent, depth)
    return _inline(line.text, line.number), at + 1


def _sequence(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[list[Any], int]:
    items = []
    while at < len(lines) and lines[at].indent == indent and re.match(r"-(\s|$)", lines[at].text):
        line = lines[at]
        rest = line.text[1:].lstrip()
        if rest:  # the text after the dash is a block of its own, indented by the dash
            lines[at] = _Line(line.number, indent + len(line.text) - len(rest), rest)
            value, at = _block(lines, at, lines[at].indent, depth + 1)
        else:
            value, at = _nested(lines, at + 1, indent + 1, depth)
        items.append(value)
    return items, at


def _map(lines: list[_Line], at: int, indent: int, depth: int) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    while at < len(lines) and lines[at].indent == indent:
        line = lines[at]
        entry = _split_key(line.text)
        if entry is None:
            raise _refused(line.number, f"expected 'name: value', but it is {line.text[:40]!r}")
        name, rest = entry
        rest = _without_tag(rest)
        value: Any
        if rest:
            value, at = _inline(rest, line.number), at + 1
        else:
            value, at = _nested(lines, at + 1, indent, depth)
        _add(entries, str(_scalar(name, line.number)) if name[0] in "\"'" else name, value, line.number)
    return entries, at


def _add(entries: dict[str, Any], name: str, value: Any, number: int) -> None:
    if name in entries:
        raise _refused(number, f"{name[:40]!r} is there twice")
    entries[name] = value


def _split_key(text: str) -> tuple[str, str] | None:
    """The name, with its quotes, and what follows the colon of a line such as ``name: value``; None for another."""
    if text[:1] in "\"'":
        quoted = _QUOTED_KEY.match(text)
        return None if quoted is None else (quoted[1], text[quoted.end() :].lstrip())
    end = _END_OF_KEY.search(text)
    if end is None or end[0] != ":":
        return None
    name = text[: end.start()].rstrip()
    return (name, text[end.end() :].lstrip()) if name else None


def _without_tag(text: str) -> str:
    return _TAG.sub("", text, count=1) if text.startswith("!") else text


def _nested(lines: list[_Line], at: int, parent: int, depth: int) -> tuple[Any, int]:
    """Parse the value on the lines below a name: deeper lines, or a sequence at the indentation of the name."""
    if at < len(lines):
        deeper = lines[at].indent > parent
        if deeper or (lines[at].indent == parent and lines[at].text.startswith("-")):
            return _block(lines, at, lines[at].indent, depth + 1)
    return None, at


def _inline(text: str, number: int) -> Any:
    """Parse a scalar or a flow collection on one logical line."""
    text = _without_tag(text).strip()
    if text[:1] not in ("[", "{"):
        return _scalar(text, number)
    tokens: list[re.Match[str]] = []
    while not tokens or tokens[-1].end() < len(text):
        token = _TOKEN.match(text, tokens[-1].end() if tokens else 0)
        if token is None:
            raise _refused(number, "a quote is never closed")
        tokens.append(token)
    value, used = _flow(tokens, 0, number, 0)
    if used < len(tokens):
        raise _refused(number, "something follows the closing bracket")
    return value


def _flow(tokens: list[re.Match[str]], at: int, number: int, depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise _refused(number, "it is nested too deeply")
    if at >= len(tokens):
        raise _refused(number, "a bracket is never closed")
    mark = tokens[at]["mark"]
    if mark == "[":
        return _flow_items(tokens, at + 1, number, depth)
    if mark == "{":
        return _flow_entries(tokens, at + 1, number, depth)
    if mark:
        raise _refused(number, f"unexpected {mark!r}")
    return _scalar(tokens[at].group().strip(), number), at + 1


def _flow_items(tokens: list[re.Match[str]], at: int, number: int, depth: int) -> tuple[list[Any], int]:
    items = []
    while at < len(tokens) and tokens[at]["mark"] != "]":
        value, at = _flow(tokens, at, number, depth + 1)
        items.append(value)
        at = _after_comma(tokens, at, "]", number)
    return items, at + 1


def _flow_entries(tokens: list[re.Match[str]], at: int, number: int, depth: int) -> tuple[dict[str, Any], int]:
    entries: dict[str, Any] = {}
    while at < len(tokens) and tokens[at]["mark"] != "}":
        token = tokens[at]
        if token["quoted"]:  # "name" : value
            name, rest = str(_scalar(token["quoted"], number)), ""
            at += 1
            if at < len(tokens) and tokens[at]["unquoted"]:
                rest = tokens[at]["unquoted"].strip()
            if not rest.startswith(":"):
                raise _refused(number, f"expected ':' after {name!r}")
            rest = rest[1:].strip()
        else:
            name, colon, rest = (token["unquoted"] or "").strip().partition(":")
            name, rest = name.strip(), rest.strip()
            if not colon:
                raise _refused(number, f"expected 'name: value' between braces, but it is {token.group().strip()!r}")
        at += 1
        value: Any = None
        if rest:
            value = _scalar(rest, number)
        elif at < len(tokens) and tokens[at]["mark"] not in (",", "}"):
            value, at = _flow(tokens, at, number, depth + 1)
        _add(entries, name, value, number)
        at = _after_comma(tokens, at, "}", number)
    return entries, at + 1


def _after_comma(tokens: list[re.Match[str]], at: int, closing: str, number: int) -> int:
    if at < len(tokens) and tokens[at]["mark"] == ",":
        return at + 1
    if at >= len(tokens) or tokens[at]["mark"] != closing:
        raise _refused(number, f"expected ',' or '{closing}'")
    return at


def _scalar(text: str, number: int) -> Any:
    text = text.strip()
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        return re.sub(r"\\.", lambda match: _ESCAPES.get(match.group(), match.group()), text[1:-1])
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] in ("&", "*", "|", ">"):
        raise _refused(number, f"{text[0]!r} (anchors, aliases, multi-line texts) is not supported")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) < 20 and _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    if _NO_NUMBER.fullmatch(text):
        return float(text.lower().replace(".", ""))
    return text
