"""The sandboxed process: imports a submission and calls it, nothing else."""
