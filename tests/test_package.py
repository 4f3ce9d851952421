"""What packagers, indexes and hosted services read agrees with the package. ``make dist-check`` builds it."""

import re
import tomllib
from pathlib import Path

import pytest

import bdis
from bdis import cli
from bdis.common import optional

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bdis"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
ADDRESS = PROJECT["urls"]["Homepage"]
RECIPE = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
DOCKERFILE = (ROOT / "packaging" / "docker" / "Dockerfile").read_text()
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "CITATION.cff"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))  # not in the sdist
PYTHONS = set(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))


def requirements(extra):
    """Bounds by name of an extra, with those of the extras that it names."""
    found = {}
    for text in PROJECT["optional-dependencies"][extra]:
        if own := re.fullmatch(r"bdis\[(.+)\]", text):
            for inner in own[1].split(","):
                found |= requirements(inner)
        else:
            name, bounds = re.fullmatch(r"([\w.-]+)(.*)", text).groups()
            found[name] = bounds
    return found


def newest_in_changelog():
    """The heading on top, and the newest version that has one."""
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    return headings[0], next(each for each in headings if each != "Unreleased")


def numbers(version):
    return tuple(map(int, version.split(".")))


# --- One version, one address -----------------------------------------------------------------------------------------


def test_version_is_the_same_everywhere():
    assert re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == bdis.__version__
    assert re.search(r'^  version: "(.+)"$', RECIPE, re.MULTILINE)[1] == bdis.__version__
    top, newest = newest_in_changelog()
    if top == "Unreleased":  # the version is that of the next release
        assert numbers(newest) <= numbers(bdis.__version__)
    else:
        assert newest == bdis.__version__


def test_address_of_the_repository_is_that_of_pyproject():
    """So that there is one file to change when it is known; the recipe follows."""
    host, _, name = ADDRESS.removeprefix("https://").partition("/")
    found = re.findall(r"https://[\w.]+/([\w-]+/\w+)\b", (ROOT / "pyproject.toml").read_text())
    assert set(found) == {name}
    assert re.search(r"homepage: (\S+)", RECIPE)[1] == ADDRESS
    for file in [*PAGES, *SOURCES, *WORKFLOWS]:
        assert f"{host}/{name}" not in file.read_text(), file


def test_images_and_links_of_the_readme_are_whole_on_the_page_of_the_index():
    text = (ROOT / "README.md").read_text()
    for rule in PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 5
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert "/raw.githubusercontent.com/" in re.search(r"!\[[^\]]*\]\(([^)]+)\)", text)[1]


# --- Extras -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_an_extra_does_not_replace_an_installed_opencv(extra):
    brought = {name for name in requirements(extra) if "opencv" in name}
    assert brought == ({"opencv-python-headless"} if extra in ("images", "dev") else set())


def test_opencv_is_checked_for_the_version_that_the_extra_installs():
    bound = numbers(requirements("images")["opencv-python-headless"].removeprefix(">="))
    assert bound[: len(optional.OLDEST_OPENCV)] == optional.OLDEST_OPENCV


def test_the_command_names_what_its_extras_install():
    names = {optional._DISTRIBUTIONS.get(package, package) for package in cli.PACKAGES}
    assert names == {*requirements("cli"), *requirements("images")}


def test_every_package_that_is_required_somewhere_is_in_an_extra():
    """Only then does the message have its bounds."""
    installable = {name for extra in PROJECT["optional-dependencies"] if extra != "dev" for name in requirements(extra)}
    needed = {name for file in SOURCES for name in re.findall(r'\brequire\(\s*"(\w+)', file.read_text())}
    assert {"cv2", "av", "viser"} <= needed
    assert {optional._DISTRIBUTIONS.get(package, package) for package in needed} <= installable


def test_nothing_says_that_the_package_index_has_us():
    """Commands install from the clone, ``pip install ".[cli]"``; CONTRIBUTING.md says when this changes."""
    for file in {*SOURCES, *PAGES} - {ROOT / "CHANGELOG.md"}:
        assert not re.search(r"pip install \S*bdis\b", file.read_text()), file


def test_every_extra_is_documented():
    table = (ROOT / "docs" / "installation.md").read_text().partition("## Extras")[2].partition("##")[0]
    named = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert set(named) == set(PROJECT["optional-dependencies"])


# --- Packages of others -----------------------------------------------------------------------------------------------


def test_conda_recipe_has_the_bounds_of_pyproject():
    section = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    run = dict(re.findall(r"^    - (\S+) (\S+)$", section, re.MULTILINE))
    assert run.pop("python") == PROJECT["requires-python"]
    required = dict(re.fullmatch(r"([\w-]+)(.*)", text).groups() for text in PROJECT["dependencies"])
    required |= requirements("cli")
    required["matplotlib-base"] = required.pop("matplotlib")
    assert numbers(run.pop("py-opencv").removeprefix(">="))[:2] == optional.OLDEST_OPENCV
    assert run == required
    assert PROJECT["description"] in RECIPE
    for name, bound in (text.split(">=") for text in PYPROJECT["build-system"]["requires"]):
        assert f"- {name} >={bound}\n" in RECIPE


def test_docker_image_has_a_python_that_we_support_and_copies_what_a_build_needs():
    assert set(re.findall(r"^FROM python:(3\.\d+)-slim", DOCKERFILE, re.MULTILINE)) <= PYTHONS
    allowed = set(re.findall(r"^!(\S+)", (ROOT / "packaging/docker/Dockerfile.dockerignore").read_text(), re.MULTILINE))
    copied = set(re.search(r"^COPY (.*) \./$", DOCKERFILE, re.MULTILINE)[1].split()) | {"src"}
    assert copied == allowed == {"pyproject.toml", "README.md", *PROJECT["license-files"], "src"}


# --- Hosted services --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not WORKFLOWS, reason="not in the sdist")
def test_hosted_tests_run_on_every_python_that_we_claim():
    assert f">={min(PYTHONS, key=numbers)}" == PROJECT["requires-python"]
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())[1]
    assert set(re.findall(r"3\.\d+", matrix)) >= PYTHONS


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_run_what_there_is_with_few_rights_and_pinned_actions(file):
    text = file.read_text()
    assert re.search(r"^permissions:( \{\}|\n  contents: read)$", text, re.MULTILINE)
    assert set(re.findall(r"(\S+): write", text)) <= {"id-token"}
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+", action), action
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"run: make (\S+)", text)) <= targets
