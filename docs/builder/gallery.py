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
# What the picture of each example shows, for those who do not see it; from the first steps on, as the gallery has them.
PICTURES = {
    "pair": "Left image, disparity, depth in mm and its standard deviation",
    "raw_cameras": "Rectified left image, disparity, depth in mm and probability; a rim that was not seen is unknown",
    "video": "A frame of a flight through a rendered colon: left image, disparity, depth in mm and probability",
    "uncertainty": "Instruments in front of tissue: left image, disparity, depth, its standard deviation, exact depth "
    "and error, which is large where the standard deviation is",
    "presets": "Disparity and error with the presets fast, paper, balanced and accurate, beside each other",
    "measure": "A line between two points of the tissue, with its length in mm and the standard deviation of it",
    "rows": "Mean error against how much lower the right image lies: it grows with align_rows off, and stays with auto",
    "own_rig": "Share of errors inside the intervals against the share they shall hold, before and after the fit",
    "other_matchers": "The result of bdis, SGBM and ELAS together: disparity, depth, standard deviation and error",
    "compare_methods": "Median error in mm against time in ms: bdis balanced and fast, OpenCV's SGBM and DIS flow",
}


class FromFirstSteps:
    """The order of the examples."""

    def __init__(self, source: str):
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        stem = Path(name).stem
        return [*PICTURES].index(stem), stem


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
        return figure_rst(places, gallery_conf["src_dir"], PICTURES[Path(block_vars["src_file"]).stem])


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
