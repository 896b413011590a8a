"""The guard blocks every address outside the public internet, in every notation."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from egress.address import IP, embedded_ipv4
from egress.guarded_connections import DEFAULT_PORTS, Forbidden, Rules, refuse_forbidden_ip

FORBIDDEN = [
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("10.0.0.1", "private"),
    ("10.255.255.255", "private"),
    ("100.64.0.1", "carrier"),
    ("100.127.255.255", "carrier"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("169.254.0.1", "link-local"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.8", "protocols"),
    ("192.0.2.1", "documentation"),
    ("192.31.196.1", "AS112"),
    ("192.52.193.1", "tunnels"),
    ("192.88.99.1", "6to4"),
    ("192.168.0.1", "private"),
    ("192.175.48.1", "AS112"),
    ("198.18.0.1", "benchmarks"),
    ("198.19.255.255", "benchmarks"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.192", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("fd20:ce::254", "metadata"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "bound to a link"),
    ("2606:4700::1%eth0", "bound to a link"),
    ("febf::1", "link-local"),
    ("fec0::1", "site-local"),
    ("fc00::1", "private"),
    ("fdff::1", "private"),
    ("ff02::1", "multicast"),
    ("ff0e::1", "multicast"),
    ("100::1", "sink"),
    ("100:0:0:1::1", "global unicast"),
    ("5f00::1", "global unicast"),
    ("4000::1", "global unicast"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("3ffe::1", "6bone"),
    ("2001:2::1", "benchmarks"),
    ("2001:10::1", "protocols"),
    ("2001:20::1", "protocols"),
    ("2001:4:112::1", "protocols"),
    ("2620:4f:8000::1", "AS112"),
    ("::ffff:127.0.0.1", "embeds an IPv4 address"),
    ("::ffff:8.8.8.8", "embeds an IPv4 address"),
    ("::ffff:0:127.0.0.1", "embeds an IPv4 address"),
    ("::127.0.0.1", "embeds an IPv4 address"),
    ("::8.8.8.8", "embeds an IPv4 address"),
    ("64:ff9b::127.0.0.1", "embeds an IPv4 address"),
    ("64:ff9b::8.8.8.8", "embeds an IPv4 address"),
    ("64:ff9b:1::10.0.0.1", "embeds an IPv4 address"),
    ("2002:7f00:1::1", "embeds an IPv4 address"),
    ("2002:808:808::1", "embeds an IPv4 address"),
    ("2001:0:808:808::f5ff:fffe", "embeds an IPv4 address"),
    ("2606:4700::5efe:10.0.0.1", "embeds an IPv4 address"),
    ("2606:4700::200:5efe:10.0.0.1", "embeds an IPv4 address"),
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "198.20.0.1"]
PUBLIC += ["223.255.255.254", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1"]


@pytest.mark.parametrize(("address", "why"), FORBIDDEN)
def test_addresses_outside_the_public_internet_are_refused(address: str, why: str) -> None:
    with pytest.raises(Forbidden, match=why):
        refuse_forbidden_ip(ip_address(address), Rules())


@pytest.mark.parametrize("address", PUBLIC)
def test_public_internet_addresses_pass(address: str) -> None:
    refuse_forbidden_ip(ip_address(address), Rules())


def wrapped(ip: IPv4Address) -> list[IPv6Address]:
    """The address in every form inside an IPv6 address."""
    value = int(ip)
    heads = [0, 0xFFFF << 32, 0xFFFF << 48, 0x64_FF9B << 96, 0x64_FF9B_0001 << 80]
    site = int(IPv6Address("2606:4700:1:2::"))
    heads += [site | 0x5EFE << 32, site | 0x200_5EFE << 32]
    whole = [head | value for head in heads]
    whole.append(0x64_FF9B_0001 << 80 | value >> 16 << 64 | (value & 0xFFFF) << 40)
    whole.append(0x2002 << 112 | value << 80 | 1)
    whole.append(0x2001_0000 << 96 | value << 64 | 1)
    whole.append(0x2001_0000 << 96 | 0x0808_0808 << 64 | value ^ 0xFFFF_FFFF)
    return [IPv6Address(number) for number in whole]


def refused(ip: IP) -> bool:
    try:
        refuse_forbidden_ip(ip, Rules())
    except Forbidden:
        return True
    return False


_SPECIAL4 = st.sampled_from([ip for ip, _ in FORBIDDEN if ":" not in ip]).map(IPv4Address)


@settings(max_examples=60)
@given(st.ip_addresses())
def test_non_global_addresses_never_pass(ip: IP) -> None:
    assume(not ip.is_global or ip.is_multicast)
    assert refused(ip)


@settings(max_examples=60)
@given(st.ip_addresses(v=4) | _SPECIAL4)
def test_ipv4_addresses_embedded_in_ipv6_never_pass(ip: IPv4Address) -> None:
    for form in wrapped(ip):
        assert ip in embedded_ipv4(form)
        assert refused(form)


@settings(max_examples=60)
@given(st.ip_addresses(v=6))
def test_only_global_unicast_ipv6_addresses_pass(ip: IPv6Address) -> None:
    if not refused(ip):
        assert int(ip) >> 125 == 1


def rules(allow: str = "", deny: str = "", ports: str = "") -> Rules:
    names = dict(PECK_EGRESS_ALLOW=allow, PECK_EGRESS_DENY=deny, PECK_EGRESS_PORTS=ports)
    return Rules.from_environment(names)


@pytest.mark.parametrize("address", [address for address, _ in FORBIDDEN if "%" not in address])
def test_networks_allowed_by_the_operator_pass(address: str) -> None:
    refuse_forbidden_ip(ip_address(address), Rules(allow=(ip_network(address),)))


def test_a_denied_network_overrides_an_allowed_network() -> None:
    both = rules(allow="10.0.0.0/8, 8.0.0.0/8", deny="10.1.0.0/16, 8.8.8.8")
    refuse_forbidden_ip(ip_address("10.2.0.1"), both)
    for address in ("10.1.2.3", "8.8.8.8"):
        with pytest.raises(Forbidden, match="operator of this ladder denies"):
            refuse_forbidden_ip(ip_address(address), both)


def test_a_denied_ipv4_network_is_refused_inside_allowed_ipv6() -> None:
    both = rules(allow="::/0", deny="8.8.8.8")
    refuse_forbidden_ip(ip_address("2606:4700::1"), both)
    for form in wrapped(IPv4Address("8.8.8.8")):
        with pytest.raises(Forbidden, match="denies"):
            refuse_forbidden_ip(form, both)


def test_a_denied_ipv4_mapped_network_covers_plain_ipv4() -> None:
    with pytest.raises(Forbidden, match="denies"):
        refuse_forbidden_ip(ip_address("8.8.8.8"), rules(deny="::ffff:8.8.8.0/120"))


def test_empty_variables_mean_the_default_rules() -> None:
    assert Rules.from_environment({}) == rules() == Rules()
    assert Rules().ports == DEFAULT_PORTS == ((80, 80), (443, 443), (8000, 8999))


def test_lists_are_read_with_spaces_and_single_addresses() -> None:
    read = rules(allow="10.20.0.0/16, 127.0.0.1,", deny="fd00::/8", ports=" 80, 9000-9001")
    assert read.allow == (ip_network("10.20.0.0/16"), ip_network("127.0.0.1/32"))
    assert read.deny == (ipaddress.ip_network("fd00::/8"),)
    assert read.ports == ((80, 80), (9000, 9001))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PECK_EGRESS_ALLOW", "10.20.0.1/16"),
        ("PECK_EGRESS_ALLOW", "intranet"),
        ("PECK_EGRESS_DENY", "10.0.0.0/33"),
        ("PECK_EGRESS_DENY", "10.0.0.0 11.0.0.0"),
        ("PECK_EGRESS_PORTS", "http"),
        ("PECK_EGRESS_PORTS", "0"),
        ("PECK_EGRESS_PORTS", "65536"),
        ("PECK_EGRESS_PORTS", "90-80"),
        ("PECK_EGRESS_PORTS", "80-"),
        ("PECK_EGRESS_PORTS", "-80"),
        ("PECK_EGRESS_PORTS", "8_0"),
    ],
)
def test_an_unreadable_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: .*write"):
        Rules.from_environment({name: value})
