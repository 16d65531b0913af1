# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# tcpserver: tcpserver and tcpclient of ucspi-tcp
# programs: ucspi-tcp
# needs: tcpserver tcpclient
# length: long
# gets: must=DEMOTED_STDIO may=DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,FORK
stranger() {
	# shellcheck disable=SC2016 # for the shell behind it
	serve server tcpserver -H -R -l 0 127.0.0.1 "$port" sh -c 'read x; echo "got $x from $TCPREMOTEIP"; seq 50000'
	await_port "$port"
	ask tcpclient -H -R 127.0.0.1 "$port" sh -c 'echo hello >&7; cat <&6' | digest
	ask tcpclient -H -R 127.0.0.1 "$port" sh -c 'echo hello >&7; head -n 1 <&6'
}
