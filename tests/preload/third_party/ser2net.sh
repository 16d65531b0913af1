# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ser2net: ser2net: a serial line's bytes for clients
# programs: ser2net
# needs: ser2net socat
# length: long
# gets: smc=1 may=CLOSED,TIMEOUT
stranger() {
	cat >conf.yaml <<-EOT
		connection: &echo
		  accepter: tcp,127.0.0.1,$port
		  connector: echo
		  options:
		    max-connections: 4
	EOT
	data file 100000
	serve server ser2net -n -d -c "$place/conf.yaml" -P "$place/pid" -u
	await_port "$port"
	ask socat -t 20 - "TCP:127.0.0.1:$port" <file | digest
}
