# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# xinetd: a server that programs inherit their sockets from
# programs: xinetd
# needs: xinetd ncat
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,FORK
stranger() {
	data file 500000
	cat >conf <<-EOT
		service sum
		{
			type = UNLISTED
			port = $port
			bind = 127.0.0.1
			socket_type = stream
			protocol = tcp
			wait = no
			user = root
			server = /bin/cat
			server_args = $place/file
		}
	EOT
	serve server xinetd -dontfork -f "$place/conf" -pidfile "$place/pid"
	await_port "$port"
	ask ncat --recv-only 127.0.0.1 "$port" </dev/null | digest
	ask ncat --recv-only 127.0.0.1 "$port" </dev/null | digest
}
