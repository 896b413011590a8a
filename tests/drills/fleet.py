"""Machines join a site by code and are cut off, killed and revoked: no match is lost or doubled.

    scripts/drill fleet [--matches 1000] [--cut-seconds 120] [--slots 1]

A site and two machines on this host. Each machine has a network of its own, in which it reaches the
three TLS ports of the site and nothing else, and it sees no file of the site. They play rated
matches of four games. Meanwhile one machine is cut off for ``--cut-seconds``, the other is killed,
joins again, is revoked, and joins with a new code.

Exits with 1 if a match is lost or counts twice, or if an agent is charged for what happened to the
machines. Needs root, bubblewrap, iproute2 and iptables.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from redis import Redis

from benchmarks.report_tables import aligned, describe_machine
from ladder.database import db
from ladder.database.blobs import open_blobs
from ladder.database.erased_blobs import check_blobs
from ladder.machines import machines
from ladder.people import users
from services.api_client import Client
from services.run import embedded_servers
from tests import network_machines, servers, tls_front
from tests.certificates import Authority, serving
from tests.chaos.quick_leagues import QUICK, make_quick_league
from tests.network_machines import NetworkMachine
from tests.s3_server import variables
from tests.stack import Stack, running
from tests.waiting import wait_until

HOST: Final = "10.77.20.1"
NETWORK: Final = "peckfleet"
PASSWORD: Final = "redis-of-the-drill"
CUT_AT, KILLED_AT, REVOKED_AT = 0.15, 0.45, 0.7
"""Shares of the matches after which something happens."""
LONG_SECONDS: Final = 600.0
FIRST_SECONDS: Final = 300.0
ATTEMPTS: Final = """
select coalesce(h.name, 'site') as machine, a.ended, count(*)
  from attempts a join workers w on w.id = a.worker left join machines h on h.id = w.machine_id
 group by 1, 2
"""


@dataclass
class Drill:
    """A site with its machines, and what happened."""

    site: Stack
    admin: Client
    address: str
    slots: int
    events: list[list[str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    began_at: float = field(default_factory=time.monotonic)
    rated_before: int = 0
    """Rated matches that ended before all machines had joined."""

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with db.connect(self.site.instance.settings.database_url) as conn:
            return conn.execute(query.encode()).fetchall()

    def count(self, query: str) -> int:
        return int(self.ask(query)[0][0])

    def rated(self) -> int:
        return self.count(
            "select count(*) from matches where kind = 'rated' and state = 'finished'"
        )

    def playing(self, name: str) -> int:
        return int(self.admin.get(f"/v1/machines/{name}")["running"])

    def finished(self, name: str) -> int:
        return sum(
            count for machine, ended, count in self.ask(ATTEMPTS)
            if (machine, ended) == (name, "finished")
        )  # fmt: skip

    def note(self, what: str, machine: str, playing: int) -> None:
        row = [f"{time.monotonic() - self.began_at:.0f}", what, machine, str(playing)]
        self.events.append([*row, str(self.rated())])
        print("  ".join(self.events[-1]), flush=True)

    def let_join(self, machine: NetworkMachine, name: str) -> None:
        """Makes a code and lets the machine join with it."""
        code = self.admin.post("/v1/machines/invitations", {"tier": "trusted"})["code"]
        machine.join(self.address, code, "--name", name, "--slots", str(self.slots))
        self.await_on(machine, name)
        self.note("joined by code", name, 0)

    def await_on(self, machine: NetworkMachine, name: str) -> None:
        def is_on() -> bool:
            with db.connect(self.site.instance.settings.database_url) as conn:
                found = [one for one in machines.list_machines(conn) if one.name == name]
            assert machine.process is not None
            assert machine.process.poll() is None, machine.log.read_text()[-2000:]
            return bool(found and found[0].slots)

        wait_until(is_on, f"{name} is on", FIRST_SECONDS)

    def await_share(self, share: float, matches: int) -> None:
        """Waits for this share of the matches, counted from when all machines had joined."""
        wanted = self.rated_before + int(share * matches)
        wait_until(lambda: self.rated() >= wanted, f"{wanted} matches", LONG_SECONDS * 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the drill; returns the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/drill fleet", description=__doc__)
    parser.add_argument("--matches", type=int, default=1000, help="rated matches in all")
    parser.add_argument("--cut-seconds", type=float, default=120.0, help="time without a network")
    parser.add_argument("--slots", type=int, default=1, help="matches a machine plays at a time")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        network = stack.enter_context(network_machines.network(NETWORK, HOST))
        drill, ports = stack.enter_context(head(options.slots))
        folder = drill.site.instance.state.parent
        made: list[NetworkMachine] = []
        for number, name in enumerate(("pond", "lake"), 1):
            own = Path(tempfile.mkdtemp(prefix=f"peck-{name}-", dir=servers.fast_place()))
            stack.callback(shutil.rmtree, own, ignore_errors=True)
            others = [folder, *(one.folder for one in made)]
            machine = NetworkMachine(name, number, network, own, others)
            made.append(stack.enter_context(network_machines.machine(machine, HOST, ports)))
            give_libraries(drill.site.instance.state, own)
        play(drill, *made, matches=options.matches, cut_seconds=options.cut_seconds)
        judge(drill)
    for fault in drill.faults:
        print(fault)
    return 1 if drill.faults else 0


@contextmanager
def head(slots: int) -> Iterator[tuple[Drill, list[int]]]:
    """A running site that machines reach through TLS ports alone, and these ports."""
    with ExitStack() as stack:
        near = stack.enter_context(servers.short_folder())
        authority = Authority(near)
        context = serving(authority.sign(f"IP:{HOST}"))
        front = stack.enter_context(tls_front.running(HOST, context))
        redis = embedded_servers.start_redis(near)
        stack.callback(redis.stop)
        with Redis.from_url(redis.url) as client:
            client.config_set("requirepass", PASSWORD)
        found: list[Stack] = []
        address = front.site(lambda: found[0].address)

        def prepare(state: Path) -> None:
            state.mkdir(mode=0o711)
            login = redis.url.replace("unix://", f"unix://:{PASSWORD}@", 1)
            database = front.postgres(embedded_servers.postgres_url(state, "peck"))
            settings = {
                "PECK_REDIS_URL": login,
                "PECK_BASE_URL": address,
                "PECK_MACHINE_DATABASE_URL": database,
                "PECK_MACHINE_REDIS_URL": front.redis(redis.url),
                "PECK_MACHINE_CERTIFICATES": str(authority.certificate),
            }
            stack.enter_context(variables(settings))

        site = stack.enter_context(running(slots=slots, launcher="bubblewrap", prepare=prepare))
        found.append(site)
        yield Drill(site, site.client(site.admin_token), address, slots), front.ports()


def give_libraries(site: Path, machine: Path) -> None:
    """Copies the libraries of boxes: the machine cannot reach a package index."""
    source, target = site / "run" / "node", machine / "state" / "machine" / "run" / "node"
    if (source / "profiles").is_dir():
        shutil.copytree(source / "profiles", target / "profiles", symlinks=True)
    for place in (machine / "state", machine / "state" / "machine", target.parent, target):
        place.mkdir(mode=0o711, exist_ok=True)
        place.chmod(0o711)


def play(
    drill: Drill, pond: NetworkMachine, lake: NetworkMachine, *, matches: int, cut_seconds: float
) -> None:
    """Lets the machines join and play, and disturbs them."""
    settings = drill.site.instance.settings
    with db.connect(settings.database_url) as conn:
        owner = users.create_user(conn, "owner").id
        for league in QUICK.values():
            make_quick_league(conn, open_blobs(settings.blobs_url), owner, league)
    drill.let_join(pond, "pond")
    drill.let_join(lake, "lake")
    drill.rated_before = drill.rated()
    drill.await_share(CUT_AT, matches)
    disturb(drill, "pond", "cut off", pond.cut)
    healed_at = time.monotonic() + cut_seconds
    wait_until(lambda: time.monotonic() > healed_at, "the cut is over", cut_seconds + 60)
    before = drill.finished("pond")
    pond.heal()
    drill.note("network is back", "pond", drill.playing("pond"))
    wait_until(lambda: drill.finished("pond") > before, "pond plays again", LONG_SECONDS)
    drill.note("finished its next match", "pond", drill.playing("pond"))
    drill.await_share(KILLED_AT, matches)
    disturb(drill, "lake", "killed", lake.kill)
    before = drill.finished("lake")
    lake.join("--slots", str(drill.slots))
    wait_until(lambda: drill.finished("lake") > before, "lake plays again", LONG_SECONDS)
    drill.note("finished its next match", "lake", drill.playing("lake"))
    drill.await_share(REVOKED_AT, matches)
    disturb(drill, "lake", "revoked", lambda: drill.admin.send("DELETE", "/v1/machines/lake"))
    lake.stop()
    lake.kill()
    (lake.folder / "state" / "machine" / "credentials.json").unlink()
    drill.let_join(lake, "lake-2")
    drill.await_share(1.0, matches)
    drill.ask("update leagues set state = 'paused' returning id")
    open_matches = "select count(*) from matches where state in ('queued', 'running')"
    wait_until(lambda: drill.count(open_matches) == 0, "no match is open", LONG_SECONDS)
    unrated = "select sum(accepted_no - rated_no)::integer from seasons"
    wait_until(lambda: drill.count(unrated) == 0, "everything is rated", LONG_SECONDS)
    for machine in (pond, lake):
        took = machine.stop()
        drill.note(f"stopped by SIGTERM in {took:.1f} s", machine.name, 0)


def disturb(drill: Drill, name: str, what: str, act: Callable[[], object]) -> None:
    """Does it while the machine plays a match."""
    wait_until(lambda: drill.playing(name) > 0, f"{name} plays", LONG_SECONDS)
    playing = drill.playing(name)
    act()
    drill.note(what, name, playing)


def judge(drill: Drill) -> None:
    """Prints the tables and records what contradicts the rules."""
    print(f"Site, pond and lake with {drill.slots} slots each; {describe_machine()}")
    print(aligned([["s", "what", "machine", "it played", "rated matches"], *drill.events]))
    rows = [["machine", "attempts finished", "ended without a result"]]
    counted: dict[str, list[int]] = {}
    for machine, ended, number in drill.ask(ATTEMPTS):
        counted.setdefault(machine, [0, 0])[ended != "finished"] += number
    print(aligned([*rows, *([name, *map(str, two)] for name, two in sorted(counted.items()))]))
    games = drill.ask(
        "select s.game, count(*) from matches m join seasons s on s.id = m.season_id"
        " where m.kind = 'rated' and m.state = 'finished' group by 1 order by 1"
    )
    print("rated matches by game:", ", ".join(f"{game} {count}" for game, count in games))
    ends = drill.ask("select ended, fault, count(*) from attempts group by 1, 2 order by 1, 2")
    print("attempts by end:", ends)
    twice = "select match_id from attempts where ended = 'finished' group by 1 having count(*) > 1"
    counts = {
        "lost": "select count(*) from matches where state <> 'finished'",
        "doubled": f"select count(*) from ({twice}) as t",
        "charged to an agent": "select count(*) from seats where verdict <> 'DONE'",
        "without a rating": "select count(*) from matches m where kind = 'rated' and not exists"
        " (select 1 from acceptances a where a.match_id = m.id)",
    }
    found = {name: drill.count(query) for name, query in counts.items()}
    settings = drill.site.instance.settings
    with db.connect(settings.database_url) as conn:
        found["missing blobs"] = len(check_blobs(conn, open_blobs(settings.blobs_url)).missing)
    told = ", ".join(f"{number} {what}" for what, number in found.items())
    print(f"of {drill.rated()} rated matches: {told}")
    drill.faults += [f"{number} {what}" for what, number in found.items() if number]


if __name__ == "__main__":
    sys.exit(main())
