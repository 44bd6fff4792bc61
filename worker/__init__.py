"""One process a device: claim, judge, report. Knows the contract and the kernels."""
