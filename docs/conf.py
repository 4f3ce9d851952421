"""The site: `make docs` builds it into build/docs.

What is made at build, pages and pictures, is in docs/builder/ and goes to docs/generated/, which git ignores.
"""

import os
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT), str(ROOT / "src")]  # of the builder, of the oracles in tests/, of bdis
os.environ["NO_COLOR"] = "1"

from builder import commands, figures, gallery, links, mathml, settings  # noqa: E402

_project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

project = "bdis"
author = copyright = "the authors of bdis"
version = release = __import__("bdis").__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["builder", "**/sg_execution_times.rst"]
root_doc = "index"
language = "en_GB"
nitpicky = True
smartquotes = False  # they turn --option into a dash
nitpick_ignore_regex = [("py:.*", r"(numpy|np)\..*")]  # the documentation of others is not at hand
suppress_warnings = ["config.cache"]  # the gallery's functions are made anew for every build

html_theme = "pydata_sphinx_theme"
html_title = "bdis"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_math_renderer = "mathml"
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "external_links": [{"name": "Source", "url": url} for url in [links.source_url(_project)] if url],
}
html_context = {"default_mode": "light"}
html_sidebars = {"index": []}
pygments_style = "default"
highlight_language = "none"  # of indented blocks: commands and drawings

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have them, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]

sphinx_gallery_conf = gallery.configuration(DOCS, ROOT)


def _without_groups(app, what, name, obj, options, lines: list[str]) -> None:
    """Leave out the headings among the attributes of settings, which numpydoc takes for attributes."""
    lines[:] = [line for line in lines if not (line.startswith("**") and line.endswith("**"))]


def setup(app) -> None:
    """Connect what is made at build."""
    app.connect("autodoc-process-docstring", _without_groups, priority=100)  # before numpydoc
    mathml.setup(app)
    links.setup(app, DOCS, _project)
    made = DOCS / "generated"
    app.connect("builder-inited", lambda app: commands.write(made / "commands.md"), priority=100)
    app.connect("builder-inited", lambda app: settings.write(made), priority=101)
    app.connect("builder-inited", lambda app: figures.write(made / "figures"), priority=102)
