"""Pages for people, rendered here and readable without JavaScript. They see what the API shows."""
