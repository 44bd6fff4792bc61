"""Stands in for the service in tests of what starts it."""
