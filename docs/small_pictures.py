"""Pictures of at most 256 colours, a third as large: a page has few, but for the edges of its letters."""

import base64
import struct
import zlib

import numpy as np
from playwright.sync_api import Page

_COLOURS = 256
_PIXELS = """async (picture) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, image.width, image.height).data;
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return [image.width, image.height, btoa(text)];
}"""


def shrink(page: Page, picture: bytes) -> bytes:
    """The same picture as a PNG with a palette. An empty page decodes it."""
    width, height, text = page.evaluate(_PIXELS, base64.b64encode(picture).decode())
    pixels = np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, 4)[:, :3]
    colours, places, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    palette = _palette(colours.astype(int), counts)
    nearest = np.abs(colours[:, None].astype(int) - palette[None]).sum(-1).argmin(-1).astype(np.uint8)
    rows = nearest[places.reshape(height, width)]
    # Each row begins with how it was filtered: not at all.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", palette.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(lines, 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in (*parts, (b"IEND", b"")))


def _palette(colours: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The most frequent colour, and then each time the one that is missed most, by how far and how often."""
    chosen = [int(counts.argmax())]
    away = np.abs(colours - colours[chosen[0]]).sum(-1)
    while len(chosen) < min(_COLOURS, len(colours)):
        chosen.append(int((away**2 * counts).argmax()))
        away = np.minimum(away, np.abs(colours - colours[chosen[-1]]).sum(-1))
    return colours[chosen]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
