"""Comparing methods: data sets, other matchers, metrics, a runner and reports."""
