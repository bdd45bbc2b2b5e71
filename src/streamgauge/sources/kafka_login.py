"""A login as clients of Kafka want it: Spark's connector in Java, and the one written in C."""

from __future__ import annotations

from streamgauge.kernel.login import Login

_MODULES = "org.apache.kafka.common.security"


def _protocol(login: Login) -> str:
    return f"{'SASL_' if login.user else ''}{'SSL' if login.ca else 'PLAINTEXT'}"


def java_settings(login: Login) -> dict[str, str]:
    """Settings of a client in Java.

    >>> java_settings(Login(ca="/etc/ca.pem"))["security.protocol"]
    'SSL'
    """
    found = {"security.protocol": _protocol(login)} if login != Login() else {}
    if login.ca:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": login.ca}
    if login.user:
        scram = login.mechanism.startswith("SCRAM")
        module = "scram.ScramLoginModule" if scram else "plain.PlainLoginModule"
        words = f"username={_quoted(login.user)} password={_quoted(login.password() or '')}"
        found["sasl.mechanism"] = login.mechanism or "PLAIN"
        found["sasl.jaas.config"] = f"{_MODULES}.{module} required {words};"
    return found


def native_settings(login: Login) -> dict[str, str]:
    """Settings of a client of librdkafka.

    >>> native_settings(Login())
    {}
    """
    found = {"security.protocol": _protocol(login)} if login != Login() else {}
    if login.ca:
        found["ssl.ca.location"] = login.ca
    if login.user:
        found["sasl.mechanism"] = login.mechanism or "PLAIN"
        found |= {"sasl.username": login.user, "sasl.password": login.password() or ""}
    return found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
