# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# redis: values, pub/sub, MONITOR, a replica, TLS, blocking calls
# programs: redis
# needs: redis-server redis-cli openssl
# length: long
# gets: smc=10
# Both say so; the master counts nobody before.
replica_is_up() {
	"${wrap[@]}" redis-cli -p "$replica" info replication |
		grep -q master_link_status:up &&
		"${wrap[@]}" redis-cli -p "$port" info replication |
		grep -q '^slave0:.*state=online'
}

stranger() {
	local replica tls cli=(redis-cli -p "$port")
	replica=$(another) tls=$(another)
	certificate
	mkdir a b
	serve server redis-server --port "$port" --tls-port "$tls" \
		--bind 127.0.0.1 --save '' --repl-diskless-sync-delay 0 --dir a --tls-auth-clients no \
		--tls-cert-file "$place/cert.pem" --tls-key-file "$place/key.pem" \
		--tls-ca-cert-file "$place/cert.pem"
	await_port "$tls"
	serve replica redis-server --port "$replica" --bind 127.0.0.1 --dir b \
		--save '' --repl-diskless-sync-delay 0 --replicaof 127.0.0.1 "$port"
	await_port "$replica"
	data in 2000000
	ask "${cli[@]}" -x set big <in
	ask "${cli[@]}" --raw get big | head -c 2000000 | digest
	seq 1000 | sed 's/.*/rpush list &/' | ask "${cli[@]}" | digest
	seq 2000 | sed 's/.*/incr n\r/' | ask "${cli[@]}" --pipe
	serve monitor redis-cli -p "$port" monitor
	await_true grep -qs OK monitor.log
	serve listener redis-cli -p "$port" subscribe news
	await_true grep -qs subscribe listener.log
	ask "${cli[@]}" publish news hello
	await_true grep -qs hello listener.log
	await_true grep -qs publish monitor.log
	ask "${cli[@]}" blpop none 0.3
	serve pop redis-cli -p "$port" blpop later 5
	ask "${cli[@]}" --raw lpush later x
	await_true grep -qs x pop.log
	ask redis-cli -p "$tls" --tls --cacert cert.pem get n
	await_true replica_is_up
	# One connection: it waits for its own writes, and so for all before.
	printf 'set last 1\nwait 1 5000\n' | ask "${cli[@]}"
	ask redis-cli -p "$replica" get n
	ask redis-cli -p "$replica" strlen big
	ask "${cli[@]}" eval 'return #redis.call("get", "big")' 0
	ask "${cli[@]}" debug sleep 0.1
	ask "${cli[@]}" client kill type pubsub
	ask "${cli[@]}" nosuch
}
