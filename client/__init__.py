"""The halfbyte command: speaks HTTP to the service, and starts everything on one machine."""
