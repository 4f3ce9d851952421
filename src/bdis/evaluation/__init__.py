"""Methods side by side: data sets, other matchers, metrics, reports."""
