"""The node daemon: it alone uses the engine and the cgroups. Lends boxes over one unix socket.

``python -m sandbox.node --socket PATH --run-dir DIR --launcher auto|docker|bubblewrap|process``

One connection is one match's loans (``lender``). It takes profile names and bundles' descriptors,
never a container's options. The daemon uses no database, broker or network.

On SIGTERM, and when the process named by ``--parent`` dies, the daemon removes every box. If the
daemon is killed, its boxes end because their control connections close. Its guard
(``process_guard``, the process that was started) then removes the control groups and folders.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import socket
import sys
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox import process_guard, profiles
from sandbox.errors import HostFault
from sandbox.launchers import base, choose, degraded_defences, gpu
from sandbox.launchers.gpu import Gpu
from sandbox.listener import Listener, open_listening_socket
from sandbox.match import steal_monitor
from sandbox.match.steal_monitor import StealMonitor
from sandbox.node import box_pool, leftovers
from sandbox.node.box_pool import BoxPool
from sandbox.node.lender import BoxLender
from sandbox.settings import Settings

STOP_SECONDS = 22.0
"""Time from SIGTERM to the end. `peck up` gives its node a little more."""
_print_line = partial(process_guard.print_line, "node")


def _start_steal_monitor() -> tuple[StealMonitor | None, tuple[str, ...]]:
    """Start the steal monitor if possible. Otherwise returns what is lacking."""
    if not steal_monitor.may_have_hypervisor():
        return None, ()
    try:
        return StealMonitor(), ()
    except OSError:
        return None, degraded_defences.sentences_for_lack(degraded_defences.NO_STEAL_MONITOR)


def _quarter_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def _exit_on_sigterm(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)  # status of a failure, so that the guard cleans up


def _warm_boxes_of(profile: str, count: int) -> int:
    """How many boxes of this profile to keep ready. None with a GPU: each match gets another."""
    return 0 if profiles.get_profile(profile).gpu else count


def _prepare_other_profiles(
    kind: base.Launcher, digests: dict[str, str], pool: BoxPool, connections: Listener, warm: int
) -> None:
    """Prepare the other profiles while the node lends the first one.

    These are the profiles of every node and those that an operator has built here.
    """
    for name in (*profiles.BY_ITSELF, *profiles.ON_COMMAND):
        profile = profiles.get_profile(name)
        if name in digests or (profile.on_command and not kind.has(profile)):
            continue
        try:
            digests[name] = kind.prepare(profile, _print_line)
        except HostFault as fault:
            _print_line(f"profile {name} is not served: {fault}")
            continue
        pool.add_profile(name, _warm_boxes_of(name, warm))
        connections.update_hello(profiles=sorted(digests), image_digests=dict(digests))
        _print_line(f"lends {name} too")


def _exit_without_threads() -> None:
    """End the process without waiting for its threads."""
    _print_line("not every box could be removed in time; the guard removes the rest")
    os._exit(1)


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.node", description="lends boxes")
    parser.add_argument("--socket", type=Path, required=True, help="where to listen")
    parser.add_argument("--run-dir", type=Path, required=True, help="sockets and files of boxes")
    parser.add_argument("--state-dir", type=Path, help="libraries of profiles; default: run-dir")
    parser.add_argument("--launcher", choices=choose.CHOICES, default="auto")
    parser.add_argument(
        "--runtime",
        default=Settings.read().node_runtime,
        help="the engine's runtime for boxes (e.g. runsc); default: $PECK_NODE_RUNTIME, or its own",
    )
    parser.add_argument("--profile", action="append", choices=sorted(profiles.PROFILES))
    parser.add_argument("--warm", type=int, default=2, help="generic boxes ready per profile")
    parser.add_argument(
        "--no-refill", action="store_true", help="start no generic box for one that was lent"
    )
    parser.add_argument("--memory-mb", type=int, default=1024, help="memory of those boxes")
    parser.add_argument("--keep", type=int, default=24, help="idle boxes kept for submissions")
    parser.add_argument("--keep-mb", type=int, help="their bundles; default: 1/4 of all memory")
    parser.add_argument("--most", type=int, default=64, help="boxes in all")
    parser.add_argument("--allow-uid", type=int, action="append", default=[])
    parser.add_argument(
        "--patience", type=float, default=0.0, help="seconds to wait for another node here to end"
    )
    parser.add_argument("--parent", type=int, help="end when this parent process has died")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns 2, with one line, if the node cannot start."""
    options = _parse_arguments(arguments)
    run_dir: Path = options.run_dir.resolve()
    left = ["--run-dir", str(run_dir), "--socket", str(options.socket.resolve())]
    left += ["--state-dir", str((options.state_dir or run_dir).resolve())]
    left += ["--launcher", options.launcher]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _exit_on_sigterm)  # while images are built; later the normal way
    try:
        return process_guard.run_guarded(
            lambda: _run_node(options, threading.Event()),
            run_dir,
            left,
            options.parent,
            options.patience,
        )
    except HostFault as fault:
        _print_line(str(fault))
        return 2


def _report_late_lack(connections: Listener, lacks: list[str], sentence: str) -> None:
    """Print what is found missing while the node runs, and add it to the node's hello."""
    _print_line(f"lacks: {sentence}")
    lacks.append(sentence)
    connections.update_hello(lacks=list(lacks))


@dataclass(frozen=True, slots=True)
class _Node:
    """The parts of a node that lends boxes."""

    name: str
    kind: base.Launcher
    digests: dict[str, str]
    """Image digests by profile. A profile is added when it is prepared."""
    pool: BoxPool
    connections: Listener
    lacks: tuple[str, ...]
    cores: StealMonitor | None
    gpus: tuple[Gpu, ...]
    listener: socket.socket
    """Listens, but accepts nobody before ``_serve``."""


def _run_node(options: argparse.Namespace, stop: threading.Event) -> int:
    lock = leftovers.wait_for_lock(options.run_dir.resolve())  # a predecessor may be closing down
    node = _build_node(options, stop)
    _serve(node, options, stop)
    _stop_node(node)
    options.socket.unlink(missing_ok=True)
    os.close(lock)
    if os.getpgrp() == os.getpid():  # pip may still be installing libraries
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(os.getpid(), signal.SIGTERM)
    _print_line("stopped; every box is removed")
    return 0


def _build_node(options: argparse.Namespace, stop: threading.Event) -> _Node:
    """Choose a launcher, prepare the first profiles and start the pool of boxes."""
    name = f"node-{secrets.token_hex(4)}"
    run_dir: Path = options.run_dir.resolve()
    kind, digests = choose.choose_launcher(
        options.launcher,
        options.profile or (profiles.FIRST,),
        run_dir,
        (options.state_dir or run_dir).resolve(),
        _print_line,
        runtime=options.runtime,
    )
    cores, unseen = _start_steal_monitor()
    gpus = gpu.with_memory(kind.gpus())
    lacks = (*kind.lacks(), *unseen, *gpu.memory_lacks(gpus, profiles.GPU_MB))
    for sentence in lacks:
        _print_line(f"lacks: {sentence}")
    listener = open_listening_socket(options.socket.resolve())
    # Before the first box starts and the first client connects.
    process_guard.set_on_stop_signal(stop)
    pool = BoxPool(
        kind,
        name,
        warm={n: _warm_boxes_of(n, options.warm) for n in digests},
        gpus=gpus,
        memory_mb=options.memory_mb,
        keep=options.keep,
        keep_bytes=_quarter_of_memory() if options.keep_mb is None else options.keep_mb << 20,
        most=options.most,
        say=_print_line,
        refills=not options.no_refill,
    )
    hello = {
        "node": name,
        "launcher": kind.name,
        "profiles": sorted(digests),
        "image_digests": digests,
        "lacks": list(lacks),
        "gpus": sum(not 0 < gpu.memory_mb < profiles.GPU_MB for gpu in gpus),
    }
    allowed = frozenset({0, os.getuid(), *options.allow_uid})
    connections = Listener(BoxLender(name, kind, pool, digests, cores).serve, hello, allowed)
    return _Node(name, kind, digests, pool, connections, lacks, cores, gpus, listener)


def _serve(node: _Node, options: argparse.Namespace, stop: threading.Event) -> None:
    """Lend boxes until ``stop`` is set."""
    if any(gpu.memory_mb for gpu in node.gpus):
        tell = partial(_report_late_lack, node.connections, list(node.lacks))
        look = partial(box_pool.watch_gpu_memory, node.pool, stop, tell)
        threading.Thread(target=look, daemon=True).start()
    node.connections.start_accepting(node.listener)
    lent = ", ".join(node.digests)
    _print_line(f"ready: {node.name} lends {lent} by {node.kind.name} at {options.socket}")
    if not options.profile:
        more = (node.kind, node.digests, node.pool, node.connections, options.warm)
        threading.Thread(target=_prepare_other_profiles, args=more, daemon=True).start()
    process_guard.wait_for_stop(stop)


def _stop_node(node: _Node) -> None:
    """Hang up and remove every box. Ends the process if that takes too long."""
    late = threading.Timer(STOP_SECONDS, _exit_without_threads)  # an engine may not answer
    late.daemon = True
    late.start()
    node.listener.shutdown(socket.SHUT_RDWR)
    node.listener.close()
    node.connections.hang_up()
    if not node.pool.close():
        _exit_without_threads()
    if node.cores is not None:
        node.cores.close()
    node.kind.sweep()


if __name__ == "__main__":
    sys.exit(main())
