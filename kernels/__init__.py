"""The ground: formats, reference, comparison, kernels. Knows no jobs, HTTP or Redis."""
