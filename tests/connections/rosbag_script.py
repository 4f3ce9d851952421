"""Writes a small stereo bag with ROS 1's own rosbag.  Run by the Python that has rosbag: SCRIPT OUT.bag [COMPRESSION].

``written_by_rosbag.bag`` beside it was made by this script, without compression.  The right image is the left one,
moved by 4 px.
"""

import sys

WIDTH, HEIGHT, FRAMES, SHIFT = 48, 32, 2, 4


def main():
    import rosbag
    import rospy
    from sensor_msgs.msg import CameraInfo, Image

    with rosbag.Bag(sys.argv[1], "w", compression=sys.argv[2] if len(sys.argv) > 2 else "none") as bag:
        for number in range(FRAMES):
            stamp = rospy.Time(1700000000, 40000000 * number)
            for side, shift in (("left", 0), ("right", SHIFT)):
                image = Image(height=HEIGHT, width=WIDTH, encoding="mono8", step=WIDTH)
                image.header.stamp, image.header.frame_id = stamp, "scope"
                image.data = bytes(
                    (7 * (x + shift) * (x + shift) + 13 * y + number) % 256 for y in range(HEIGHT) for x in range(WIDTH)
                )
                info = CameraInfo(height=HEIGHT, width=WIDTH, distortion_model="plumb_bob", D=[0.0] * 5)
                info.header = image.header
                info.K = [50, 0, 23.5, 0, 50, 15.5, 0, 0, 1]
                info.R = [1, 0, 0, 0, 1, 0, 0, 0, 1]
                info.P = [50, 0, 23.5, -0.2 if side == "right" else 0, 0, 50, 15.5, 0, 0, 0, 1, 0]
                bag.write("/scope/" + side + "/image_rect", image, stamp)
                bag.write("/scope/" + side + "/camera_info", info, stamp)


if __name__ == "__main__":
    main()
