"""Makes system calls that have broken kernels before."""

from typing import Any

from tests.agents.hostile import kit

CALLS = (
    ("keyctl", 250, 219),
    ("add_key", 248, 217),
    ("request_key", 249, 218),
    ("bpf", 321, 280),
    ("perf_event_open", 298, 241),
    ("userfaultfd", 323, 282),
    ("io_uring_setup", 425, 425),
    ("io_uring_enter", 426, 426),
    ("kexec_load", 246, 104),
    ("init_module", 175, 105),
    ("finit_module", 313, 273),
    ("delete_module", 176, 106),
    ("reboot", 169, 142),
    ("open_by_handle_at", 304, 265),
    ("name_to_handle_at", 303, 264),
    ("syslog", 103, 116),
    ("personality", 135, 92),
    ("modify_ldt", 154, -1),
    ("iopl", 172, -1),
    ("ioperm", 173, -1),
    ("acct", 163, 89),
    ("vmsplice", 278, 75),
    ("splice", 275, 76),
    ("tee", 276, 77),
    ("memfd_secret", 447, 447),
    ("landlock", 444, 444),
    ("lookup_dcookie", 212, 18),
    ("move_pages", 279, 239),
    ("migrate_pages", 256, 238),
    ("mbind", 237, 235),
    ("remap_file_pages", 216, 234),
    ("vhangup", 153, 58),
    ("nfsservctl", 180, 42),
    ("setxattr", 188, 5),
    ("io_setup", 206, 0),
    ("ioprio_set", 251, 30),
    ("sendmsg", 46, 211),
    ("sendmmsg", 307, 269),
    ("pidfd_getfd", 438, 438),
    ("process_mrelease", 448, 448),
)


def agent(obs: Any, config: Any) -> Any:
    if obs["step"] == 0:
        for name, x86, arm in CALLS:
            kit.refused(name, x86, arm, 0, 0, 0, 0, 0)
        for number in range(451, 520):
            kit.refused(f"call {number}", number, number, 0, 0, 0, 0, 0)
    return kit.move(obs)
