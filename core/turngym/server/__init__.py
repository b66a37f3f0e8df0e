"""The server runtime: everything between HTTP and an environment. ``app.create_app`` is the way in."""
