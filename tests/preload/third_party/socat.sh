# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# socat: children, programs behind sockets, half close, TLS, a relay
# programs: socat
# needs: socat openssl
# length: long
# gets: smc=7 may=DEMOTED_STDIO,DEMOTED_PEER,DEMOTED_EXEC,DEMOTED_PEER,TIMEOUT,CLOSED
stranger() {
	local a
	certificate
	data file 3000000
	serve echo socat -t 10 "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" EXEC:cat
	await_port "$port"
	ask socat -t 10 - "TCP:127.0.0.1:$port" <file | digest
	a=$port && free_port
	serve relay socat -t 10 "TCP-LISTEN:$port,bind=127.0.0.1,fork" "TCP:127.0.0.1:$a"
	await_port "$port"
	ask socat -t 10 - "TCP:127.0.0.1:$port" <file | digest
	free_port
	serve system socat -t 10 "TCP-LISTEN:$port,bind=127.0.0.1,fork" SYSTEM:'wc -c; echo done'
	await_port "$port"
	ask socat -t 10 - "TCP:127.0.0.1:$port" <file
	free_port
	serve nofork socat -t 10 "TCP-LISTEN:$port,bind=127.0.0.1,fork" EXEC:'sha256sum',nofork
	await_port "$port"
	ask socat -t 10 - "TCP:127.0.0.1:$port" <file
	free_port
	serve tls socat -t 10 "OPENSSL-LISTEN:$port,bind=127.0.0.1,fork,cert=both.pem,verify=0" EXEC:cat
	await_port "$port"
	ask socat -t 10 - "OPENSSL:127.0.0.1:$port,cafile=cert.pem,commonname=localhost" <file | digest
	free_port
	serve pty socat -t 10 "TCP-LISTEN:$port,bind=127.0.0.1,fork" EXEC:'tty',pty,raw
	await_port "$port"
	ask socat -t 10 -u "TCP:127.0.0.1:$port" - | sed 's/[0-9]*$//' | head -c 100
	free_port
	serve six socat -t 10 "TCP6-LISTEN:$port,bind=[::1],fork" EXEC:cat
	await_port "$port"
	ask socat -t 10 - "TCP6:[::1]:$port" <file | digest
	ask socat -t 10 - "TCP:127.0.0.1:$(another)" 2>&1 | sed 's/.*E //'
}
