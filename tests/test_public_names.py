"""The public names: one table, the same for users and type checkers, and nothing heavy behind ``import bdis``."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bdis

TREE = ast.parse(Path(bdis.__file__).read_text())


def test_type_checkers_see_the_same_names_from_the_same_modules():
    (block,) = (node for node in TREE.body if isinstance(node, ast.If))
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "only 'import X as X' is a re-export to a type checker"
            seen[alias.name] = node.module
    assert seen == bdis._MODULE_OF


@pytest.mark.parametrize("name", bdis.__all__)
def test_every_public_name_is_defined_in_its_module_and_documented(name):
    value = getattr(bdis, name)
    assert name in dir(bdis)
    if name != "PRESETS":
        assert value.__module__ == f"bdis.{bdis._MODULE_OF[name]}"
        assert value.__doc__


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'bdis' has no attribute 'StereoMatch'"):
        _ = bdis.StereoMatch


def test_import_loads_neither_numpy_nor_numba():
    code = "import sys, bdis; print(*({'numpy', 'numba', 'cv2', 'matplotlib'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == ""
