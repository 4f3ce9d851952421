"""Does every link of the built site lead somewhere? Run by `make docs`: ``python docs/builder/check_links.py FOLDER``.

Sphinx checks what it resolves itself. This reads the pages as a browser gets them: also those of the theme and of the
gallery, pictures, downloads and anchors. Links to other sites are left alone, since a build needs no network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    """Links inside a site that lead nowhere, each with its page.

    Parameters
    ----------
    site : Path
        The folder that was built.

    Returns
    -------
    list of str
        Such as ``start/index.html: first.html#top``.
    """
    site = site.resolve()
    files = [path for path in sorted(site.rglob("*.html")) if site / "_static" not in path.parents]  # templates there
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in files}
    return [
        f"{path.relative_to(site).as_posix()}: {link}"
        for path, page in pages.items()
        for link in sorted(page.links)
        if not _leads_somewhere(link, path, pages)
    ]


def _leads_somewhere(link: str, path: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    anchor = unquote(parts.fragment)
    return target.exists() and (not anchor or target not in pages or anchor in pages[target].anchors)


if __name__ == "__main__":
    if found := broken_links(Path(sys.argv[1])):
        sys.exit("\n".join(["links that lead nowhere:", *found]))
