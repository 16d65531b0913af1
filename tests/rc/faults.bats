#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# faults: what two hosts do when a program, a link service or an RDMA core is
# killed or stopped, and when packets of the RDMA cores are lost.
# limit: 240
# long: 1200
# lane: any

load hosts
# shellcheck disable=SC2154 # set by hosts.bash
: "${last-}"

# SMC_R_SEED and SMC_R_ROUNDS make a round again that failed.
@test "killed and stopped at random moments: as on TCP, and nothing is left" {
	local rounds=20
	[ -z "${SMC_R_LONG-}" ] || rounds=200
	BIN=$BIN python3 -u "$BATS_TEST_DIRNAME/rounds.py" \
		"${SMC_R_SEED:-$RANDOM}" "${SMC_R_ROUNDS:-$rounds}"
}

# Packets of 1000 that both cores lose: 0 and 50; with SMC_R_LONG 10, too. On a
# busy machine a connection may stay on TCP.
at_losses() { # function
	local loss

	for loss in 0 ${SMC_R_LONG:+10} 50; do
		lose "$loss"
		echo "$loss of 1000"
		"$1"
	done
	lose 0
}

lose() { # packets of 1000
	on a ofedctrl -p "wire_loss=$1" >/dev/null
	on b ofedctrl -p "wire_loss=$1" >/dev/null
}

redis_at() {
	smc_on b redis-cli -h "$SERVER" -p 6390 -x set "key$loss" <"$PLACE/file"
	smc_on b redis-benchmark -h "$SERVER" -p 6390 -n 1000 -c 5 -d 3000 \
		-r 100 -t set,get -q >/dev/null
	wait_for replica_is_at
	on b redis-cli -h 10.83.0.2 -p 6391 --raw get "key$loss" |
		head -c -1 | cmp - "$PLACE/file"
	[ "$(on a redis-cli -h "$SERVER" -p 6390 debug digest)" = \
		"$(on b redis-cli -h 10.83.0.2 -p 6391 debug digest)" ]
}

# It has all that the first one sent.
replica_is_at() {
	local at
	at=$(offset_of a "$SERVER" 6390)
	[ -n "$at" ] && [ "$at" = "$(offset_of b 10.83.0.2 6391)" ]
}

offset_of() { # host, address, port
	on "$1" redis-cli -h "$2" -p "$3" info replication |
		sed -n 's/^master_repl_offset:\([0-9]*\).*/\1/p'
}

@test "redis and its replica, with loss" {
	need redis-server redis-cli redis-benchmark
	head -c 300000 /dev/urandom >"$PLACE/file"
	begin_on a redis smc_run redis-server --bind "$SERVER" --port 6390 \
		--save '' --protected-mode no --repl-diskless-sync-delay 0 \
		--dir "$PLACE" --dbfilename a.rdb --enable-debug-command yes
	wait_for listens a 6390
	begin_on b replica smc_run redis-server --bind 10.83.0.2 --port 6391 \
		--save '' --protected-mode no --replicaof "$SERVER" 6390 \
		--dir "$PLACE" --dbfilename b.rdb --enable-debug-command yes
	at_losses redis_at
	all_on_smc 13 2
}

curl_at() {
	smc_on b curl -s -o "$PLACE/got" "http://$SERVER:8080/file"
	cmp "$PLACE/file" "$PLACE/got"
}

@test "nginx and curl, with loss" {
	need nginx curl
	head -c 8000000 /dev/urandom >"$PLACE/file"
	cat >"$PLACE/nginx.conf" <<-END
		daemon off; worker_processes 1; pid $PLACE/nginx.pid;
		error_log $PLACE/nginx.err;
		events { }
		http { access_log off; root $PLACE;
			server { listen $SERVER:8080; } }
	END
	begin_on a nginx smc_run nginx -c "$PLACE/nginx.conf"
	wait_for listens a 8080
	at_losses curl_at
	all_on_smc 2 1
}

rsync_at() {
	rm -rf "$PLACE/to"
	smc_on b rsync -a "rsync://$SERVER:8730/m/" "$PLACE/to/"
	diff -r "$PLACE/from" "$PLACE/to"
}

@test "rsync, with loss" {
	need rsync
	mkdir -p "$PLACE/from"
	head -c 2000000 /dev/urandom >"$PLACE/from/one"
	seq 1 100000 >"$PLACE/from/two"
	cat >"$PLACE/rsyncd.conf" <<-END
		use chroot = no
		uid = 0
		gid = 0
		[m]
		path = $PLACE/from
	END
	begin_on a rsync smc_run rsync --daemon --no-detach --port 8730 \
		--address "$SERVER" --config "$PLACE/rsyncd.conf"
	wait_for listens a 8730
	at_losses rsync_at
	all_on_smc 2 1
}

lost_on() { # host
	on "$1" python3 -c '
import os, socket
namespace = os.stat("/proc/self/ns/net").st_ino
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["OFED_CORE_RUNDIR"] + f"/net-{namespace}/control")
s.sendall(b"statistics\n")
for line in s.makefile():
	words = line.split()
	if words[0] == "=packets_lost_on_purpose": print(words[1])
	if line[0] != "=": break'
}

@test "packets were lost" {
	echo "$(lost_on a) by a, $(lost_on b) by b"
	[ "$(lost_on a)" -gt 20 ] && [ "$(lost_on b)" -gt 20 ]
}
