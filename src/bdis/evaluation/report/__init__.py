"""Results as tables, plots and pages."""
