"""A toolkit for Numba that knows no stereo: a vector type, tiles, a barrier for threads, a compile cache."""
