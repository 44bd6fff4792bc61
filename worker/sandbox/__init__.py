"""How the runner is confined: one module a level, chosen and proven at worker start."""
