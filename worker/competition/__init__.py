"""Modules that competition files import by name: task, utils, reference."""
