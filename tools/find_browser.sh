#!/bin/sh
# Say where Chromium is, which tests of the server's pages drive; install it where that is allowed.

if ! command -v chromium >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "==> installing chromium from the Debian packages (some minutes)"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium fonts-dejavu-core; } \
		>/dev/null 2>&1
fi

command -v chromium >/dev/null 2>&1 ||
	echo "==> no chromium: tests with a browser are left out (apt-get install chromium)"
exit 0
