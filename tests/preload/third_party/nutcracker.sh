# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nutcracker: twemproxy before two redis servers, keys over both
# programs: twemproxy
# needs: nutcracker redis-server redis-cli redis-benchmark
# length: long
# gets: smc=20 may=CLOSED,TIMEOUT
stranger() {
	local a b stats
	a=$port
	b=$(another)
	port=$b
	stats=$(another)
	while [ "$stats" = "$a" ]; do stats=$(another); done
	port=$stats
	p=$(another)
	for i in "$a" "$b"; do
		serve "redis$i" redis-server --bind 127.0.0.1 --port "$i" --save ''
		await_port "$i"
	done
	cat >n.yml <<-EOT
		pool:
		  listen: 127.0.0.1:$p
		  hash: fnv1a_64
		  distribution: ketama
		  redis: true
		  server_connections: 2
		  servers:
		   - 127.0.0.1:$a:1 one
		   - 127.0.0.1:$b:1 two
	EOT
	serve proxy nutcracker -c n.yml -s "$stats" -a 127.0.0.1
	await_port "$p"
	seq 2000 | sed 's/.*/SET key&  "&&&&"/' | ask redis-cli -p "$p" | sort | uniq -c
	ask redis-cli -p "$p" mget $(seq -f key%g 1 7 500)
	ask redis-cli -p "$a" dbsize
	ask redis-cli -p "$b" dbsize
	ask redis-benchmark -q -p "$p" -c 20 -n 4000 -t set,get,mset -d 3000 -P 4 --csv |
		cut -d , -f 1
}
