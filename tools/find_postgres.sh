#!/bin/sh
# Say where PostgreSQL is, the database that tests of sinks and tables talk to; install it where that is allowed.

found() {
	command -v postgres >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1
}

if ! found && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "==> installing postgresql from the Debian packages"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; } \
		>/dev/null 2>&1
	# The tests start their own; the one that the package starts is not wanted.
	service postgresql stop >/dev/null 2>&1
fi

found || echo "==> no postgres: tests with a PostgreSQL server are left out (apt-get install postgresql)"
exit 0
