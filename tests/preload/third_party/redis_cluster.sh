# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# redis_cluster: three masters find each other over the bus and share the slots
# programs: redis (cluster)
# needs: redis-server redis-cli
# length: long
# gets: smc=6
is_up() { # port
	"${wrap[@]}" redis-cli -p "$1" cluster info | grep -q cluster_state:ok
}
stranger() {
	local ports=() i p
	for i in 1 2 3; do
		# The bus listens 10000 above.
		p=$((port - 9000 + i))
		ports+=("$p")
		mkdir "$p"
		serve "n$i" redis-server --port "$p" --bind 127.0.0.1 --save '' \
			--dir "$p" --cluster-enabled yes --appendonly no
		await_port "$p"
	done
	ask redis-cli --cluster create 127.0.0.1:"${ports[0]}" \
		127.0.0.1:"${ports[1]}" 127.0.0.1:"${ports[2]}" --cluster-yes |
		grep -e 'OK.*All'
	for p in "${ports[@]}"; do
		await_true is_up "$p"
	done
	for i in $(seq 30); do
		ask redis-cli -c -p "${ports[0]}" set "key$i" "$i"
	done
	ask redis-cli -c -p "${ports[1]}" get key7
	ask redis-cli -p "${ports[2]}" cluster info | tr -d '\r' |
		grep -e state -e known_nodes
}
