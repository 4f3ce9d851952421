"""Images, disparity and depth maps, point clouds and previews in files; no file is ever written partially."""
