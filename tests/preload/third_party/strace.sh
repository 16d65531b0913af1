# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# strace: curl and socat's children under strace -f
# programs: under strace -f
# needs: strace curl socat
# gets: smc=2
stranger() {
	data file 300000
	# A server that closes with a request unread resets TCP, and cuts its
	# answer.
	serve server strace -f -o trace socat "TCP-LISTEN:$port,bind=127.0.0.1,fork" "SYSTEM:read line; cat $place/file"
	await_port "$port"
	ask strace -f -o trace2 curl -sS --http0.9 "http://127.0.0.1:$port/" | digest
	grep -c exit_group trace2
	ask curl -sS --http0.9 "http://127.0.0.1:$port/" | digest
}
