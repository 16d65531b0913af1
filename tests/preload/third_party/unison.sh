# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# unison: Unison: two trees made equal, over a socket
# programs: Unison
# needs: unison
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT,DEMOTED_STDIO,DEMOTED_PEER
stranger() {
	export HOME=$place UNISON=$place/.unison
	mkdir -p one two .unison
	for i in 1 2 3 4 5; do data "one/a$i" $((i * 300000)); done
	data two/b 1000000
	serve server unison -socket "$port"
	await_port "$port"
	ask unison "$place/one" "socket://127.0.0.1:$port/$place/two" -batch -auto -silent
	echo change >>one/a1
	rm two/a2
	ask unison "$place/one" "socket://127.0.0.1:$port/$place/two" -batch -auto -silent
	diff -r one two && (cd two && cat ./*) | digest
}
