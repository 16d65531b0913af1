# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# gpsd: gpsd: a client that listens, one that asks
# programs: gpsd
# needs: gpsd socat
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT
stranger() {
	serve server gpsd -n -N -S "$port" -F "$place/socket"
	await_port "$port"
	for _ in 1 2 3; do
		printf '?VERSION;\n?DEVICES;\n?WATCH={"enable":true,"json":true};\n?POLL;\n' |
			ask socat -t 20 - "TCP:127.0.0.1:$port" | grep -o '"class":"[A-Z]*"'
	done
}
