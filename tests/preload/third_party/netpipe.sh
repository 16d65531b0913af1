# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# netpipe: ping-pong of messages up to 100 kB, with all bytes looked at
# programs: NetPIPE
# needs: NPtcp
# length: long
# gets: smc=1
stranger() {
	serve server NPtcp -P "$port" -u 100000 -i
	await_port "$port"
	ask NPtcp -h 127.0.0.1 -P "$port" -u 100000 -i 2>&1 |
		grep -c -i -e integrity -e '^ *[0-9]*:'
}
