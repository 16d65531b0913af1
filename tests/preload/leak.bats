#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# leak: no system call on a connection that SMC carries goes past the library.
# limit: 400

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}"

setup() {
	smc_begin
	free_port
	leak=$programs/preload/leak
	# Where ptrace of descendants is forbidden nothing can be observed.
	"$leak" true || skip "leak cannot observe programs here"
}

# The detector ends when all it watches have ended; its last line counts.
clean() { # name of the log
	cat "$place/$1.log"
	grep -q "leak: .* 0 past it" "$place/$1.log"
	run grep "leak: [a-z0-9_]*(" "$place/$1.log"
	[ "$status" -eq 1 ]
}

@test "the detector notices calls that go past the library" {
	local how
	run "$leak" -v smc_run "$programs/preload/escape" none
	[ "$status" -eq 0 ]
	for how in read write poll; do
		run "$leak" smc_run "$programs/preload/escape" $how
		echo "$output"
		[ "$status" -eq 99 ]
		[[ "$output" == *"leak: $how("*"in escape"* ]]
	done
}

@test "the detector says nothing of connections on TCP" {
	local how
	for how in read write poll; do
		run "$leak" "$programs/preload/escape" $how
		[ "$status" -eq 0 ]
	done
}

@test "redis and its clients" {
	need redis-server redis-benchmark
	start server "$leak" -v smc_run redis-server --port "$port" --save "" \
		--bind 127.0.0.1 --dir "$place" --daemonize no
	local server=$last
	await_port "$port"
	"$leak" -v smc_run redis-benchmark -p "$port" -n 1000 -c 10 \
		-t get,set,lrange_100 -q >"$place/client.log" 2>&1
	smc_run redis-cli -p "$port" shutdown nosave || true
	gone "$server"
	clean client
	clean server
	smc_count
	[ "$smc_new" -ge 20 ]
}

@test "nginx with sendfile, and curl" {
	need nginx curl
	mkdir -p "$place/www"
	make_data "$place/www/file" 3000000
	cat >"$place/nginx.conf" <<-EOT
		daemon off;
		worker_processes 2;
		user root;
		pid $place/nginx.pid;
		events { worker_connections 64; }
		http {
			access_log off;
			sendfile on;
			client_body_temp_path $place;
			proxy_temp_path $place;
			fastcgi_temp_path $place;
			uwsgi_temp_path $place;
			scgi_temp_path $place;
			server { listen 127.0.0.1:$port; root $place/www; }
		}
	EOT
	start server "$leak" -v smc_run nginx -p "$place" \
		-c "$place/nginx.conf" -e "$place/error.txt"
	local server=$last
	await_port "$port"
	"$leak" -v smc_run curl -sS -o "$place/out" \
		"http://127.0.0.1:$port/file" "http://127.0.0.1:$port/file" \
		-o "$place/out" 2>"$place/client.log"
	same_data "$place/out"
	kill -QUIT "$(cat "$place/nginx.pid")"
	gone "$server"
	clean client
	clean server
}

@test "python: asyncio, threads, select" {
	need python3
	"$leak" -v smc_run python3 "$BATS_TEST_DIRNAME/asyncio_echo.py" \
		2>"$place/asyncio.log"
	clean asyncio
}

@test "iperf3 and socat" {
	need iperf3 socat
	start server "$leak" -v smc_run iperf3 -s -1 -B 127.0.0.1 -p "$port"
	local server=$last
	await_port "$port"
	"$leak" -v smc_run iperf3 -c 127.0.0.1 -p "$port" -n 3M -P 2 \
		>"$place/client.log" 2>&1
	gone "$server"
	clean client
	clean server
	free_port
	start relay "$leak" -v smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1" EXEC:cat
	server=$last
	await_port "$port"
	make_data "$place/in" 500000
	"$leak" -v smc_run socat -t 5 - "TCP:127.0.0.1:$port" <"$place/in" \
		>"$place/out" 2>"$place/socat.log"
	same_data "$place/out"
	gone "$server"
	clean socat
	clean relay
}

# The scenarios use every call there is.
@test "the oracle's scenarios" {
	local oracle=$programs/oracle/oracle list
	if [ -n "${SMC_R_LONG-}" ]; then
		list=("$BATS_TEST_DIRNAME"/../oracle/scenarios/*.txt)
	else
		list=("$BATS_TEST_DIRNAME"/../oracle/scenarios/{send_kinds,recv_kinds,peek,waitall,queues,poll_kinds,poll_room,epoll_edge,epoll_level,timeouts,shutdown_write,dup_kinds,fork_child_writes,exec_static,pass_fd,stdio,signal_recv,threads_both_ways,kill_peer}.txt)
	fi
	local script
	for script in "${list[@]}"; do
		timeout 100 "$oracle" -A "$leak smc_run" -B "$leak smc_run" \
			"$script" >>"$place/scenarios.txt" 2>&1 || true
	done
	run grep "leak: [a-z0-9_]*(" "$place/scenarios.txt"
	echo "$output"
	[ "$status" -eq 1 ]
}
