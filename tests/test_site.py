"""The site is complete, as far as that can be told without building it: `make docs` does the rest."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import bdis
from bdis.common.declared import declarations
from bdis.matching.settings import PRESETS, Settings
from docs.builder import check_links, figures, gallery, links, settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = DOCS / "generated"
PAGES = sorted(
    page for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")] if not {"generated", "_templates"} & {*page.parts}
)
MADE_PAGES = {"commands.md", "settings.md", "gallery/index.rst"}  # but for those of the API
API = (DOCS / "reference" / "api.rst").read_text()


def without_suffix(page):
    return page.with_suffix("").relative_to(DOCS).as_posix()


def toctree_entries(page):
    """Pages that the toctrees of a page name, relative to docs/ and without suffix."""
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for line in tree.splitlines():
            if line and not line.startswith(":"):
                target = re.sub(r".*<(.*)>", r"\1", line)
                yield (page.parent / target).resolve().relative_to(DOCS).as_posix()


def test_every_page_is_in_a_toctree_and_every_entry_is_a_page():
    named = {entry for page in PAGES for entry in toctree_entries(page)}
    made = {f"generated/{Path(page).with_suffix('').as_posix()}" for page in MADE_PAGES}
    assert named == {*map(without_suffix, PAGES), *made} - {"index"}, "docs/guides/index.md is the place of most pages"


def test_links_to_what_is_made_at_build_lead_somewhere():
    names = [f"figures/{name}.png" for name in figures.FIGURES]
    names += [f"gallery/images/sphx_glr_{name}_001.png" for name in gallery.titled(ROOT / "examples")]
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)", page.read_text()):
            path = (page.parent / target).resolve()
            if MADE in path.parents:
                assert path.relative_to(MADE).as_posix() in {*names, *MADE_PAGES}, f"{target} of {page.name}"
    assert all(f"generated/figures/{name}.png" in text_of_all_pages() for name in figures.FIGURES)


def text_of_all_pages():
    return "".join(page.read_text() for page in PAGES)


LISTED = sorted(re.findall(r"^(?:   |\.\. py:data:: )(bdis\.[\w.]+)$", API, re.MULTILINE))


def test_every_public_name_is_in_the_reference():
    assert {f"bdis.{name}" for name in bdis.__all__} <= set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_what_the_reference_lists_exists_and_is_documented(name):
    module, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(module), attribute)
    if not attribute.isupper():
        assert value.__doc__
    if isinstance(value, type):
        for inner, member in vars(value).items():
            if not inner.startswith("_") and (callable(member) or isinstance(member, property | classmethod)):
                assert member.__doc__, f"{name}.{inner}"


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "examples").glob("*.py"))], ids=lambda page: page.name)
def test_names_of_rooms_that_pages_and_examples_import_are_in_the_reference(page):
    internal = {"bdis.cameras.formats.matrices", "bdis.matching.settings"}  # of a developer; the same as bdis.Settings
    for module, names in re.findall(r"^from (bdis\.[\w.]+) import (.*)$", page.read_text(), re.MULTILINE):
        for name in re.findall(r"\w+", names.partition("#")[0]):
            if module not in internal and not name.isupper():
                assert f"   {module}.{name}\n" in API, f"{module}.{name}"


def test_every_setting_is_shown_with_the_value_of_its_preset_or_says_why_not():
    assert {*settings.SHOWN, *settings.NOT_SHOWN} == set(declarations(Settings))
    assert not {*settings.SHOWN} & {*settings.NOT_SHOWN}
    for name, shown in settings.SHOWN.items():
        assert 2 <= len(shown.values) <= 3
        assert {**vars(PRESETS[shown.preset]), **shown.others}[name] in shown.values, name
        for value in shown.values:
            bdis.StereoMatcher(shown.preset, **{**shown.others, name: value})


def test_the_gallery_has_ten_examples_whose_pictures_are_described():
    assert len(gallery.titled(ROOT / "examples")) == 10
    assert set(gallery.PICTURES) == set(gallery.titled(ROOT / "examples"))


@pytest.mark.parametrize("name", gallery.titled(ROOT / "examples"))
def test_the_text_of_a_notebook_has_no_colons_of_restructuredtext(name):
    assert "::" not in ast.get_docstring(ast.parse((ROOT / "examples" / f"{name}.py").read_text()))


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[usage](../usage.md#files)", "[usage](../usage.md#files)"),
        ("[B](../../BENCHMARK.md#memory)", "[B](../project/benchmark.md#memory)"),
        ("[code](../../src/bdis/cameras/rig.py)", "[code](https://host/bdis/blob/main/src/bdis/cameras/rig.py)"),
        ("[script](../../examples/pair.py)", "[script](../generated/gallery/pair.rst)"),
        ("[tests](../../tests)", "[tests](https://host/bdis/tree/main/tests)"),
        ("![picture](../preview.png)", "![picture](../preview.png)"),
        ("[elsewhere](https://example.org/a.md)", "[elsewhere](https://example.org/a.md)"),
    ],
)
def test_links_are_right_on_the_site(link, on_the_site):
    page = DOCS / "start" / "own_video.md"
    assert links.for_site(link, page, DOCS, "https://host/bdis") == on_the_site


def test_without_an_address_of_the_source_code_the_text_stays():
    page = DOCS / "start" / "own_video.md"
    assert links.for_site("see [the rig](../../src/bdis/cameras/rig.py).", page, DOCS, None) == "see the rig."
    assert links.source_url({}) is None
    assert links.source_url({"urls": {"Homepage": "https://host/a"}}) is None, "it may be a placeholder"
    assert links.source_url({"urls": {"Homepage": "https://host/a", "Source": "https://host/b/"}}) == "https://host/b"


def test_a_page_that_shows_a_file_has_its_text_and_links():
    page = DOCS / "project" / "contributing.md"
    text = links.for_site(page.read_text(), page, DOCS, None)
    assert text.startswith("# Contributing")
    assert "[docs/architecture.md](../architecture.md)" in text
    assert "[BENCHMARK.md](benchmark.md)" in text


def test_a_link_of_the_built_site_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top"></h1><a href="#top"></a><a href="inner/"></a><a href="https://example.org/x"></a>'
        '<a href="#bottom"></a><img src="no%20picture.png"><a href="inner/index.html#there"></a>'
    )
    (tmp_path / "inner" / "index.html").write_text('<a href="../index.html#top"></a><a href="../gone.html"></a>')
    assert check_links.broken_links(tmp_path) == [
        "index.html: #bottom",
        "index.html: inner/index.html#there",
        "index.html: no%20picture.png",
        "inner/index.html: ../gone.html",
    ]


def test_a_setting_with_choices_names_them_on_its_page():
    assert "One of `'down'`, `'up'`." in settings.meaning(declarations(Settings)["stride_rounding"])
