"""Tests of the contract: mostly of the queue, on real servers."""
