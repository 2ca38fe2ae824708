"""Certificates as clients meet them: expired, ending soon, for another host, or of an unknown authority."""

from collections.abc import Iterator
from datetime import datetime

from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.security.certificate import facts_of
from tidelog.cli.security.checks.broker_facts import BrokerFacts, ListenerFacts
from tidelog.cli.security.checks.handshake import Handshake, Handshaker

SOON_DAYS, VERY_SOON_DAYS = 30, 7


def check_certificates(
    broker: BrokerFacts, shake: Handshaker, now: datetime, soon_days: int = SOON_DAYS
) -> Iterator[CheckFinding]:
    for listener in broker.listeners():
        if listener.protocol.is_tls:
            where = f"{broker.name}, {listener.advertised}"
            result = shake(listener.advertised.host, listener.advertised.port)
            yield from _judge(where, listener, result, now, soon_days)


def _judge(
    where: str, listener: ListenerFacts, result: Handshake, now: datetime, soon_days: int
) -> Iterator[CheckFinding]:
    renew = "tidelog security cert renew; brokers read the new file by themselves"
    if result.certificate is None:
        yield CheckFinding(
            "no-handshake",
            Severity.SERIOUS,
            where,
            f"no TLS handshake: {result.problem}",
            "clients cannot connect, or what listens there is not this broker.",
            "tidelog security cert show, and the broker's log",
        )
        return
    facts = facts_of(result.certificate, where)
    days = facts.days_left(now)
    if now > facts.ends:
        yield CheckFinding(
            "certificate-expired",
            Severity.SERIOUS,
            where,
            f"the certificate {facts.name} ended on {facts.ends.date()}",
            "clients refuse it, and brokers refuse each other.",
            renew,
        )
    elif days < soon_days:
        yield CheckFinding(
            "certificate-ends-soon",
            Severity.SERIOUS if days < VERY_SOON_DAYS else Severity.MEDIUM,
            where,
            f"the certificate {facts.name} ends in {days} days, on {facts.ends.date()}",
            "from that day on no client connects.",
            renew,
        )
    if not result.is_trusted and now <= facts.ends:
        yield CheckFinding(
            "certificate-not-trusted",
            Severity.SERIOUS if "ostname" in str(result.problem) else Severity.MEDIUM,
            where,
            f"the certificate {facts.name} is not trusted here: {result.problem}",
            "clients that verify it, as they should, cannot connect; others can be deceived.",
            f"a certificate for {listener.advertised.host} from the authority that clients trust, "
            "-X ssl.ca.location=ca.pem for this command",
        )
    if result.weak_cipher is not None:
        yield CheckFinding(
            "weak-cipher",
            Severity.MEDIUM,
            where,
            f"TLS 1.2 with {result.weak_cipher} is accepted",
            "it has no forward secrecy, or a mode that has been broken before.",
            "ssl.enabled.protocols=TLSv1.3, or ssl.cipher.suites with ECDHE and GCM or CHACHA20 alone",
        )
