"""Pictures of boards as cameras with known lenses see them."""

import numpy as np
import pytest

import bdis

cv2 = pytest.importorskip("cv2")
SIZE = (400, 300)
FINER = 2  # rendered larger and averaged, as a sensor does
LARGER = 1.5
PER_SQUARE = 24  # px of the texture
DICTIONARY = cv2.aruco.DICT_4X4_50
TRUE = bdis.StereoCalibration(
    left_matrix=[[420.0, 0, 204.3], [0, 421.0, 148.2], [0, 0, 1]],
    left_distortion=[-0.18, 0.06, 0.0012, -0.0008, 0.0],
    right_matrix=[[424.0, 0, 196.1], [0, 423.0, 151.4], [0, 0, 1]],
    right_distortion=[-0.16, 0.05, -0.0006, 0.0011, 0.0],
    rotation=cv2.Rodrigues(np.array([0.008, -0.03, 0.012]))[0],
    translation_mm=[-4.6, 0.07, -0.05],
    size=SIZE,
)
# Turned about x and y (radians), in the image plane, and the middle of the board in mm.
VIEWS = [
    (0.5, 0.0, 0.05, -9, -6, 68), (-0.5, 0.1, 0, 9, 6, 68), (0.1, 0.55, -0.1, 8, -6, 62), (0, -0.55, 0.1, -8, 6, 62),
    (0.35, 0.35, 0.2, 0, 0, 52), (-0.35, 0.35, -0.2, 11, 0, 72), (0.35, -0.4, 0.1, -11, 2, 72),
    (-0.4, -0.3, 0.0, 2, 7, 58), (0.05, 0.0, 0.3, 0, -3, 56), (0.2, -0.1, -0.3, -3, -2, 60), (-0.2, 0.4, 0.1, 9, 8, 75),
]  # fmt: skip


def checkerboard(columns, rows, margin=1):
    """Texture of a board with so many inner corners, and the place of its first corner, px."""
    squares = np.indices((rows + 1, columns + 1)).sum(0) % 2
    board = np.kron(squares, np.ones((PER_SQUARE, PER_SQUARE))) * 220 + 15
    edge = margin * PER_SQUARE
    return np.pad(board, edge, constant_values=235).astype(np.uint8), edge + PER_SQUARE - 0.5


def charuco(columns, rows, square_mm, marker_mm, is_older, dictionary):
    markers = cv2.aruco.getPredefinedDictionary(dictionary)
    board = cv2.aruco.CharucoBoard((columns, rows), square_mm, marker_mm, markers)
    board.setLegacyPattern(is_older)
    picture = board.generateImage((columns * PER_SQUARE * 2, rows * PER_SQUARE * 2))
    return np.pad(picture, 2 * PER_SQUARE, constant_values=255), 2 * PER_SQUARE + 2 * PER_SQUARE - 0.5


class Camera:
    """Renders what one camera sees of a texture on a plane: first without distortion, then bent."""

    def __init__(self, matrix, distortion, rotation, translation):
        width, height = SIZE
        rows, columns = np.mgrid[: height * FINER, : width * FINER]
        places = (np.stack([columns, rows], -1).reshape(-1, 1, 2) + 0.5) / FINER - 0.5
        # The picture without distortion is larger by a margin, since a lens sees more than a pinhole would.
        self._matrix = np.diag([FINER, FINER, 1.0]) @ matrix
        self._matrix[:2, 2] = (np.array(SIZE) * FINER * LARGER) / 2
        straight = cv2.undistortPoints(places, matrix, distortion, P=self._matrix).reshape(*rows.shape, 2)
        self._bend = straight.astype(np.float32)
        self._rotation, self._translation = rotation, translation

    def picture(self, texture, first, per_mm, pose):
        """``first`` and ``per_mm`` place the board in the texture."""
        turn, move = self._rotation @ pose[0], self._rotation @ pose[1] + self._translation
        to_board = np.array([[1 / per_mm, 0, -first / per_mm], [0, 1 / per_mm, -first / per_mm], [0, 0, 1]])
        homography = self._matrix @ np.column_stack([turn[:, 0], turn[:, 1], move]) @ to_board
        large = tuple(int(length * FINER * LARGER) for length in SIZE)
        straight = cv2.warpPerspective(texture, homography, large, flags=cv2.INTER_LINEAR, borderValue=120)
        bent = cv2.remap(straight, self._bend, None, cv2.INTER_LINEAR, borderValue=120)
        noise = np.random.default_rng(int(10 * abs(move).sum())).normal(0, 1.5, SIZE[::-1])
        return np.clip(cv2.resize(bent, SIZE, interpolation=cv2.INTER_AREA) + noise, 0, 255).astype(np.uint8)


CAMERAS = (
    Camera(TRUE.left_matrix, TRUE.left_distortion, np.eye(3), np.zeros(3)),
    Camera(TRUE.right_matrix, TRUE.right_distortion, TRUE.rotation, TRUE.translation_mm),
)


def rendered(columns=9, rows=6, square_mm=3.0, views=VIEWS, marker_mm=None, is_older=False, dictionary=DICTIONARY):
    """Pairs of pictures of a board; of a ChArUco board columns and rows are squares, older as of OpenCV before 4.6."""
    if marker_mm is None:
        (texture, first), per_square = checkerboard(columns, rows), PER_SQUARE
        middle = np.array([(columns - 1) / 2, (rows - 1) / 2, 0]) * square_mm
    else:
        texture, first = charuco(columns, rows, square_mm, marker_mm, is_older, dictionary)
        per_square = 2 * PER_SQUARE
        middle = np.array([(columns - 2) / 2, (rows - 2) / 2, 0]) * square_mm
    pairs = []
    for about_x, about_y, around, *place in views:
        turn = cv2.Rodrigues(np.array([about_x, about_y, 0]))[0] @ cv2.Rodrigues(np.array([0, 0, float(around)]))[0]
        pose = turn, np.array(place) - turn @ middle
        pairs.append(tuple(each.picture(texture, first, per_square / square_mm, pose) for each in CAMERAS))
    return pairs
