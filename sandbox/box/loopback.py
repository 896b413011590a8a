"""The box's own loopback interface: who may use its ports, and which ports are open.

A program of contract http that is not Python listens on a port of 127.0.0.1. Its system call filter
allows TCP sockets. So its network namespace must belong to this box alone and have no route out.
"""

from __future__ import annotations

from .bundle_manifest import Contract, Manifest

_DEVICE = "lo"
_TABLES = {"/proc/net/tcp": ("127.0.0.1",), "/proc/net/tcp6": ("127.0.0.1", "::1")}
"""Hosts at which the sockets of each table accept. Most IPv6 sockets accept IPv4 too."""
_LISTEN = "0A"


def needs_loopback(manifest: Manifest) -> bool:
    """Whether the agent's program may listen on a port."""
    return manifest.contract is Contract.HTTP and not manifest.is_python


def has_no_route() -> bool:
    """Whether this network namespace has no route out.

    Its devices prove nothing: some kernels put tunnels without a route into every namespace.
    """
    return not any(device != _DEVICE for device in (*_devices_v4(), *_devices_v6()))


def _devices_v4() -> list[str]:
    return [line.split()[0] for line in _read_lines("/proc/net/route")[1:]]


def _devices_v6() -> list[str]:
    return [line.split()[-1] for line in _read_lines("/proc/net/ipv6_route")]


def _read_lines(path: str) -> list[str]:
    try:
        with open(path) as lines:
            return lines.readlines()
    except FileNotFoundError:
        return []  # this kernel lacks the protocol


def listening_addresses(first: int) -> list[tuple[str, int]]:
    """Addresses of this namespace that accept connections: port ``first``, then by port number.

    The kernel's table has one line per socket: number, local address and port in hex, remote
    address, state.
    """
    addresses = []
    for table, hosts in _TABLES.items():
        for words in map(str.split, _read_lines(table)[1:]):
            if words[3] == _LISTEN:
                port = int(words[1].rpartition(":")[2], 16)
                addresses += [(host, port) for host in hosts]
    return sorted(addresses, key=lambda address: (address[1] != first, address[1]))
