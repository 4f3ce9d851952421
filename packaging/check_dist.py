"""Is this fit to be published? Builds the sdist and the wheel, and uses the wheel in an empty environment elsewhere.

Run by ``make dist-check``; needs what the Makefile installs, and an index that pip can reach:

    python packaging/check_dist.py FOLDER    # the two files are left in FOLDER
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_SDIST = {
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "conftest.py", "docs/usage.md",
    "pyproject.toml", "src/bdis/py.typed", "tests/test_package.py",
}  # fmt: skip
NOT_IN_SDIST = re.compile(r"^(\.ci|\.github|\.venv|build|dist)|__pycache__|\.py[co]$|\.so$")
MAX_BYTES = {"sdist": 5_000_000, "wheel": 2_000_000}
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # not our sources
ONE_MATCH = """
import bdis
from bdis.synthetic import render
pair = render("tissue", 96, 128, seed=1)
print(f"{bdis.StereoMatcher('fast').match(pair.left, pair.right).coverage:.0%} known")
"""


def main(folder: Path) -> None:
    """Check one thing after the other; the first that is wrong ends it."""
    run(sys.executable, "-m", "repo_review", ROOT)
    run(Path(sys.executable).with_name("cffconvert"), "--validate", "--infile", ROOT / "CITATION.cff")
    run(Path(sys.executable).with_name("hadolint"), ROOT / "packaging" / "docker" / "Dockerfile")
    check_recipe(ROOT / "packaging" / "conda" / "recipe.yaml")
    sdist, wheel = build(folder)
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    check_contents(sdist, wheel)
    with tempfile.TemporaryDirectory(prefix="bdis-dist-") as elsewhere:
        check_library(wheel, Path(elsewhere))
        check_commands(wheel, Path(elsewhere))
        check_extras(wheel, Path(elsewhere))
    print(f"sound: {sdist} ({sdist.stat().st_size} bytes), {wheel} ({wheel.stat().st_size} bytes)")


def check_recipe(recipe: Path) -> None:
    """The recipe for conda is one that rattler-build understands; tests/test_package.py compares its bounds."""
    from rattler_build import Stage0Recipe, VariantConfig

    (rendered,) = Stage0Recipe.from_file(recipe).render(VariantConfig())
    package = rendered.recipe.package
    version = re.search(r'"(.+)"', (ROOT / "src/bdis/common/version.py").read_text().partition("__version__")[2])
    print(f"recipe of conda: {package.name} {package.version}", flush=True)
    expect(version is not None and package.version == version[1], f"the recipe is of version {package.version}")


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]:
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist.resolve(), wheel.resolve()


def check_contents(sdist: Path, wheel: Path) -> None:
    """Nothing is missing, nothing unwanted came along, and the page of the index has whole addresses."""
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    expect(names >= IN_SDIST, f"the sdist lacks {IN_SDIST - names}")
    unwanted = sorted(filter(NOT_IN_SDIST.search, names))
    expect(not unwanted, f"the sdist has {unwanted[:5]}")
    with zipfile.ZipFile(wheel) as opened:
        files = opened.namelist()
        (about,) = [name for name in files if name.endswith(".dist-info/METADATA")]
        page = Parser().parsestr(opened.read(about).decode()).get_payload()
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "bdis").rglob("*")
            if path.is_file() and path.suffix != ".pyc"}  # fmt: skip
    expect(ours == {name for name in files if name.startswith("bdis/")}, "the wheel is not src/bdis")
    folders = {name.split("/")[0] for name in files}
    expect(folders == {"bdis", about.split("/")[0]}, f"the wheel has {folders}")
    relative = re.findall(r"\]\((?!https?:|#)[^)]*\)", page)
    expect(not relative, f"the page of the index has relative links: {relative}")
    for file, kind in ((sdist, "sdist"), (wheel, "wheel")):
        expect(file.stat().st_size < MAX_BYTES[kind], f"{file} has {file.stat().st_size} bytes")


def check_library(wheel: Path, elsewhere: Path) -> None:
    """With NumPy and Numba alone it matches, and the command says what it needs, in a command that runs as printed."""
    python = environment(elsewhere / "library")
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=elsewhere)
    run(python, "-c", ONE_MATCH, cwd=elsewhere)
    bare = subprocess.run(
        [python.with_name("bdis")], cwd=elsewhere, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    command = bare.stderr.partition("needs typer: ")[2]
    expect(" -m pip install " in command, f"no command that installs what is missing: {bare.stderr}")
    run(*shlex.split(command), "--quiet", cwd=elsewhere)
    run(python.with_name("bdis"), "--version", cwd=elsewhere)


def check_commands(wheel: Path, elsewhere: Path) -> None:
    """With the extras, the demo runs, and doctor finds nothing."""
    python = environment(elsewhere / "commands")
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli,images]", cwd=elsewhere)
    bdis = python.with_name("bdis")
    run(bdis, "--version", cwd=elsewhere)
    run(bdis, "demo", "-o", "demo", cwd=elsewhere)
    run(bdis, "match", "demo/left.png", "demo/right.png", "--calib", "demo/rig.toml", "-o", "pair", cwd=elsewhere)
    run(bdis, "doctor", cwd=elsewhere)


def check_extras(wheel: Path, elsewhere: Path) -> None:
    """Every extra can be installed, and only images and dev would bring an OpenCV beside the one that is there."""
    python = environment(elsewhere / "extras")
    run(python, "-m", "pip", "install", "--quiet", "opencv-python", cwd=elsewhere)
    with zipfile.ZipFile(wheel) as opened:
        (about,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        extras = Parser().parsestr(opened.read(about).decode()).get_all("Provides-Extra", [])
    expect("cli" in extras, "no extras")
    report = elsewhere / "report.json"
    for extra in extras:
        dry = ("--dry-run", "--quiet", "--report", report)
        run(python, "-m", "pip", "install", *dry, f"{wheel}[{extra}]", cwd=elsewhere)
        names = {each["metadata"]["name"].lower() for each in json.loads(report.read_text())["install"]}
        brought = {name for name in names if name.startswith("opencv")}
        expect(not brought or extra in ("images", "dev"), f"the extra {extra} brings {brought} beside opencv-python")


def environment(folder: Path) -> Path:
    """The Python of a new environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def run(*words: object, cwd: Path = ROOT) -> None:
    """Run a command that must succeed."""
    print("$", shlex.join(map(str, words)), flush=True)
    subprocess.run([str(word) for word in words], cwd=cwd, env=ENVIRONMENT, check=True)


def expect(is_so: bool, problem: str) -> None:
    """End with a message unless all is well."""
    if not is_so:
        sys.exit(f"error: {problem}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
