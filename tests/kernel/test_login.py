"""Logins: the password is found when it is needed, and is kept nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.login import Login
from streamgauge.sources.kafka_login import java_settings, native_settings


def test_a_password_comes_from_the_first_line_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n\n")
    login = Login.of(user="ann", password_file=tmp_path / "secret")
    assert login.password() == "s3cret"
    assert "s3cret" not in str(login.as_dict())
    (tmp_path / "secret").write_text("changed")
    assert login.password() == "changed"


def test_a_password_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login.of(user="ann", password_env="LOGIN_TEST")
    with pytest.raises(SourceFailure, match="LOGIN_TEST"):
        login.password()
    monkeypatch.setenv("LOGIN_TEST", "s3cret")
    assert login.password() == "s3cret"


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="cannot read the file of a password"):
        Login.of(user="ann", password_file=tmp_path / "gone").password()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"user": "a", "password_file": "f", "password_env": "E"}, "in one place"),
        ({"user": "a", "mechanism": "KERBEROS"}, "unknown mechanism"),
        ({"password_env": "E"}, "needs a user"),
    ],
)
def test_what_has_no_meaning_is_refused(given: dict[str, str], what: str) -> None:
    with pytest.raises(BindError, match=what):
        Login.of(**given)


def test_it_is_read_back_among_other_things() -> None:
    login = Login.of(user="ann", password_env="E", mechanism="scram-sha-512")
    assert Login.from_dict({"topic": "t", **login.as_dict()}) == login


def test_clients_of_kafka_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGIN_TEST", 'a"b\\c')
    login = Login("ann", password_env="LOGIN_TEST", ca="/ca.pem", mechanism="SCRAM-SHA-256")
    java = java_settings(login)
    assert java["security.protocol"] == "SASL_SSL"
    assert java["sasl.jaas.config"].endswith(
        r'ScramLoginModule required username="ann" password="a\"b\\c";'
    )
    assert native_settings(login) == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/ca.pem",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "ann",
        "sasl.password": 'a"b\\c',
    }
    assert java_settings(Login()) == {}
