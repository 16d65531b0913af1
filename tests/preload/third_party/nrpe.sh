# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nrpe: Nagios: checks by NRPE, over TLS and without
# programs: NRPE
# needs: nrpe /usr/lib/nagios/plugins/check_nrpe
# length: long
# gets: smc=4 must=DEMOTED_EXEC may=DEMOTED_PEER,CLOSED,TIMEOUT,FORK
stranger() {
	local plain
	plain=$(another)
	cat >conf <<-EOT
		server_address=127.0.0.1
		allowed_hosts=127.0.0.1
		nrpe_user=nobody
		nrpe_group=nogroup
		log_file=$place/nrpe.txt
		command[one]=/bin/echo one thing
		command[many]=/usr/bin/seq 300
		command[bad]=/bin/sh -c 'echo bad; exit 2'
	EOT
	{ cat conf && echo "server_port=$port" && echo "pid_file=$place/pid"; } >tls.cfg
	{ cat conf && echo "server_port=$plain" && echo "pid_file=$place/pid2"; } >plain.cfg
	serve tls nrpe -c "$place/tls.cfg" -f
	serve plain nrpe -c "$place/plain.cfg" -f -n
	await_port "$port"
	await_port "$plain"
	for check in none bad many one; do
		ask /usr/lib/nagios/plugins/check_nrpe -H 127.0.0.1 -p "$port" -c "$check"
		ask /usr/lib/nagios/plugins/check_nrpe -n -H 127.0.0.1 -p "$plain" -c "$check"
	done
}
