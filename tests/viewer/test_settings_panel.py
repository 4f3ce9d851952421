"""The controls of the settings, without a browser: they are what the declarations say."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

import bdis
from bdis.common.declared import declarations
from bdis.viewer.settings_panel import SettingsControls


class FakeGui:
    """Records the controls that are added to it."""

    def __init__(self):
        self.controls = {}

    @contextlib.contextmanager
    def add_folder(self, label, **options):
        yield

    def add_html(self, content):
        self.message = SimpleNamespace(content=content)
        return self.message

    def add_dropdown(self, label, choices, initial_value):
        return self._add("dropdown", label, initial_value, choices=choices)

    def add_text(self, label, value, hint):
        return self._add("text", label, value, hint=hint)

    def add_checkbox(self, label, value, hint):
        return self._add("checkbox", label, value, hint=hint)

    def add_number(self, label, value, step, hint):
        return self._add("number", label, value, step=step, hint=hint)

    def add_slider(self, label, low, high, step, value, hint):
        return self._add("slider", label, value, step=step, hint=hint, limits=(low, high))

    def _add(self, kind, label, value, **more):
        control = SimpleNamespace(kind=kind, value=value, **more)
        control.on_update = lambda changed: setattr(control, "changed", changed)
        self.controls[label] = control
        return control

    def change(self, label, value):
        self.controls[label].value = value
        self.controls[label].changed(None)


@pytest.fixture
def panel():
    gui, used = FakeGui(), []
    SettingsControls(gui, bdis.PRESETS["balanced"], "balanced", used.append)
    return gui, used


def test_label_hint_limits_and_step_come_from_the_declaration(panel):
    controls = panel[0].controls
    overlap = controls["Overlap"]
    assert (overlap.kind, overlap.limits, overlap.step) == ("slider", (0, 0.95), 0.05)
    assert overlap.hint == declarations(bdis.Settings)["overlap"].description()
    size = controls["Patch size, px"]
    assert (size.kind, size.step, size.value) == ("number", 2, 8)
    assert "even number from 4 to 16 px of a level" in size.hint
    assert controls["Max. disparity, px"].kind == "text"
    assert "Empty: as large as the image allows." in controls["Max. disparity, px"].hint
    assert controls["Dense"].kind == "checkbox"
    assert {label for label, control in controls.items() if control.kind == "slider"} == {
        "Overlap", "Min. probability", "Min. support", "Min. valid",
    }  # fmt: skip


def test_a_changed_control_is_used_and_a_wrong_one_says_why(panel):
    gui, used = panel
    gui.change("Patch size, px", 12)
    assert used[-1].settings.patch_size == 12
    gui.change("Patch size, px", 7)
    assert "patch_size must be an even number from 4 to 16, but it is 7" in gui.message.content
    assert len(used) == 1
    gui.change("Patch size, px", 8)
    assert gui.message.content == ""
    gui.change("Max. disparity, px", "far")
    assert "max_disparity must be a number or empty" in gui.message.content
    gui.change("Max. disparity, px", "64")
    assert used[-1].settings.max_disparity == 64


def test_any_error_of_a_matcher_is_shown_and_leaves_the_settings():
    def use(matcher):
        raise MemoryError("no memory for this")

    gui = FakeGui()
    SettingsControls(gui, bdis.PRESETS["balanced"], "balanced", use)
    gui.change("Patch size, px", 12)
    assert "no memory for this. The last good settings stay in use" in gui.message.content


def test_a_preset_fills_the_controls_and_keeps_variance_and_threads(panel):
    gui, used = panel
    gui.change("Preset", "paper")
    assert used[-1].settings == bdis.PRESETS["paper"]
    assert gui.controls["Patch size, px"].value == 10
    assert gui.controls["Max. disparity, px"].value == ""


def test_a_preset_keeps_the_factor_on_sigma_of_the_rig():
    gui, used = FakeGui(), []
    of_rig = {"sigma_scale": 1.31, "min_disparity": -30.0, "max_disparity": 470.0, "bits": 12}
    SettingsControls(gui, replace(bdis.PRESETS["balanced"], **of_rig), "balanced", used.append)
    gui.change("Preset", "fast")
    assert used[-1].settings == replace(bdis.PRESETS["fast"], **of_rig)


def test_a_whole_number_that_may_be_empty_is_one(panel):
    gui, used = panel
    gui.change("Label level", "0")
    assert repr(used[-1].settings.label_level) == "0"
    gui.change("Label level", "0.5")
    assert "label_level must be a whole number" in gui.message.content
    gui.change("Label level", "")
    assert used[-1].settings.label_level is None
