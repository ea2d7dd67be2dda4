"""Pictures that pages show, as commands write them: of a trace, of a change on a page, of a cover, of all states.

Also here: the picture of the explorer, which a browser takes. Its pixels differ from one browser to another, so that
a test compares what the picture is of: the PNG has the digest of the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.publish import sessions

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1000, 960)
"""Of the picture of the explorer, in pixels."""
PATIENCE = 60
"""Seconds that a browser has for a picture."""
HEAD = 33
"""Bytes of a PNG up to the end of its first chunk."""
DIGEST = b"tEXtpage-sha256\0"


def picture_of_file(path: Path, model: str = "") -> str:
    """The picture of a trace, under the last of its configurations. model: its file, if it is not the project's own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.svg"
        of = [f"--model={model}"] if model else []
        sessions.output(["show", str(path), "--format=svg", f"--out={out}", *of])
        return out.read_text(encoding="utf-8")


def picture_on_page(page: Path, model: str, root: Path) -> str:
    """The picture of the only violation of a model that a page shows, by its file's name. root: of the checkout."""
    with sessions.page_folder(page.read_text(encoding="utf-8"), root) as folder:
        sessions.output(["check", model, "--trace-dir", "violations", "--quiet"])
        (path,) = (folder / "violations").iterdir()
        return picture_of_file(path, model)


def picture_of_cover(model: str, setting: str, cover: str) -> str:
    """The picture of the run by which a cover is reached, as `check --witness` draws it. setting: KEY=VALUE."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["check", model, f"--set={setting}", f"--property={cover}", "--witness", f"--trace-dir={folder}"]
        sessions.output(words)
        (path,) = Path(folder).glob("*.svg")
        return path.read_text(encoding="utf-8")


def picture_of_states(example: str, setting: str, root: Path) -> str:
    """The picture of every state of a model that `reassure new` writes, as `graph` draws it. setting: KEY=VALUE."""
    with sessions.page_folder("", root) as folder:
        sessions.output(["new", example])
        sessions.output(["graph", f"{example}.py", f"--set={setting}", "--out=states.svg"])
        return (folder / "states.svg").read_text(encoding="utf-8")


def explorer_page(model: str, setting: str, cover: str) -> str:
    """The explorer at the end of the run to a cover, as `explore --out` writes it. setting: KEY=VALUE."""
    with tempfile.TemporaryDirectory() as folder:
        given = [model, f"--set={setting}"]
        sessions.output(["check", *given, f"--property={cover}", "--witness", f"--trace-dir={folder}"])
        (trace,) = Path(folder).glob("*.itf.json")
        out = Path(folder) / "explorer.html"
        sessions.output(["explore", *given, f"--trace={trace}", f"--out={out}"])
        return out.read_text(encoding="utf-8")


def page_digest(page: str) -> str:
    """SHA-256 of a page of the explorer, with its data unpacked: not every zlib packs them alike."""
    packed = re.compile(r'(id="offline-data">)([^<]+)')
    return hashlib.sha256(
        packed.sub(lambda data: data[1] + zlib.decompress(base64.b64decode(data[2])).decode(), page).encode()
    ).hexdigest()


def screenshot(page: str, patience: float = PATIENCE) -> bytes:
    """A PNG of a page, with the page's digest in it. patience: in seconds.

    Raises `Failure` without Chromium, or if that takes no picture in this time.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Failure(Exit.SYSTEM, f"a picture of a page needs a browser: {', '.join(BROWSERS)}")
    with tempfile.TemporaryDirectory() as folder:
        html, png = Path(folder) / "page.html", Path(folder) / "page.png"
        html.write_text(page, encoding="utf-8")
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        words = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", size, f"--user-data-dir={folder}/profile"]
        words += ["--virtual-time-budget=5000", f"--screenshot={png}", html.as_uri()]
        try:
            ended = subprocess.run(words, capture_output=True, text=True, timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(Exit.SYSTEM, f"{browser} takes no picture within {patience} s") from None
        if not png.is_file():
            raise Failure(Exit.SYSTEM, f"{browser} takes no picture: {ended.stderr.strip()[-200:]}")
        return with_digest(png.read_bytes(), page_digest(page))


def with_digest(png: bytes, digest: str) -> bytes:
    """A PNG with a digest in a chunk of text."""
    chunk = DIGEST + digest.encode()
    length, check = len(chunk) - 4, zlib.crc32(chunk)
    return png[:HEAD] + length.to_bytes(4, "big") + chunk + check.to_bytes(4, "big") + png[HEAD:]


def digest_in(png: bytes) -> str:
    """The digest that a PNG has; "" if it has none."""
    return png.partition(DIGEST)[2][:64].decode() if DIGEST in png else ""
