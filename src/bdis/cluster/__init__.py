"""Many recordings on many machines, over Dask; the only room that imports it."""
