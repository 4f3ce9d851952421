"""Methods side by side on data sets: figures that can be rerun, and a report of them."""
