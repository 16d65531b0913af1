# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# sentinel: redis: a sentinel makes the replica the master
# programs: redis (sentinel)
# needs: redis-server redis-cli
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
say_to() { # port, what it is to answer, command...
	local to=$1 what=$2
	shift 2
	"${wrap[@]}" redis-cli -p "$to" "$@" 2>&1 | grep -q -e "$what"
}

stranger() {
	local replica watch master
	replica=$(another) watch=$(another)
	serve master redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$place"
	master=$last
	await_port "$port"
	serve replica redis-server --port "$replica" --bind 127.0.0.1 --save '' --dir "$place" --replicaof 127.0.0.1 "$port"
	await_port "$replica"
	cat >s.conf <<-EOT
		port $watch
		bind 127.0.0.1
		dir $place
		sentinel monitor m 127.0.0.1 $port 1
		sentinel down-after-milliseconds m 1500
		sentinel failover-timeout m 8000
	EOT
	serve sentinel redis-server "$place/s.conf" --sentinel
	await_port "$watch"
	ask redis-cli -p "$port" set a b
	await_true say_to "$replica" b get a
	await_true say_to "$watch" slave-repl-offset sentinel replicas m
	ask redis-cli -p "$watch" sentinel get-master-addr-by-name m
	stop "$master"
	await_true say_to "$watch" "$replica" sentinel get-master-addr-by-name m
	await_true say_to "$replica" OK set c d
	ask redis-cli -p "$replica" get a
	ask redis-cli -p "$replica" info replication | grep role
}
