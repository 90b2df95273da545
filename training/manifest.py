"""The checksums that the package compares its weights with."""

import hashlib
import json
from pathlib import Path

from memorist.models.files import MANIFEST


def write_manifest(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.suffix in {".onnx", ".npy", ".json"})
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.name != MANIFEST}
    (folder / MANIFEST).write_text(json.dumps(hashes, indent=2) + "\n")
