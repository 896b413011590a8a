"""A certificate authority for tests, made with the openssl command."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


class Authority:
    """Signs certificates for any number of hosts; the files are in one folder."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("not run: the openssl command is missing")
        self.folder = folder
        usage = ("-addext", "keyUsage=critical,keyCertSign")
        self._make("authority", "basicConstraints=critical,CA:TRUE", *usage)

    @property
    def certificate(self) -> Path:
        return self.folder / "authority.pem"

    def trusted(self) -> ssl.SSLContext:
        """A client context that trusts only this authority."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def sign(self, name: str, *, itself: bool = False) -> Path:
        """A file with key and certificate for this subjectAltName;

        ``itself`` makes it self-signed.
        """
        key = self.folder / "authority.key"
        signed = () if itself else ("-CA", str(self.certificate), "-CAkey", str(key))
        subject = ("-addext", f"subjectAltName={name}", *signed)
        stem = name.replace(":", "-") + ("-itself" if itself else "")
        self._make(stem, "basicConstraints=critical,CA:FALSE", *subject)
        both = self.folder / f"{stem}.both"
        parts = [self.folder / f"{stem}{kind}" for kind in (".key", ".pem")]
        both.write_bytes(b"".join(part.read_bytes() for part in parts))
        return both

    def _make(self, stem: str, constraint: str, *more: str) -> None:
        key, certificate = self.folder / f"{stem}.key", self.folder / f"{stem}.pem"
        command = ["openssl", "req", "-x509", *_KEY, "-subj", f"/CN={stem}", "-addext", constraint]
        command += [*more, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)


def serving(both: Path) -> ssl.SSLContext:
    """A server context with this key and certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context
