"""The token in the explorer's address: random; the same after a restart where the port is chosen.

So that an address can be kept, the token of a chosen port is made from the port, the model and a key that only this
user can read.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import os
import secrets
import stat
import tempfile
from pathlib import Path

KEY_BYTES = 32
TOKEN_LETTERS = 32


def key_file() -> Path:
    """The file of the key."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reassure" / "explorer.key"


def token_of(port: int | None, model: str) -> str:
    """The token for a port (none: any that is free) and a model, by its name or path.

    It is random where there is no port, or no key that only this user can read.
    """
    key = _key(key_file()) if port is not None else None
    if key is None:
        return secrets.token_urlsafe(KEY_BYTES)[:TOKEN_LETTERS]
    which = str(Path(model).resolve()) if Path(model).is_file() else model
    code = hmac.digest(key, f"{port} {which}".encode(), "sha256")
    return base64.urlsafe_b64encode(code).decode()[:TOKEN_LETTERS]


def _key(path: Path) -> bytes | None:
    """The key in a file, which is made if it is not there; None if it cannot be made, or others can read it."""
    try:
        if not path.exists():
            _write(path)
        status = path.stat()
        key = path.read_bytes()
    except OSError:
        return None
    private = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077
    return key if private and len(key) == KEY_BYTES else None


def _write(path: Path) -> None:
    """Writes a new key, unless another process is faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".explorer.key.")  # of mode 0600
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
