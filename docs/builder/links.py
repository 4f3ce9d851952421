"""Links of the pages, as they are right on a code host, made right for the site.

A page links to files of the repository by their path. On the site, a link to another page stays as it is, and one to a
file that is shown on a page of its own (``_SHOWN``, and the examples of the gallery) leads to that page. A link to any
other file leads to the source code at the address that pyproject.toml names as ``Source`` in ``project.urls``. Before
the first release there is none, since ``Homepage`` is a placeholder: then the text is left without a link.
"""

import os
import re
from pathlib import Path

from .gallery import titled

_BRANCH = "main"
_SHOWN = {  # files outside docs/, by the page that shows them
    "BENCHMARK.md": "project/benchmark.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples": "generated/gallery/index.rst",
    "docs": "index.md",
}
_INCLUDE = re.compile(r"```\{include\} (\S+)\n```")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s:]+)\)")


def source_url(project: dict) -> str | None:
    """Where the source code is, from the table ``project`` of pyproject.toml; None if it does not say."""
    url = project.get("urls", {}).get("Source")
    return url and url.rstrip("/")


def for_site(text: str, page: Path, docs: Path, url: str | None, folder: Path | None = None) -> str:
    """The text of a page with its links as the site needs them.

    Parameters
    ----------
    text : str
        Markdown.
    page : Path
        The page that shows it.
    docs : Path
        The folder docs/.
    url : str or None
        Where the source code is.
    folder : Path, optional
        What links are relative to, if not the folder of the page.
    """
    folder = folder or page.parent

    def include(found: re.Match) -> str:
        path = (page.parent / found[1]).resolve()
        return for_site(path.read_text(encoding="utf-8"), page, docs, url, path.parent)

    def link(found: re.Match) -> str:
        words, target, anchor = found[1], (folder / found[2]).resolve(), found[3] or ""
        inside = target.relative_to(docs.parent).as_posix()
        if target.is_relative_to(docs) and target != docs:
            return f"[{words}]({_from(page, target)}{anchor})"
        shown = _SHOWN.get(inside) or _in_gallery(target)
        if shown:
            return f"[{words}]({_from(page, docs / shown)}{anchor})"
        kind = "tree" if target.is_dir() else "blob"
        return f"[{words}]({url}/{kind}/{_BRANCH}/{inside}{anchor})" if url else words

    def image(found: re.Match) -> str:
        return f"![{found[1]}]({_from(page, (folder / found[2]).resolve())})"

    return _IMAGE.sub(image, _LINK.sub(link, _INCLUDE.sub(include, text)))


def _in_gallery(target: Path) -> str | None:
    """The page of an example, if it has one."""
    is_shown = target.parent.name == "examples" and target.stem in titled(target.parent)
    return f"generated/gallery/{target.stem}.rst" if is_shown else None


def _from(page: Path, target: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()


def setup(app, docs: Path, project: dict) -> None:
    """Rewrite the links of every page of Markdown when it is read."""

    def read(app, name: str, source: list[str]) -> None:
        page = Path(app.env.doc2path(name))
        if page.suffix == ".md":
            source[0] = for_site(source[0], page.resolve(), docs.resolve(), source_url(project))

    app.connect("source-read", read)
