# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# memcached: the text protocol by hand, big values, many clients
# programs: memcached
# needs: memcached ncat
# gets: smc=3
stranger() {
	serve server memcached -u root -l 127.0.0.1 -p "$port" -m 64 -t 4
	await_port "$port"
	data value 900000
	{
		printf 'set k 0 0 900000\r\n' && cat value
		printf '\r\nget k\r\nincr n 1\r\nstats reset\r\nquit\r\n'
	} | ask ncat 127.0.0.1 "$port" | digest
	printf 'get k\r\nquit\r\n' | ask ncat 127.0.0.1 "$port" | digest
	printf 'set a 0 0 1\r\nx\r\ngets a\r\ndelete a\r\nget a\r\nquit\r\n' |
		ask ncat 127.0.0.1 "$port"
}
