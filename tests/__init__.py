"""Tests: one folder a package, one module a module."""
