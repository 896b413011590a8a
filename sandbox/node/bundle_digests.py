"""Computes the SHA-256 digests of bundles from file descriptors."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time

from sandbox.errors import BundleRefused, HostFault

MOST_BUNDLE_BYTES = 1 << 30
"""Most bytes of a bundle. Seasons allow less, and the box's memory limits it too."""
_DIGESTS_KEPT = 4096


class DigestCache:
    """Digests of bundles by device, inode, size and times of their files.

    A file's owner cannot set its change time, so equal numbers mean equal bytes. A bundle is still
    read again when it is bound to a box.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}
        self._lock = threading.Lock()

    def of(self, bundle: int) -> tuple[str, int]:
        """Digest and size of the file. Raises BundleRefused if it is too large."""
        status = os.fstat(bundle)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        identity = (status.st_dev, status.st_ino, status.st_size, *times)
        with self._lock:
            known = self._known.get(identity)
        if known is not None:
            return known, status.st_size
        digest, size = digest_and_size(bundle)
        # A file written just now may change again within the clock's last tick.
        if size == status.st_size and time.time_ns() - status.st_ctime_ns > 1_000_000_000:
            with self._lock:
                if len(self._known) >= _DIGESTS_KEPT:
                    self._known.clear()
                self._known[identity] = digest
        return digest, size


def digest_and_size(bundle: int) -> tuple[str, int]:
    """Digest and size of the bundle's bytes.

    Raises BundleRefused if it is too large, and HostFault if it is no regular file.
    """
    status = os.fstat(bundle)
    if not stat.S_ISREG(status.st_mode):
        raise HostFault("bundle: the descriptor is not of a regular file")
    if status.st_size > MOST_BUNDLE_BYTES:
        raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES >> 20} MB")
    digest, offset = hashlib.sha256(), 0
    while chunk := os.pread(bundle, 1 << 20, offset):
        digest.update(chunk)
        offset += len(chunk)
        if offset > MOST_BUNDLE_BYTES:
            raise BundleRefused(f"the archive is larger than {MOST_BUNDLE_BYTES >> 20} MB")
    return digest.hexdigest(), offset
