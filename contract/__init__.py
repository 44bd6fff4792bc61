"""What service and worker agree on. The only code that speaks Redis."""
