"""Reads the files beside this module, and refuses one that is not the file that was shipped."""

import hashlib
import json
from pathlib import Path

from memorist.errors import WeightsDamaged

FOLDER = Path(__file__).parent / "weights"
MANIFEST = "manifest.json"


def read_weights(name: str, folder: Path = FOLDER) -> bytes:
    """The bytes of one file, equal by SHA-256 to what the manifest says. Raises WeightsDamaged."""
    try:
        wanted = json.loads((folder / MANIFEST).read_bytes())[name]
        content = (folder / name).read_bytes()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WeightsDamaged(
            f"The model file {folder / name} cannot be read: {error}. Install Memorist again."
        ) from error
    if hashlib.sha256(content).hexdigest() != wanted:
        raise WeightsDamaged(
            f"The model file {folder / name} is damaged: its SHA-256 is wrong. Install Memorist again."
        )
    return content
