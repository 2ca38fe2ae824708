"""Addresses of clients as text, in the one form in which connections, ACLs and quotas are compared."""

from ipaddress import IPv6Address, ip_address


def address_text(text: str) -> str:
    """Returns the form that a connection names its client by. ValueError for what is no address.

    Java writes `0:0:0:0:0:0:0:1` where Python writes `::1`, and a listener for both families sees an IPv4
    client as `::ffff:192.0.2.1`.
    """
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)
