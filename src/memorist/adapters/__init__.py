"""Memory for the frameworks that agents are built with: a small module each, and an extra that installs what it needs.

Each takes a handle of the library (`Memorist.open(…).user(…)`); where it says so, a `Client` of a server as well.
"""
