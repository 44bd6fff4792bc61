"""HTTP in, JSON out. Knows the contract and nothing else of ours."""
