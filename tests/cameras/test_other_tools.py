"""Calibrations of MATLAB, da Vinci, EndoVis, SCARED and NumPy give the right depth, or a line that says why not."""

import io
import json

import numpy as np
import pytest

import bdis
from bdis.cameras.convert import write_calibration
from bdis.cameras.formats import read_calibration
from tests.cameras.simulated import CAMERAS, SIZE, check_depth, cv2

WIDTH, HEIGHT = SIZE


def load(path, **stated):
    return bdis.StereoCalibration.load(path, **stated)


# --- da Vinci, EndoVis, SCARED ----------------------------------------------------------------------------------------


def davinci_text(count=8):
    lines = []
    for side, matrix, distortion in (
        ("StereoLeft", CAMERAS.left_matrix, CAMERAS.left_distortion),
        ("StereoRight", CAMERAS.right_matrix, CAMERAS.right_distortion),
    ):
        lines += [f"[{side}]", f"res_x={WIDTH}", f"res_y={HEIGHT}", f"fc_x={matrix[0, 0]}", f"fc_y={matrix[1, 1]}",
                  f"cc_x={matrix[0, 2]}", f"cc_y={matrix[1, 2]}"]  # fmt: skip
        lines += [f"kc_{place}={value}" for place, value in enumerate([*distortion, 0, 0, 0][:count])]
        if side == "StereoRight":
            lines += [f"R_{place}={value!r}" for place, value in enumerate(CAMERAS.rotation.ravel().tolist())]
            lines += [f"T_{place}={value}" for place, value in enumerate(CAMERAS.translation_mm)]
    return "\n".join(lines)


@pytest.mark.parametrize("count", [5, 8])
def test_da_vinci_ini(count, tmp_path):
    path = tmp_path / "StereoCalibration.ini"
    path.write_text(davinci_text(count))
    assert read_calibration(path).format == "da Vinci StereoCalibration.ini"
    check_depth(load(path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[StereoRight]", "[Right]", "without section StereoRight"),
        ("fc_y=1085.1", "fc_z=1085.1", "without fc_y in section StereoLeft"),
        ("fc_y=1085.1", "fc_y=wide", "fc_y must be a finite number, but it is 'wide'"),
        ("fc_y=1085.1", "fc_y=nan", "fc_y must be a finite number"),
        ("T_0=-4.35", "T_0=4.35", "swapped"),
        ("T_0=-4.35", "T_0=-0.00435", "expected mainly a negative first number"),
        ("res_x=1280", "res_x=640", "a pair has one size"),
        ("[StereoLeft]", "[StereoLeft]\n[StereoLeft]", "StereoCalibration.ini that is damaged"),
        ("[StereoLeft]", "nothing\n[StereoLeft]", "StereoCalibration.ini that is damaged"),
    ],
)
def test_da_vinci_ini_that_is_wrong(old, new, words, tmp_path):
    path = tmp_path / "StereoCalibration.ini"
    path.write_text(davinci_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=words):
        load(path)


def endovis_text():
    vector = cv2.Rodrigues(CAMERAS.rotation)[0].ravel()
    lines = [f"Width: {WIDTH}", f"Height: {HEIGHT}"]
    for side, matrix, distortion in (
        (0, CAMERAS.left_matrix, CAMERAS.left_distortion),
        (1, CAMERAS.right_matrix, CAMERAS.right_distortion),
    ):
        lines += [f"Camera-{side}-F: {matrix[0, 0]} {matrix[1, 1]}   // focal dist in pixels",
                  f"Camera-{side}-C: {matrix[0, 2]} {matrix[1, 2]}   // center in pixels", f"Camera-{side}-Alpha: 0",
                  f"Camera-{side}-K: {' '.join(map(str, distortion))}   // distortion"]  # fmt: skip
    lines += [f"Extrinsic-Omega: {' '.join(map(repr, vector.tolist()))}   // left to right camera rotation"]
    return "\n".join([*lines, f"Extrinsic-T: {' '.join(map(str, CAMERAS.translation_mm))}   // position"])


def test_endovis_text(tmp_path):
    path = tmp_path / "camera_calibration.txt"
    path.write_text(endovis_text())
    found = read_calibration(path)
    assert (found.format, found.size) == ("EndoVis camera_calibration.txt", SIZE)
    check_depth(load(path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Extrinsic-T", "Extrinsic-X", "without Extrinsic-T"),
        ("Camera-0-Alpha: 0", "Camera-0-Alpha: 0.1", "a skew, which bdis cannot rectify"),
        ("Camera-0-F: 1084.2", "Camera-0-F: 1 2 3", "Camera-0-F has 4 numbers; expected 2"),
        ("Camera-0-F: 1084.2", "Camera-0-F: wide", "Camera-0-F must be 2 numbers"),
        ("Extrinsic-Omega: ", "Extrinsic-Omega: 90", "rad; is it in degrees"),
        ("Height", "Camera-0-C: 1 2\nHeight", "'Camera-0-C' is there twice"),
    ],
)
def test_endovis_text_that_is_wrong(old, new, words, tmp_path):
    path = tmp_path / "camera_calibration.txt"
    path.write_text(endovis_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=words):
        load(path)


def test_scared_frame_data(tmp_path):
    values = {"KL": CAMERAS.left_matrix.tolist(), "DL": [CAMERAS.left_distortion.tolist()],
              "KR": CAMERAS.right_matrix.tolist(), "DR": [CAMERAS.right_distortion.tolist()],
              "R": CAMERAS.rotation.tolist(), "T": [[value] for value in CAMERAS.translation_mm]}  # fmt: skip
    path = tmp_path / "frame_data000003.json"
    path.write_text(json.dumps({"camera-calibration": values, "camera-pose": np.eye(4).tolist()}))
    check_depth(load(path, size=SIZE))
    del values["DL"], values["DR"]
    path.write_text(json.dumps({"camera-calibration": values}))
    with pytest.raises(
        ValueError, match=r"a SCARED frame_data without DL, DR in its camera-calibration; give the endo"
    ):
        load(path, size=SIZE)
    keyframe = tmp_path / "endoscope_calibration.yaml"
    CAMERAS.save(tmp_path / "cameras.toml")
    write_calibration(read_calibration(tmp_path / "cameras.toml"), keyframe, "opencv")
    check_depth(load(path, size=SIZE))  # beside it
    keyframe.rename(tmp_path / "other.yaml")
    check_depth(bdis.StereoCalibration.load(path, tmp_path / "other.yaml", size=SIZE))


# --- NumPy ------------------------------------------------------------------------------------------------------------

NAMES = [
    ("K1", "D1", "K2", "D2", "R", "T"),
    ("M1", "dist1", "M2", "dist2", "R", "T"),
    ("mtxL", "distL", "mtxR", "distR", "R", "T"),
    ("cameraMatrixL", "distCoeffsL", "cameraMatrixR", "distCoeffsR", "R", "T"),
    ("left_camera_matrix", "left_distortion", "right_camera_matrix", "right_distortion", "rotation", "translation"),
    ("K_left", "dist_coeffs_left", "K_right", "dist_coeffs_right", "rotation_matrix", "translation_vector"),
    ("cameraMatrix1", "distCoeffs1", "cameraMatrix2", "distCoeffs2", "R", "T"),
]
VALUES = (CAMERAS.left_matrix, CAMERAS.left_distortion[None], CAMERAS.right_matrix, CAMERAS.right_distortion[None],
          CAMERAS.rotation, CAMERAS.translation_mm[:, None])  # fmt: skip


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
def test_npz_under_the_names_that_people_use(names, tmp_path):
    np.savez(tmp_path / "stereo.npz", **dict(zip(names, VALUES)), E=np.eye(3), rms=0.21, map1=np.zeros((1024, 1280)))
    assert read_calibration(tmp_path / "stereo.npz").unit == "mm (assumed: NumPy files do not say)"
    check_depth(load(tmp_path / "stereo.npz", size=SIZE))


def test_npz_with_a_size_and_in_metres(tmp_path):
    values = dict(zip(NAMES[0], VALUES))
    values["T"] = values["T"] / 1000
    path = tmp_path / "stereo.npz"
    np.savez_compressed(path, **values, image_size=np.array(SIZE))
    with pytest.raises(ValueError, match="the cameras are 0.004351 mm apart"):
        load(path)
    check_depth(load(path, unit="m"))
    np.savez(path, **values, image_shape=np.array([HEIGHT, WIDTH, 3]))
    assert load(path, unit="m").size == SIZE
    np.savez(path, **values, image_size=np.array([400, 1280]))
    with pytest.raises(ValueError, match="image_size is .400, 1280., but the principal point is .*exchanged"):
        load(path, unit="m")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"weights": np.zeros(3)}, "its arrays are weights"),
        ({"K1": np.eye(3), "K2": np.eye(3)}, "camera matrices without distortion of both cameras, among K1, K2"),
        ({"R": np.eye(3), "T": np.zeros(3)}, "but without K1 .or M1., K2"),
        ({**dict(zip(NAMES[0], VALUES)), "k_1": np.eye(3)}, "K1 and k_1 differ; which is meant"),
        (
            {**dict(zip(NAMES[0], VALUES)), "T": np.array(None)},
            "NumPy .npz with .*without T",
        ),  # pickled: not even looked at
    ],
)
def test_npz_that_is_wrong(values, words, tmp_path):
    np.savez(tmp_path / "stereo.npz", **values)
    with pytest.raises(ValueError, match=words):
        load(tmp_path / "stereo.npz", size=SIZE)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"xi1": np.array([1.2]), "xi2": 1.3}, "xi1 is of OpenCV's omnidirectional model"),
        ({"camera_model": "omnidir"}, "camera_model is 'omnidir', which bdis cannot use"),
        ({"distortion_model": np.array(["division"])}, "distortion_model is 'division', which bdis cannot use"),
        ({"fisheye": 7}, "fisheye must be 0 or 1, but it is 7"),
        ({"unit": "inch"}, "unit is 'inch'; expected mm, cm, m"),
    ],
)
def test_npz_of_a_lens_that_cannot_be_rectified_was_read_as_a_pinhole_camera(said, words, tmp_path):
    np.savez(tmp_path / "stereo.npz", **dict(zip(NAMES[0], VALUES)), **said)
    with pytest.raises(ValueError, match=words):
        load(tmp_path / "stereo.npz", size=SIZE)


@pytest.mark.parametrize("said", [{"fisheye": True}, {"is_fisheye": 1.0}, {"distortion_model": "equidistant"}])
def test_npz_that_says_that_its_lens_is_a_fisheye_was_read_as_a_pinhole_camera(said, tmp_path):
    values = {**dict(zip(NAMES[0], VALUES)), "D1": np.full(4, 0.01), "D2": np.full((4, 1), 0.01)}
    np.savez(tmp_path / "stereo.npz", **values, **said)
    assert load(tmp_path / "stereo.npz", size=SIZE).fisheye
    assert not read_calibration(tmp_path / "stereo.npz").assumed
    np.savez(tmp_path / "stereo.npz", **values)
    assert "not as those of a fisheye" in read_calibration(tmp_path / "stereo.npz").assumed


def test_npz_that_says_its_unit_was_read_in_mm(tmp_path):
    values = {**dict(zip(NAMES[0], VALUES)), "T": CAMERAS.translation_mm / 1000}
    np.savez(tmp_path / "stereo.npz", **values, unit="m")
    check_depth(load(tmp_path / "stereo.npz", size=SIZE))
    assert read_calibration(tmp_path / "stereo.npz").states_unit
    np.savez(tmp_path / "stereo.npz", **{**values, "T": CAMERAS.translation_mm}, unit="m")
    check_depth(load(tmp_path / "stereo.npz", unit="mm", size=SIZE))  # what the user says wins


def test_npz_that_is_damaged(tmp_path):
    path = tmp_path / "stereo.npz"
    np.savez(path, **dict(zip(NAMES[0], VALUES)))
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(ValueError, match="a .npz that is damaged, or holds no plain arrays"):
        load(path, size=SIZE)


# --- MATLAB -----------------------------------------------------------------------------------------------------------


def one_based(matrix):
    moved = matrix.copy()
    moved[:2, 2] += 1
    return moved


def camera(matrix, distortion, is_old, **more):
    k1, k2, p1, p2, k3 = distortion
    name, shown = ("IntrinsicMatrix", one_based(matrix).T) if is_old else ("K", one_based(matrix))
    return {name: shown, "RadialDistortion": np.array([k1, k2, k3]), "TangentialDistortion": np.array([p1, p2]),
            "ImageSize": np.array([HEIGHT, WIDTH]), "WorldUnits": "millimeters", **more}  # fmt: skip


def stereo_parameters(is_old=True, scale=1.0, **more):
    """What toStruct gives: in releases before R2022b transposed, later not."""
    values = {
        "CameraParameters1": camera(CAMERAS.left_matrix, CAMERAS.left_distortion, is_old),
        "CameraParameters2": camera(CAMERAS.right_matrix, CAMERAS.right_distortion, is_old),
    }
    if is_old:
        values |= {"RotationOfCamera2": CAMERAS.rotation.T, "TranslationOfCamera2": CAMERAS.translation_mm * scale}
    else:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = CAMERAS.rotation, CAMERAS.translation_mm * scale
        values["PoseCamera2"] = {"A": pose, "Dimensionality": 3.0}
    return {**values, **more}


def write_mat(path, values, **options):
    pytest.importorskip("scipy").io.savemat(path, values, **options)
    return path


def write_hdf5(path, values):
    """As MATLAB writes version 7.3: HDF5 behind a header, columns first, texts as numbers."""
    h5py = pytest.importorskip("h5py")

    def write(group, values):
        for name, value in values.items():
            if isinstance(value, dict):
                write(group.create_group(name), value)
                group[name].attrs["MATLAB_class"] = np.bytes_("struct")
            elif isinstance(value, str):
                group[name] = np.array([[ord(letter)] for letter in value], np.uint16)
                group[name].attrs["MATLAB_class"] = np.bytes_("char")
            else:
                group[name] = np.atleast_2d(np.asarray(value, float)).T
                group[name].attrs["MATLAB_class"] = np.bytes_("double")

    with h5py.File(path, "w", userblock_size=512) as file:
        write(file, values)
    content = path.read_bytes()
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header.ljust(512, b"\0") + content[512:])
    return path


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("kind", ["struct", "fields", "compressed", "hdf5", "json"])
def test_matlab_struct(kind, is_old, tmp_path):
    values = stereo_parameters(is_old)
    if kind == "json":
        path = tmp_path / "stereo.json"
        path.write_text(json.dumps(values, default=lambda array: array.tolist()))
    elif kind == "hdf5":
        path = write_hdf5(tmp_path / "stereo.mat", {"stereoParams": values})
    else:
        variables = values if kind == "fields" else {"stereoParams": values, "note": "of the 3rd of May"}
        path = write_mat(tmp_path / "stereo.mat", variables, do_compression=kind == "compressed")
    read = load(path)
    assert read.size == SIZE
    np.testing.assert_allclose(read.left_matrix, CAMERAS.left_matrix, rtol=1e-9)  # counted from 0 again
    np.testing.assert_allclose(read.rotation, CAMERAS.rotation, atol=1e-9)
    check_depth(read)


def test_matlab_converted_to_opencv_counts_from_0(tmp_path):
    names = ("intrinsicMatrix1", "distortionCoefficients1", "intrinsicMatrix2", "distortionCoefficients2",
             "rotationOfCamera2", "translationOfCamera2")  # fmt: skip
    values = {**dict(zip(names, VALUES)), "imageSize": np.array([HEIGHT, WIDTH])}
    read = load(write_mat(tmp_path / "stereo.mat", values))
    np.testing.assert_allclose(read.left_matrix, CAMERAS.left_matrix, rtol=1e-9)
    assert read.size == SIZE
    check_depth(read)


@pytest.mark.parametrize(("unit", "scale"), [("meters", 1e-3), ("inches", 1 / 25.4), ("cm", 0.1)])
def test_matlab_world_units(unit, scale, tmp_path):
    values = stereo_parameters(scale=scale)
    values["CameraParameters1"]["WorldUnits"] = unit
    path = write_mat(tmp_path / "stereo.mat", values)
    assert read_calibration(path).unit == f"'{unit}' (WorldUnits)"
    check_depth(load(path))


def changed(**changes):
    return {**stereo_parameters(), **changes}


def with_camera(**changes):
    return changed(CameraParameters1=camera(CAMERAS.left_matrix, CAMERAS.left_distortion, True, **changes))


def vectors(cameras_rotation):
    """Boards as both cameras see them, if the second is turned like this."""
    rng = np.random.default_rng(3)
    ours = rng.uniform(-0.4, 0.4, (5, 3))
    others = [cv2.Rodrigues(cameras_rotation @ cv2.Rodrigues(each)[0])[0].ravel() for each in ours]
    return ours, np.array(others)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (changed(RotationOfCamera2=np.diag([1, 1, 2.0])), "not a rotation"),
        (changed(TranslationOfCamera2=-CAMERAS.translation_mm), "swapped"),
        (changed(PoseCamera2=np.diag([1, 1, 1, 1.0])), "contradict each other"),
        (changed(CameraParameters2={"K": np.eye(3)}), "no camera matrix: expected zeros below its diagonal or above"),
        (with_camera(IntrinsicMatrix=np.ones((3, 3))), "no camera matrix"),
        (
            with_camera(IntrinsicMatrix=one_based(CAMERAS.left_matrix + [[0, 3, 0], [0, 0, 0], [0, 0, 0]]).T),
            "skew of 3 px",
        ),
        (with_camera(RadialDistortion=np.zeros(4)), "4 radial and 2 tangential coefficients"),
        (with_camera(MappingCoefficients=np.zeros(4)), "fisheye model, which bdis does not read"),
        (with_camera(WorldUnits="furlongs"), "WorldUnits is 'furlongs'; give the unit"),
        (with_camera(ImageSize=np.array([480, 640])), "images of different sizes"),
        ({"stereoParams": {"Camera": 1.0}}, "the variables 'stereoParams', and no stereoParameters"),
        ({"CameraParameters1": 3.0}, "without CameraParameters1"),
    ],
)
def test_matlab_that_is_wrong(values, words, tmp_path):
    path = write_mat(tmp_path / "stereo.mat", values)
    with pytest.raises(ValueError, match=words):
        load(path)


@pytest.mark.parametrize("is_wrong", [False, True])
def test_a_transposed_rotation_is_noticed_by_the_boards_of_both_cameras(is_wrong, tmp_path):
    values = stereo_parameters()
    ours, others = vectors(CAMERAS.rotation)
    values["CameraParameters1"]["RotationVectors"], values["CameraParameters2"]["RotationVectors"] = ours, others
    if is_wrong:
        values["RotationOfCamera2"] = CAMERAS.rotation
    path = write_mat(tmp_path / "stereo.mat", values)
    if not is_wrong:
        check_depth(load(path))
        return
    with pytest.raises(ValueError, match="is the transposed one of what their RotationVectors say"):
        load(path)


def test_matlab_objects_are_said_to_need_a_struct(tmp_path):
    """Made by hand: only MATLAB writes them."""

    def element(kind, content):
        padded = content.ljust(-(-len(content) // 8) * 8, b"\0")
        return kind.to_bytes(4, "little") + len(content).to_bytes(4, "little") + padded

    parts = [element(6, bytes([17, 0, 0, 0, 0, 0, 0, 0]))]
    parts += [element(1, text) for text in (b"stereoParams", b"MCOS", b"stereoParameters")]
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    (tmp_path / "stereo.mat").write_bytes(header + element(14, b"".join(parts)))
    with pytest.raises(ValueError, match=r"an object of class 'stereoParameters', which only MATLAB .*toStruct"):
        load(tmp_path / "stereo.mat")


def test_a_mat_file_cannot_fill_the_memory(tmp_path):
    buffer = io.BytesIO()
    pytest.importorskip("scipy").io.savemat(buffer, {"a": np.zeros(2**24)}, do_compression=True)  # 128 MB in 130 kB
    (tmp_path / "stereo.mat").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match="more than 64 MB, which no calibration has"):
        load(tmp_path / "stereo.mat")
    write_mat(tmp_path / "stereo.mat", stereo_parameters())
    content = (tmp_path / "stereo.mat").read_bytes()
    for length in (100, 130, 400, len(content) - 9):
        (tmp_path / "stereo.mat").write_bytes(content[:length])
        with pytest.raises(ValueError, match="stereo.mat: "):
            load(tmp_path / "stereo.mat")
