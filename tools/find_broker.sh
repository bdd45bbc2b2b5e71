#!/bin/sh
# Say where Mosquitto is, the MQTT broker that tests of agents talk to; install it where that is allowed.

PATH="$PATH:/usr/sbin"

if ! command -v mosquitto >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	echo "==> installing mosquitto from the Debian packages"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends mosquitto; } \
		>/dev/null 2>&1
	# The tests start their own; the one that the package starts is not wanted.
	service mosquitto stop >/dev/null 2>&1
fi

command -v mosquitto >/dev/null 2>&1 ||
	echo "==> no mosquitto: tests with an MQTT broker are left out (apt-get install mosquitto)"
exit 0
