"""Tables in the language: written, read back, and what has no meaning."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import BindError, ParseError
from streamgauge.kernel.time import SECOND
from streamgauge.language.parse import parse
from streamgauge.language.render import render
from streamgauge.language.statements import AlterTable, CreateTable
from streamgauge.streams.origin import delta, jdbc

URL = "jdbc:postgresql://h:5432/d"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("create table t from 'a.csv'", CreateTable("t", "a.csv")),
        (
            "CREATE TABLE t FROM 'a.csv' REFRESH EVERY 30 SECONDS",
            CreateTable("t", "a.csv", options=(("every", 30 * SECOND),)),
        ),
        ("CREATE TABLE t FROM 'a.csv' REFRESH NEVER", CreateTable("t", "a.csv")),
        ("CREATE TABLE t FROM DELTA 's3://b/t'", CreateTable("t", "s3://b/t", source="delta")),
        (
            f"CREATE TABLE t FROM JDBC '{URL}' TABLE 'public.t' USER 'u' PASSWORD ENV 'P'",
            CreateTable(
                "t",
                URL,
                source="jdbc",
                options=(("table", "public.t"), ("user", "u"), ("password_env", "P")),
            ),
        ),
        (
            f"CREATE TABLE t FROM JDBC '{URL}' PASSWORD FILE 'p' REFRESH EVERY 1 m "
            "QUERY 'select ''a''' DRIVER 'a.B'",
            CreateTable(
                "t",
                URL,
                source="jdbc",
                options=(
                    ("password_file", "p"),
                    ("every", 60 * SECOND),
                    ("query", "select 'a'"),
                    ("driver", "a.B"),
                ),
            ),
        ),
        ("ALTER TABLE t REFRESH EVERY 5 s", AlterTable("t", 5 * SECOND)),
        ("ALTER TABLE jdbc REFRESH NEVER", AlterTable("jdbc", None)),
    ],
)
def test_what_is_written_is_read_and_rendered(text: str, said: object) -> None:
    found = parse(text)
    assert found == said
    assert parse(render(found)) == found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"CREATE TABLE t FROM JDBC '{URL}'", "a database is read by a table or by a query"),
        (f"CREATE TABLE t FROM JDBC '{URL}' TABLE 'a' QUERY 'b'", "by a table or by a query"),
        ("CREATE TABLE t FROM DELTA 'a' USER 'u'", "USER is of databases"),
        ("CREATE TABLE t FROM 'a.csv' PASSWORD FILE 'u'", "PASSWORD FILE is of databases"),
        (
            f"CREATE TABLE t FROM JDBC '{URL}' TABLE 'a' PASSWORD FILE 'a' PASSWORD ENV 'a'",
            "PASSWORD is written twice",
        ),
        ("CREATE TABLE t FROM 'a' REFRESH EVERY 1 s REFRESH NEVER", "REFRESH is written twice"),
        ("CREATE TABLE t FROM 'a' REFRESH EVERY 0 s", "REFRESH EVERY needs a positive duration"),
        ("CREATE TABLE t FROM JDBC t", "unexpected 't'"),
        ("ALTER TABLE t", "unexpected end"),
        (f"CREATE TABLE t FROM JDBC '{URL}' TABLE 'a' PASSWORD 'open'", "unexpected"),
    ],
)
def test_mistakes(text: str, what: str) -> None:
    with pytest.raises(ParseError) as told:
        parse(text)
    assert what in told.value.what


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("postgresql://h/d", "is no address of a database"),
        ("jdbc:mysql://h/d", "no driver is known for 'mysql'"),
        ("jdbc:postgresql://h/d?user=u&Password=hush", "an address with a password"),
        ("jdbc:postgresql://u:hush@h/d", "an address with a password"),
        ("jdbc:postgresql://h/d?sslpassword=hush", "an address with a password"),
    ],
)
def test_addresses_of_databases(url: str, what: str) -> None:
    with pytest.raises(BindError) as told:
        jdbc(url, table="t")
    assert what in told.value.what
    assert "hush" not in str(told.value)


def test_what_is_said_of_an_origin() -> None:
    said = str(jdbc(URL, query="select 1", user="u", password_file="p", driver="a.B"))
    assert said == f"{URL} query select 1"
    assert str(delta("s3://b/t")) == "delta s3://b/t"
    with pytest.raises(BindError, match="both are given"):
        jdbc(URL, table="t", query="q")
    with pytest.raises(BindError, match="a password is in one place"):
        jdbc(URL, table="t", user="u", password_env="a", password_file="b")
