"""The doors: each decodes, calls the core and encodes. No logic lives here."""
