"""Patterns: what they match, and what they refuse to look for."""

import glob
import os
from pathlib import Path

import pytest

from bdis.cluster.patterns import files_matching
from bdis.common.bad_request import BadRequest


@pytest.fixture
def tree(tmp_path):
    for name in ("a/1.mp4", "a/b/2.mp4", "a/b/c/3.avi", "d/1.mp4", "d/[x].mp4", ".hidden/4.mp4", "d/.5.mp4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize("pattern", [
    "*", "*/*.mp4", "**/*.mp4", "**/**/*.mp4", "*/**/*", "a/**/c/*", "a/*/*/*", "**/b", "?/1.mp4", "d/[[]x].mp4",
    "[!a]/*", ".*/*", "d/.*", "a/../d/*", "none/*", "*/none", "a/1.mp4/*", "**/.*",
])  # fmt: skip
def test_a_pattern_matches_what_glob_matches(tree, pattern):
    expected = {os.path.normpath(path) for path in glob.glob(str(tree / pattern), recursive=True)}
    assert {os.path.normpath(path) for path in files_matching(pattern, tree)} == expected


def test_a_relative_pattern_matches_in_the_current_folder(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert [str(path) for path in files_matching("**/*.avi", Path())] == ["a/b/c/3.avi".replace("/", os.sep)]


def test_a_folder_whose_name_looks_like_a_pattern_is_none(tree):
    (tree / "[x]").mkdir()
    (tree / "[x]" / "6.mp4").touch()
    assert [path.name for path in files_matching("*.mp4", tree / "[x]")] == ["6.mp4"]


def test_two_stars_at_the_end_are_all_files_and_folders(tree):
    assert {path.name for path in files_matching(str(tree / "a" / "**"), Path())} == {
        "1.mp4",
        "2.mp4",
        "3.avi",
        "b",
        "c",
    }


def test_a_link_that_leads_back_is_not_followed_for_ever(tree):
    (tree / "a" / "back").symlink_to(tree)
    assert [path.name for path in files_matching("**/*.avi", tree)] == ["3.avi"]


def test_a_folder_that_is_not_readable_has_nothing(tree):
    (tree / "a").chmod(0)
    try:
        found = files_matching("**/1.mp4", tree)
    finally:
        (tree / "a").chmod(0o755)
    assert (tree / "d" / "1.mp4") in found


def test_a_pattern_that_looks_at_the_whole_disk_is_refused_before_it_takes_hours(tree, monkeypatch):
    monkeypatch.setattr("bdis.cluster.patterns.MAX_LOOKED_AT", 22)  # each of 11 twice: for folders, and for files
    assert len(files_matching("**/*.mp4", tree)) == 4
    with pytest.raises(BadRequest, match=r"none looks at more than 22 files; give a narrower pattern"):
        files_matching("**/*/**/none", tree)


@pytest.mark.parametrize("part", ["..", "*/..", "**/*"])
def test_a_pattern_of_very_many_parts_is_refused_in_words(tree, part):
    with pytest.raises(BadRequest, match="parts; 100 are possible"):
        files_matching("/".join([*[part] * 2000, "*"]), tree)
