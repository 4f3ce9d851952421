"""Images, maps, point clouds and previews on disk; written whole or not at all."""
