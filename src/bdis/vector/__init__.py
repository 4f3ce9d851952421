"""A toolkit for Numba that knows nothing of stereo: vectors, tiles, a barrier for threads, a compile cache."""
