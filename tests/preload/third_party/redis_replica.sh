# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2317 # set and called by third_party.sh
# redis_replica: a replica that gets 500 MB, while it is written to
# programs: redis (replica)
# needs: redis-server redis-cli redis-benchmark
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT,DEMOTED_STALLED,DEMOTED_PEER,FORK
stranger() {
	local a=$port b
	b=$(another)
	serve master redis-server --bind 127.0.0.1 --port "$a" --save '' --repl-diskless-sync yes \
		--repl-diskless-sync-delay 0 --enable-debug-command yes
	await_port "$a"
	ask redis-cli -p "$a" debug populate 500000 key 1000
	serve replica redis-server --bind 127.0.0.1 --port "$b" --save '' --repl-diskless-load swapdb \
		--enable-debug-command yes
	await_port "$b"
	ask redis-cli -p "$b" replicaof 127.0.0.1 "$a"
	ask redis-benchmark -q -p "$a" -c 4 -n 20000 -r 1000 -t set -d 500 --csv | cut -d , -f 1
	synced() { "${wrap[@]}" redis-cli -p "$b" info replication | grep -q 'master_link_status:up'; }
	await_true synced
	ask redis-cli -p "$a" wait 1 10000
	[ "$(ask redis-cli -p "$a" debug digest)" = "$(ask redis-cli -p "$b" debug digest)" ] && echo same
	ask redis-cli -p "$b" dbsize
}
