"""The gallery: every script of examples/ is run, and the pictures that it writes are shown on its page."""

import hashlib
import os
import shutil
from pathlib import Path

_FIRST_CELL = """import sys
import time

import matplotlib

matplotlib.use("agg")  # pictures are shown at the end
started = time.time()
sys.argv = sys.argv[:1]  # as a script it takes a folder as argument; here that is examples-output"""
_LAST_CELL = """from IPython.display import Image, display

for picture in sorted(folder.rglob("*.png")):
    if picture.stat().st_mtime >= started:
        display(Image(picture))"""
_ORDER = (  # from the first steps on; others follow by name
    "pair", "raw_cameras", "video", "uncertainty", "presets", "measure", "rows", "own_rig", "other_matchers",
    "compare_methods",
)  # fmt: skip


class FromFirstSteps:
    """The order of the examples."""

    def __init__(self, source: str):
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        stem = Path(name).stem
        return (_ORDER.index(stem) if stem in _ORDER else len(_ORDER)), stem


class WrittenPictures:
    """Takes the PNG files that a script has written into its folder."""

    def __init__(self, folder: Path):
        self.folder, self.taken = folder, set()

    def __repr__(self) -> str:  # sphinx-gallery compares configurations by it
        return "WrittenPictures"

    def __call__(self, block, block_vars, gallery_conf) -> str:
        from sphinx_gallery.scrapers import figure_rst

        places = []
        for path in sorted(self.folder.rglob("*.png")):
            key = path, hashlib.md5(path.read_bytes()).hexdigest()
            if key not in self.taken:
                self.taken.add(key)
                places.append(next(block_vars["image_path_iterator"]))
                shutil.copyfile(path, places[-1])
        return figure_rst(places, gallery_conf["src_dir"])


def titled(examples: Path) -> list[str]:
    """Names of the scripts whose docstring begins with a title and its line: they have a page in the gallery."""
    heads = {path.stem: path.read_text().splitlines()[:2] for path in sorted(examples.glob("*.py"))}
    return [name for name, (_, line) in heads.items() if line.startswith("===")]


def configuration(docs: Path, root: Path) -> dict:
    """The configuration of sphinx-gallery."""
    written = root / "build" / "gallery"
    shutil.rmtree(written, ignore_errors=True)

    def arguments(gallery_conf, script_vars) -> list[str]:
        return [os.path.relpath(written, root / "examples")]  # from where scripts are run; pages show it

    return {
        "examples_dirs": str(root / "examples"),
        "gallery_dirs": "generated/gallery",
        "filename_pattern": r"\.py$",
        "ignore_pattern": rf"(?:^|[\\/])(?!(?:{'|'.join(titled(root / 'examples'))})\.py$)[^\\/]*$",
        "within_subsection_order": FromFirstSteps,
        "reset_argv": arguments,
        "image_scrapers": (WrittenPictures(written),),
        "first_notebook_cell": _FIRST_CELL,
        "last_notebook_cell": _LAST_CELL,
        "show_memory": False,
        "show_signature": False,
        "remove_config_comments": True,
        "abort_on_example_error": True,
        "copyfile_regex": "",
        "parallel": False,
        "min_reported_time": 1e9,
        "write_computation_times": False,
    }
