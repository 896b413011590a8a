"""The doctor's readings of file trees, and its conclusions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox import doctor
from sandbox.doctor import Check, CheckState, Machine, MatchGroupProbe, ProbeResults
from sandbox.launchers import degraded_defences
from sandbox.launchers.degraded_defences import DEGRADED

PURE = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
FIRST = "".join(
    f"{number} 31 0:{number} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
    for number, name in enumerate(("memory", "pids", "cpu"), 32)
)
BESIDE = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
ALL_UIDS = "         0          0 4294967295\n"
WHOLE = MatchGroupProbe("", freezes=True, kills=True, counts=True, pressure=True)
INFO: Mapping[str, Any] = {
    "ServerVersion": "27.1",
    "CgroupDriver": "systemd",
    "CgroupVersion": "2",
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "Runtimes": {"runc": {}, "runsc": {}},
    "DefaultRuntime": "runc",
}
SOUND = ProbeResults(INFO, "", (), "bubblewrap 0.8.0", "", limited_groups=True, match_group=WHOLE)
NO_ENGINE = ProbeResults(None, "no engine answers", (), "bubblewrap 0.8.0", "", True, WHOLE)
DENIED = MatchGroupProbe("no group can be made: Permission denied")
ORDINARY = ProbeResults(None, "permission denied", (), "bubblewrap 0.8.0", "", False, DENIED)


def tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write a sound machine's files below ``root``, overwritten by ``files``."""
    sound = {
        "proc/self/mountinfo": FIRST + BESIDE,
        "proc/self/cgroup": "8:pids:/\n4:memory:/\n1:cpu:/\n0::/\n",
        "proc/self/uid_map": ALL_UIDS,
        "proc/self/schedstat": "10 20 3\n",
        "proc/sys/kernel/osrelease": "6.1.0-test\n",
        "proc/sys/kernel/core_pattern": "core\n",
        "proc/sys/kernel/seccomp/actions_avail": "kill_process kill_thread errno allow\n",
        "proc/sys/user/max_user_namespaces": "15000\n",
        "proc/swaps": "Filename Type Size Used Priority\n",
        "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        "proc/cpuinfo": "processor: 0\nflags: fpu hypervisor lm\n",
        "proc/meminfo": "MemTotal:       24684084 kB\nMemFree: 1 kB\n",
    }
    for name, text in {**sound, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def read(root: Path, uid: int = 0, /, **files: str) -> Machine:
    """Read these files; in a name ``__`` stands for a slash."""
    return doctor.read_machine(tree(root, {k.replace("__", "/"): v for k, v in files.items()}), uid)


def concluded(
    read: Machine, tried: ProbeResults = SOUND, architecture: str = "x86_64"
) -> doctor.DoctorReport:
    return doctor.build_report(read, tried, "CPython 3.11.7", architecture)


def row(found: doctor.DoctorReport, name: str) -> Check:
    (check,) = [check for check in found.checks if check.name == name]
    return check


def losses(found: doctor.DoctorReport, launcher: str) -> set[str]:
    return {because for because, _ in found.degraded[launcher]}


def test_the_cgroup_version_is_recognised(tmp_path: Path) -> None:
    hybrid = read(tmp_path / "hybrid")
    pure = read(
        tmp_path / "pure",
        proc__self__mountinfo=PURE,
        proc__self__cgroup="0::/user.slice/peck\n",
        **{"sys__fs__cgroup__cgroup.controllers": "cpuset cpu io memory pids\n"},
    )
    first = read(tmp_path / "first", proc__self__mountinfo=FIRST)
    bare = read(tmp_path / "bare", proc__self__mountinfo="", proc__self__cgroup="")
    versions = [each.cgroup_version for each in (hybrid, pure, first, bare)]
    assert versions == ["hybrid", "2", "1", "none"]
    assert pure.unified == Path("/sys/fs/cgroup")
    assert pure.own_group == "/user.slice/peck"
    assert hybrid.controllers == pure.controllers == first.controllers == ("memory", "pids", "cpu")
    assert bare.controllers == ()


def test_only_offered_controllers_are_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        proc__self__mountinfo=PURE,
        **{"sys__fs__cgroup__cgroup.controllers": "memory pids\n"},
    )
    assert found.controllers == ("memory", "pids")


def test_a_machine_without_system_files_can_be_read(tmp_path: Path) -> None:
    found = doctor.read_machine(tmp_path, 1000)
    assert found.cgroup_version == "none"
    assert not found.system_pressure
    assert not found.schedstat
    assert found.seccomp_actions == frozenset()
    shown = concluded(found, ORDINARY)
    assert shown.launcher is None
    assert "never runs without our filter" in shown.verdict


def test_the_setting_that_forbids_user_namespaces_is_named(tmp_path: Path) -> None:
    for number, (name, value, switch) in enumerate(
        (
            ("proc__sys__user__max_user_namespaces", "0\n", "user.max_user_namespaces = 0"),
            (
                "proc__sys__kernel__unprivileged_userns_clone",
                "0\n",
                "kernel.unprivileged_userns_clone = 0",
            ),
            (
                "proc__sys__kernel__apparmor_restrict_unprivileged_userns",
                "1\n",
                "kernel.apparmor_restrict_unprivileged_userns = 1",
            ),
        )
    ):
        found = read(tmp_path / str(number), 1000, **{name: value})
        assert found.user_namespaces == switch
        check = row(concluded(found, ORDINARY), "user namespaces")
        assert check.state is CheckState.MISSING
        assert switch.split(" ")[0] in check.remedy
        as_root = read(tmp_path / f"root{number}", 0, **{name: value})
        assert row(concluded(as_root), "user namespaces").state is CheckState.NOT_NEEDED


def test_a_gpu_is_found_by_device_node_and_cdi_file(tmp_path: Path) -> None:
    files = {
        "dev__nvidia0": "",
        "dev__nvidiactl": "",
        "var__run__cdi__nvidia.json": '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu"}',
        "etc__cdi__other.yaml": "kind: example.com/device\n",
    }
    found = read(tmp_path / "described", **files)
    assert found.gpus == ("nvidia0",)
    assert found.cdi_files == ("/var/run/cdi/nvidia.json",)
    check = row(concluded(found), "gpu")
    assert check.state is CheckState.OK
    assert "/var/run/cdi/nvidia.json" in check.found
    bare = row(concluded(read(tmp_path / "bare", dev__nvidia0="")), "gpu")
    assert bare.state is CheckState.DEGRADED
    assert "nvidia-ctk" in bare.remedy
    assert row(concluded(read(tmp_path / "none")), "gpu").state is CheckState.NOT_NEEDED
    written = {"dev__nvidia0": "", "etc__cdi__nvidia.yaml": "kind: nvidia.com/gpu\n"}
    unread = row(concluded(read(tmp_path / "yaml", **written)), "gpu")
    assert unread.state is CheckState.DEGRADED
    assert "YAML" in unread.found


def test_a_gpu_with_too_little_memory_is_reported(tmp_path: Path) -> None:
    described = '{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu"}'
    found = read(tmp_path, dev__nvidia0="", **{"etc__cdi__nvidia.json": described})
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    roomy = concluded(found, replace(SOUND, gpu_memory_mb={"0": 8188, uuid: 8188}))
    assert row(roomy, "gpu").state is CheckState.OK
    assert "GPU 0 has 8188 MB, room for 4 boxes" in row(roomy, "gpu").found
    large = concluded(found, replace(SOUND, gpu_memory_mb={"0": 81559, uuid: 81559}))
    assert "GPU 0 has 81559 MB, room for 40 boxes" in row(large, "gpu").found
    small = row(concluded(found, replace(SOUND, gpu_memory_mb={"0": 1500, uuid: 1500})), "gpu")
    assert small.state is CheckState.DEGRADED
    assert "a box needs 2000 MB" in small.costs


def test_a_sound_machine_lacks_nothing(tmp_path: Path) -> None:
    found = concluded(read(tmp_path))
    assert found.launcher == "docker"
    assert found.degraded == {"docker": (), "bubblewrap": ()}
    assert "every defence" in found.verdict
    assert {check.state for check in found.checks} <= {CheckState.OK, CheckState.NOT_NEEDED}
    told = row(found, "docker runtimes").found
    assert "gVisor is available: python -m sandbox.node" in told
    assert "--runtime runsc" in told


def test_gvisor_without_open_unix_sockets_is_reported(tmp_path: Path) -> None:
    deaf = {**INFO, "Runtimes": {"runc": {}, "runsc": {"path": "/usr/bin/runsc"}}}
    told = row(concluded(read(tmp_path), replace(SOUND, engine=deaf)), "docker runtimes").found
    assert "cannot run boxes without --host-uds=open" in told


def test_every_lack_has_a_cost_and_a_remedy(tmp_path: Path) -> None:
    machines = (
        concluded(doctor.read_machine(tmp_path / "nothing", 1000), ORDINARY),
        concluded(doctor.read_machine(tmp_path / "nothing", 0), NO_ENGINE, "riscv64"),
        concluded(
            read(
                tmp_path / "much", 0, dev__nvidia0="", proc__swaps="F T S U P\n/dev/a p 2048 0 -2"
            ),
            ProbeResults(
                INFO, "", ("the engine cannot limit swap on this kernel",), "", "", False, DENIED
            ),
        ),
    )
    seen = set()
    for found in machines:
        for check in found.checks:
            if check.state in (CheckState.DEGRADED, CheckState.MISSING):
                seen.add(check.name)
                assert check.costs, check
                assert check.remedy, check
                assert "\n" not in check.remedy
            else:
                assert not check.costs, check
    assert seen >= {"user", "docker engine", "kernel", "seccomp", "match groups", "swap", "gpu"}


def test_missing_psi_affects_only_the_charge(tmp_path: Path) -> None:
    without = MatchGroupProbe("", freezes=True, kills=True, counts=True, pressure=False)
    tried = ProbeResults(INFO, "", (), "bubblewrap 0.8.0", "", True, without)
    found = concluded(read(tmp_path, proc__pressure__cpu=""), tried)
    assert "psi=1" in row(found, "pressure (psi)").remedy
    assert losses(found, "docker") == losses(found, "bubblewrap") == {"no psi"}
    assert [attack.attack for _, attack in found.degraded["docker"]] == ["fairness"]


def test_without_cgroup_version_2_no_box_can_be_frozen(tmp_path: Path) -> None:
    tried = ProbeResults(
        INFO, "", (), "", "", True, MatchGroupProbe("no version 2 tree is mounted")
    )
    found = concluded(read(tmp_path, proc__self__mountinfo=FIRST), tried)
    assert losses(found, "docker") == {"no version 2 tree"}
    assert "mount -t cgroup2" in row(found, "match groups").remedy


def test_a_virtual_machine_needs_the_steal_monitor(tmp_path: Path) -> None:
    virtual = read(tmp_path / "virtual")
    assert row(concluded(virtual), "lost cores").state is CheckState.OK
    blind = row(concluded(virtual, replace(SOUND, above_all=False)), "lost cores")
    assert blind.state is CheckState.DEGRADED
    assert "SYS_NICE" in blind.remedy
    real = read(tmp_path / "real", proc__cpuinfo="processor: 0\nflags: fpu lm\n")
    found = concluded(real, replace(SOUND, above_all=False))
    assert row(found, "lost cores").state is CheckState.NOT_NEEDED


def test_bubblewrap_without_root_lacks_exactly_the_named_rows(tmp_path: Path) -> None:
    found = concluded(read(tmp_path, 1000), ORDINARY)
    assert found.launcher == "bubblewrap"
    rows = tuple(attack for _, attack in found.degraded["bubblewrap"])
    assert rows == DEGRADED["bubblewrap without root"]
    assert losses(found, "bubblewrap") == {"bubblewrap without root"}


def test_a_delegated_control_group_restores_limits_and_freezing(tmp_path: Path) -> None:
    tried = ProbeResults(None, "permission denied", (), "bubblewrap 0.8.0", "", True, WHOLE)
    found = concluded(read(tmp_path, 1000), tried)
    attacks = {attack.attack for _, attack in found.degraded["bubblewrap"]}
    assert attacks == {
        "marks",
        "kills",
        "inodes",
    }


def test_an_engine_without_root_lacks_only_the_match_groups(tmp_path: Path) -> None:
    tried = ProbeResults(INFO, "", (), "", "", False, DENIED)
    found = concluded(read(tmp_path, 1000), tried)
    assert found.launcher == "docker"
    assert losses(found, "docker") == {"no root"}
    assert row(found, "control groups").state is CheckState.NOT_NEEDED


def test_an_engine_with_a_missing_limit_degrades_boxes(tmp_path: Path) -> None:
    cannot = ("the engine cannot limit memory on this kernel",)
    found = concluded(read(tmp_path), ProbeResults(INFO, "", cannot, "", "", True, WHOLE))
    assert row(found, "docker engine").state is CheckState.DEGRADED
    assert losses(found, "docker") == {"the engine"}


def test_without_isolation_the_verdict_names_the_command_to_type(tmp_path: Path) -> None:
    tried = ProbeResults(None, "no engine", (), "", "bubblewrap is not installed", True, WHOLE)
    found = concluded(read(tmp_path), tried)
    assert found.launcher is None
    assert "apt-get install -y bubblewrap" in found.verdict
    refused = ProbeResults(None, "no engine", (), "bubblewrap 0.8.0", "no permissions", True, WHOLE)
    assert "To see what this machine refuses" in concluded(read(tmp_path), refused).verdict


def test_an_unsupported_architecture_runs_no_agents(tmp_path: Path) -> None:
    found = concluded(read(tmp_path), architecture="riscv64")
    assert found.launcher is None
    assert row(found, "kernel").state is CheckState.MISSING
    assert concluded(read(tmp_path), architecture="aarch64").launcher == "docker"


def test_too_few_mapped_uids_are_reported(tmp_path: Path) -> None:
    some = read(tmp_path / "some", proc__self__uid_map="0 100000 65536\n")
    assert row(concluded(some), "uid ranges").state is CheckState.DEGRADED
    one = read(tmp_path / "one", proc__self__uid_map="0 1000 1\n")
    assert row(concluded(one), "uid ranges").state is CheckState.MISSING
    refused = ProbeResults(None, "no engine", (), "bubblewrap 0.8.0", "no 1000 uids", False, DENIED)
    assert "or run the node as an ordinary user" in concluded(one, refused).verdict


def test_the_json_report_has_stable_names(tmp_path: Path) -> None:
    value = json.loads(json.dumps(concluded(read(tmp_path, 1000), ORDINARY).as_json()))
    assert set(value) == {"isolated", "launcher", "verdict", "checks", "degraded"}
    assert value["isolated"] is True
    assert {frozenset(check) for check in value["checks"]} == {
        frozenset({"name", "state", "found", "costs", "remedy"})
    }
    assert {check["state"] for check in value["checks"]} <= {
        "ok",
        "degraded",
        "missing",
        "not needed",
    }
    assert set(value["degraded"]["bubblewrap"][0]) == {"because", "attack", "costs", "remedy"}


def test_the_list_without_root_contains_the_smaller_lists() -> None:
    whole = set(degraded_defences.sentences_for_lack("bubblewrap without root"))
    for part in ("no control groups", "no version 2 tree", "no root"):
        assert set(degraded_defences.sentences_for_lack(part)) <= whole
    assert len(whole) == len(DEGRADED["bubblewrap without root"])


def test_a_node_derives_its_lacks_from_launcher_and_powers() -> None:
    everything = {"cpu_stat", "cpu_pressure", "freeze", "kill"}

    def said(launcher: str, root: bool, limits: bool, powers: set[str]) -> tuple[str, ...]:
        return degraded_defences.missing_protections(
            launcher, root=root, limits=limits, powers=powers
        )

    assert said("bubblewrap", True, True, everything) == ()
    assert said("docker", True, False, everything) == ()
    assert said(
        "docker", True, True, everything - {"cpu_pressure"}
    ) == degraded_defences.sentences_for_lack("no psi")
    assert said("docker", True, True, set()) == degraded_defences.sentences_for_lack(
        "no version 2 tree"
    )
    assert said("docker", False, True, set()) == degraded_defences.sentences_for_lack("no root")
    assert said("bubblewrap", False, False, set()) == degraded_defences.sentences_for_lack(
        "bubblewrap without root"
    )


def test_security_pages_name_every_lack_and_row() -> None:
    root = Path(__file__).parents[3]
    pages = [root / "SECURITY.md", *(root / "docs/security").glob("*.md")]
    page = "\n".join(path.read_text() for path in pages)
    table = {
        name.strip()
        for line in page.splitlines()
        if line.startswith("| ")
        for name in line.split("|")[1].split(",")
    }
    for lack, rows in DEGRADED.items():
        assert lack in page
        assert {row.attack for row in rows} <= table
    here = {path.stem for path in (root / "tests").rglob("test_*.py")}
    assert set(re.findall(r"`(test_\w+)`", page)) <= here
