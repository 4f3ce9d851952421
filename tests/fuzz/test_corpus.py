"""The kept corpus: readers raise what they document and nothing else, print nothing, and are quick.

Most contents are broken on purpose, by hand or by the fuzzer (``make fuzz``); each reader also has good ones.
"""

import time
from pathlib import Path

import pytest

from bdis.common.printable import printable
from tests.fuzz.readers import READERS

resource = pytest.importorskip("resource")  # not on Windows
CORPUS = Path(__file__).parent / "corpus"
LONGEST_S = 5.0  # on a busy machine; alone, every content takes milliseconds
MOST_KB = 1_000_000  # more memory than before
# Of libpng, which cannot be told not to: about pixels that are missing though all checksums are right.
PRINTED = {"libpng error: Not enough image data", "libpng error: IDAT: Missing PLTE before IDAT"}


def contents(name):
    return sorted(path for path in (CORPUS / name).iterdir() if path.is_file())


@pytest.mark.filterwarnings("ignore::UserWarning")  # what users are told of a file is no fault
@pytest.mark.parametrize("name", READERS)
def test_readers_raise_only_what_they_document(name, tmp_path, capfd):
    reader, survived = READERS[name], 0
    for number, path in enumerate(contents(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        began, memory_kb = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        message = None
        try:
            reader.read(folder, path.read_bytes())
            survived += 1
        except reader.may_raise as error:
            message = str(error)
        except Exception as error:
            raise AssertionError(f"{path.name}: {type(error).__name__}: {error}") from error
        assert message != "", path.name
        assert printable(message or "") == (message or ""), f"{path.name}: text of the file steers the terminal"
        assert time.monotonic() - began < LONGEST_S, path.name
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kb < MOST_KB, path.name
    printed = capfd.readouterr()
    assert set(printed.out.splitlines() + printed.err.splitlines()) <= PRINTED
    assert survived, "no good content: does the reader still read anything?"


def test_every_folder_of_the_corpus_has_a_reader():
    assert {path.name for path in CORPUS.iterdir()} == set(READERS)
