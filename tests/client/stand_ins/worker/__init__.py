"""Stands in for the worker in tests of what starts it."""
