"""Results of a benchmark as tables, plots and an HTML page."""
