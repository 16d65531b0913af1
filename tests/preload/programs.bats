#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# programs: unmodified servers and clients of Debian under smc_run. Their bytes
# are right, their connections were on SMC, and nothing of them is left.
# limit: 600
# long: 2400

load smc
# shellcheck disable=SC2154 # set by smc.bash
: "${programs-}" "${place-}" "${last-}" "${port-}" "${smc_new-}" "${tcp_new-}"
# shellcheck disable=SC2154
: "${demoted_new-}"

setup() {
	smc_begin
	free_port
}

redis_start() { # words before the program...
	start server "$@" redis-server --port "$port" --bind 127.0.0.1 \
		--save "" --dir "$place" --dbfilename dump.rdb \
		--daemonize no --protected-mode no
	await_port "$port"
}

redis_saved() {
	smc_run redis-cli -p "$port" info persistence |
		grep -q 'rdb_bgsave_in_progress:0' && [ -s "$place/dump.rdb" ]
}

@test "redis: 20 clients, a large value, BGSAVE under load" {
	need redis-server redis-benchmark redis-cli
	redis_start smc_run
	make_data "$place/in" 3000000
	start load smc_run redis-benchmark -p "$port" -n 20000 -c 20 \
		-t set,get,lpush,mset -d 700 -q
	smc_run redis-cli -p "$port" -x set big <"$place/in"
	[ "$(smc_run redis-cli -p "$port" bgsave)" = "Background saving started" ]
	smc_run redis-cli -p "$port" --raw get big |
		head -c 3000000 >"$place/out"
	same_data "$place/out"
	wait "$last"
	grep -q MSET "$place/load.log"
	await_true redis_saved
	[ "$(smc_run redis-cli -p "$port" strlen big)" = 3000000 ]
	all_on_smc 20 30000000
}

@test "redis: pipelines and a client that subscribes" {
	need redis-server redis-benchmark redis-cli
	redis_start smc_run
	start listener smc_run redis-cli -p "$port" subscribe news
	await_true grep -q subscribe "$place/listener.log"
	smc_run redis-benchmark -p "$port" -n 51200 -c 4 -P 64 -t incr -q
	[ "$(smc_run redis-cli -p "$port" get counter:__rand_int__)" = 51200 ]
	[ "$(smc_run redis-cli -p "$port" publish news hello)" = 1 ]
	await_true grep -q hello "$place/listener.log"
	all_on_smc 6
}

nginx_start() { # words before the program...
	mkdir -p "$place/www" "$place/nginx"
	cat >"$place/nginx.conf" <<-EOT
		daemon off;
		worker_processes 2;
		user root;
		pid $place/nginx.pid;
		error_log $place/error.log;
		events { worker_connections 256; }
		http {
			access_log off;
			client_body_temp_path $place/nginx;
			proxy_temp_path $place/nginx;
			fastcgi_temp_path $place/nginx;
			uwsgi_temp_path $place/nginx;
			scgi_temp_path $place/nginx;
			sendfile on;
			keepalive_requests 100000;
			server {
				listen 127.0.0.1:$port;
				root $place/www;
			}
		}
	EOT
	start server "$@" nginx -p "$place" -c "$place/nginx.conf" \
		-e "$place/error.log"
	await_port "$port"
}

@test "nginx: two workers, sendfile, five curls at once, ranges" {
	need nginx curl
	nginx_start smc_run
	make_data "$place/www/file" 5000000
	local i pids=()
	for i in 1 2 3 4 5; do
		smc_run curl -sS -o "$place/out$i" \
			"http://127.0.0.1:$port/file" &
		pids+=($!)
	done
	for i in 1 2 3 4 5; do
		wait "${pids[i - 1]}"
		same_data "$place/out$i"
	done
	smc_run curl -sS -r 1000-1999 "http://127.0.0.1:$port/file" |
		cmp - <(tail -c +1001 "$place/www/file" | head -c 1000)
	all_on_smc 6 25000000
}

# squid keeps its connection to nginx and asks there again: twice for so much
# that nginx waits for room many times, and then for little, when it sleeps. A
# wake-up that is lost leaves that request unanswered.
squid_start() { # words before the program...
	mkdir -p "$place/squid"
	chmod 777 "$place/squid"
	cat >"$place/squid.conf" <<-EOT
		http_port 127.0.0.1:$proxy
		http_access allow all
		cache_log $place/squid/cache.log
		access_log none
		pid_filename none
		coredump_dir $place/squid
		shutdown_lifetime 0 seconds
		maximum_object_size_in_memory 20 MB
		netdb_filename none
		pinger_enable off
		icon_directory /usr/share/squid/icons
		visible_hostname localhost
	EOT
	start squid "$@" squid -N -n "s$proxy" -f "$place/squid.conf"
	await_port "$proxy"
}

other_port() {
	free_port
	[ "$port" != "$proxy" ]
}

# Without the library, so that curl's connections are not among those counted.
ask_squid() { # file
	curl -sS -m 4 --noproxy '' -x "http://127.0.0.1:$proxy" \
		-o "$place/out" "http://127.0.0.1:$port/$1"
}

# Both begin anew in each round: a first sleep after much output is what counts.
squid_round() {
	local server
	nginx_start smc_run
	server=$last
	squid_start smc_run
	ask_squid large
	same_data "$place/out"
	ask_squid large
	ask_squid small
	[ "$(cat "$place/out")" = small ]
	kill -KILL -- "-$last"
	gone "$last"
	stop "$server"
}

@test "squid and nginx: a request on a connection that was kept" {
	need nginx squid curl
	local count=10 i proxy=$port
	[ -z "${SMC_R_LONG-}" ] || count=300
	await_true other_port
	mkdir -p "$place/www"
	make_data "$place/www/large" 10485760
	echo small >"$place/www/small"
	for ((i = 1; i <= count; i++)); do
		echo "round $i"
		squid_round
	done
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	# Each of squid's to nginx has two ends, of curl's one is counted.
	[ $((smc_new * 100)) -ge $((count * 2 * 95)) ]
	[ "$tcp_new" -le $((count * 3 + count / 10)) ]
}

# So many that readiness is told by bits; each file is larger than a ring, so
# all of them wait for room.
@test "nginx: 200 files at once, each larger than a ring" {
	need nginx curl
	nginx_start smc_run
	make_data "$place/www/file" 600000
	smc_run curl -sS -Z --parallel-immediate --parallel-max 200 -m 60 \
		-o /dev/null -w '%{size_download}\n' \
		"http://127.0.0.1:$port/file?[1-200]" \
		>"$place/sizes" 2>"$place/curl.log"
	[ "$(grep -c '^600000$' "$place/sizes")" = 200 ]
	smc_count
	[ "$smc_new" -ge 200 ]
}

@test "nginx: one curl, many files over one connection" {
	need nginx curl
	nginx_start smc_run
	local i urls=()
	for i in $(seq 20); do
		head -c $((i * 7777)) /dev/urandom >"$place/www/$i"
		urls+=("http://127.0.0.1:$port/$i")
	done
	smc_run curl -sS "${urls[@]}" |
		cmp - <(for i in $(seq 20); do cat "$place/www/$i"; done)
	all_on_smc 1
}

@test "nginx and wrk: 16 connections, small pages, no socket error" {
	need nginx wrk
	nginx_start smc_run
	echo "a small page" >"$place/www/index.html"
	smc_run wrk -t 2 -c 16 -d 2s "http://127.0.0.1:$port/" >"$place/wrk.log"
	cat "$place/wrk.log"
	grep -q 'requests in' "$place/wrk.log"
	run grep -e 'Socket errors' -e 'Non-2xx' "$place/wrk.log"
	[ "$status" -eq 1 ]
	# wrk opens one more and closes it at once.
	smc_count
	echo "smc $smc_new tcp $tcp_new demoted $demoted_new"
	[ "$smc_new" -ge 32 ]
	[ "$tcp_new" -le 2 ]
	[ "$demoted_new" = 0 ]
}

# iperf3 does not look at the bytes, and leaves the last ones unread.
iperf_run() { # iperf3's arguments...
	smc_run iperf3 -c 127.0.0.1 -p "$port" -J "$@" >"$place/iperf.json"
	jq -e '.error == null and .end.sum_received.bytes > 19000000 and
		.end.sum_sent.bytes >= .end.sum_received.bytes' \
		"$place/iperf.json" || {
		jq '.error, .end' "$place/iperf.json" | head -n 60
		return 1
	}
}

@test "iperf3: forth, back, four at once, from a file" {
	need iperf3
	start server smc_run iperf3 -s -B 127.0.0.1 -p "$port"
	await_port "$port"
	iperf_run -n 100M
	iperf_run -n 100M -R
	iperf_run -n 100M -P 4
	iperf_run -n 100M -Z
	iperf_run -n 20M -l 777
	all_on_smc 13 420000000
}

@test "memcached: four threads, eight clients, values by their sums" {
	need memcached python3
	start server smc_run memcached -t 4 -l 127.0.0.1 -p "$port" -u root -m 64
	await_port "$port"
	smc_run python3 "$BATS_TEST_DIRNAME/memcached_client.py" "$port"
	all_on_smc 8 8000000
}

@test "memcslap against memcached" {
	need memcached memcslap
	start server smc_run memcached -t 4 -l 127.0.0.1 -p "$port" -u root
	await_port "$port"
	smc_run timeout 60 memcslap --servers="127.0.0.1:$port" \
		--concurrency=4 --execute-number=2000 --test=get
	all_on_smc 4
}

@test "python's web server and curl" {
	need python3 curl
	mkdir -p "$place/www"
	make_data "$place/www/file" 4000000
	start server smc_run python3 -u -m http.server "$port" \
		--bind 127.0.0.1 --directory "$place/www"
	await_port "$port"
	local i
	for i in 1 2 3; do
		smc_run curl -sS "http://127.0.0.1:$port/file" >"$place/out"
		same_data "$place/out"
	done
	all_on_smc 3 12000000
}

@test "python's asyncio: one loop is server and client" {
	need python3
	smc_run python3 "$BATS_TEST_DIRNAME/asyncio_echo.py"
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ "$smc_new" -ge 2 ]
}

@test "a loop that accepts one at a time is server and client of many" {
	need python3
	smc_run python3 "$BATS_TEST_DIRNAME/one_at_a_time.py"
	smc_count
	echo "smc $smc_new tcp $tcp_new"
	[ "$smc_new" = 600 ]
	[ "$tcp_new" = 0 ]
}

@test "a loop begins with many that are accepted in turn, each when the one before is over" {
	need python3
	local turns=$BATS_TEST_DIRNAME/in_turn.py
	start server smc_run python3 "$turns" serve "$port"
	await_port "$port"
	[ "$(smc_run timeout 60 python3 "$turns" ask "$port")" = well ]
	wait "$last"
	all_on_smc 40
}

@test "a backlog of connections to itself, each asked whether it can be written to" {
	need python3
	local backlog=$BATS_TEST_DIRNAME/backlog.py how ms
	for how in poll select epoll; do
		for ms in 0 100; do
			[ "$(python3 "$backlog" $how $ms 300)" = well ]
			[ "$(smc_run python3 "$backlog" $how $ms 300)" = well ]
		done
	done
	all_on_smc 1800
}

@test "socat: a child for each connection, with a program behind it" {
	need socat
	start server smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" EXEC:cat
	await_port "$port"
	make_data "$place/in" 2000000
	local i
	for i in $(seq 20); do
		smc_run socat -t 5 - "TCP:127.0.0.1:$port" <"$place/in" \
			>"$place/out"
		same_data "$place/out"
	done
	all_on_smc 20 80000000
}

@test "socat: the program gets the connection itself, and is moved to TCP" {
	need socat
	start server smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" \
		EXEC:cat,nofork
	await_port "$port"
	make_data "$place/in" 2000000
	smc_run socat -t 5 - "TCP:127.0.0.1:$port" <"$place/in" >"$place/out"
	same_data "$place/out"
	smc_count
	echo "smc $smc_new tcp $tcp_new demoted $demoted_new"
	[ $((demoted_new + tcp_new)) = 2 ]
	smc_reasons | grep -q '^DEMOTED_STDIO [1-9]'
}

@test "a shell: printf, read and head on its /dev/tcp" {
	need bash socat
	start server smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" EXEC:cat
	await_port "$port"
	# shellcheck disable=SC2016 # for another shell
	[ "$(timeout 20 smc_run bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"
		printf "one\ntwo\nthree\n" >&3; echo four >&3
		read -r line <&3; echo "read $line"; head -n 3 <&3' "$port")" = \
		"read one
two
three
four" ]
	smc_reasons | grep -q '^DEMOTED_STDIO [1-9]'
}

@test "a connection that goes back to TCP has no delayed ACKs from ours" {
	need python3
	[ "$(smc_run python3 "$BATS_TEST_DIRNAME/quickack.py")" = 1 ]
	smc_count
	[ $((demoted_new + tcp_new)) = 2 ]
}

@test "socat: half close in both orders" {
	need socat
	start server smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" \
		SYSTEM:"wc -c"
	await_port "$port"
	[ "$(head -c 123456 /dev/zero |
		smc_run socat -t 5 - "TCP:127.0.0.1:$port")" -eq 123456 ]
	stop "$last"
	free_port
	start sender smc_run socat -u -t 5 SYSTEM:"echo from the server" \
		"TCP-LISTEN:$port,bind=127.0.0.1"
	await_port "$port"
	[ "$(smc_run socat -t 5 - "TCP:127.0.0.1:$port" </dev/null)" = \
		"from the server" ]
	all_on_smc 2
}

as_postgres() { # command...
	setpriv --reuid postgres --regid postgres --init-groups \
		env HOME="$place" "$@"
}

postgres_bin() {
	local dirs=(/usr/lib/postgresql/*/bin)
	bin=${dirs[-1]}
	[ -x "$bin/postgres" ] || skip "postgresql is not installed"
	getent passwd postgres >/dev/null || skip "there is no user postgres"
	need setpriv
	[ "$(id -u)" = 0 ] || skip "needs root to become the user postgres"
}

@test "PostgreSQL as its own user: psql, COPY, pgbench" {
	local bin
	postgres_bin
	mkdir "$place/pg" "$place/pgrun"
	chown postgres: "$place/pg" "$place/pgrun"
	as_postgres "$bin/initdb" -D "$place/pg" -A trust -N >"$place/init.log"
	start server setpriv --reuid postgres --regid postgres --init-groups \
		smc_run "$bin/postgres" -D "$place/pg" -p "$port" \
		-c listen_addresses=127.0.0.1 -c fsync=off \
		-c "unix_socket_directories=$place/pgrun"
	await_port "$port"
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
	await_true "$bin/pg_isready" -q -h "$place/pgrun"
	seq 1 30000 | awk '{ print $1 "\t" $1 * $1 "\ttext of row " $1 }' \
		>"$place/rows"
	smc_run psql -q -v ON_ERROR_STOP=1 -c \
		"create table t (a int, b bigint, c text)"
	smc_run psql -q -v ON_ERROR_STOP=1 -c "copy t from stdin" \
		<"$place/rows"
	smc_run psql -q -c "copy (select * from t order by a) to stdout" |
		cmp - "$place/rows"
	smc_run "$bin/pgbench" -i -q -s 1 >"$place/pginit.log" 2>&1
	smc_run "$bin/pgbench" -n -c 4 -j 2 -T 2 >"$place/pgbench.log"
	grep -q 'number of failed transactions: 0 ' "$place/pgbench.log"
	[ "$(smc_run psql -At -c "select sum(bbalance) - (select sum(delta)
		from pgbench_history) from pgbench_branches")" = 0 ]
	all_on_smc 9 1000000
}

@test "a program that asks for AF_SMC gets a connection" {
	local family
	for family in 0 1; do
		free_port
		start "server$family" smc_run "$programs/preload/af_smc" \
			serve "$family" "$port"
		await_port "$port"
		smc_run "$programs/preload/af_smc" ask "$family" "$port"
		wait "$last"
	done
	all_on_smc 2
}

@test "AF_SMC at one end, an ordinary program at the other" {
	need socat
	start server smc_run socat -t 5 \
		"TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" EXEC:cat
	await_port "$port"
	smc_run "$programs/preload/af_smc" ask 0 "$port"
	all_on_smc 1
}

# A sender that is killed in mid-transfer: the receiver has a clean prefix.
@test "kill -9 of the sender: the receiver gets a prefix and the end" {
	need socat
	start receiver smc_run socat -u \
		"TCP-LISTEN:$port,bind=127.0.0.1" "CREATE:$place/out"
	local receiver=$last
	await_port "$port"
	make_data "$place/in" 200000000
	start sender smc_run socat -u "OPEN:$place/in" "TCP:127.0.0.1:$port"
	await_true test -s "$place/out"
	kill -KILL -- "-$last"
	gone "$receiver"
	cmp -n "$(stat -c %s "$place/out")" "$place/in" "$place/out"
	all_on_smc 1
}

@test "kill -9 of the receiver: the sender ends with an error" {
	need socat
	start receiver smc_run socat -u \
		"TCP-LISTEN:$port,bind=127.0.0.1" "CREATE:$place/out"
	local receiver=$last
	await_port "$port"
	start sender smc_run socat -u OPEN:/dev/zero "TCP:127.0.0.1:$port"
	await_true test -s "$place/out"
	kill -KILL -- "-$receiver"
	gone "$last"
	run wait "$last"
	[ "$status" -ne 0 ]
	grep -q -e 'Broken pipe' -e 'Connection reset' "$place/sender.log"
}

connected() { # least number of clients
	[ "$(ss -Htn "sport = :$port" | wc -l)" -ge "$1" ]
}

@test "kill -9 of a server with many clients: none of them hangs" {
	need redis-server redis-benchmark
	redis_start smc_run
	local server=$last
	start load smc_run redis-benchmark -p "$port" -n 10000000 -c 20 -q
	await_true connected 20
	# One whose first write fails takes that for EAGAIN, and loops. It has
	# something to say when all have written.
	await_true test -s "$place/load.log"
	kill -KILL -- "-$server"
	gone "$last"
}

one_end() { # words of the server, words of the client, the reason
	mkdir -p "$place/www"
	make_data "$place/www/file" 1000000
	# shellcheck disable=SC2086
	start server $1 python3 -u -m http.server "$port" --bind 127.0.0.1 \
		--directory "$place/www"
	await_port "$port"
	# shellcheck disable=SC2086
	$2 curl -sS "http://127.0.0.1:$port/file" >"$place/out"
	same_data "$place/out"
	none_on_smc "$3"
}

@test "only the server has the library: TCP, and the reason is shown" {
	need python3 curl
	one_end smc_run "" PEER_NO_SMC
}

@test "only the client has the library: TCP, and the reason is shown" {
	need python3 curl
	one_end "" smc_run PEER_NO_SMC
}

@test "SMC_R=0 at one end: TCP, and the reason is shown" {
	need python3 curl
	one_end smc_run "env SMC_R=0 smc_run" PEER_NO_SMC
}

@test "a port that is not listed: untouched" {
	need python3 curl
	chdev -q -l smc_r0 -a "port_range_list=1-$((port - 1))"
	one_end smc_run smc_run -
	chdev -q -l smc_r0 -a "port_range_list=1-65535"
}

@test "an address that is not listed: untouched" {
	need python3 curl
	chdev -q -l smc_r0 -a "ip_addr_list=::1"
	one_end smc_run smc_run -
	chdev -q -l smc_r0 -a "ip_addr_list=127.0.0.1,::1"
}

@test "the device is changed while a server runs: its next connection knows" {
	need python3 curl
	chdev -q -l smc_r0 -a enabled=0
	one_end smc_run smc_run -
	chdev -q -l smc_r0 -a enabled=1
	smc_run curl -sS "http://127.0.0.1:$port/file" >"$place/out"
	same_data "$place/out"
	all_on_smc 1
}

# One that ends without a close may meet our Decline in its last moment.
@test "clients that close when they have connected are no error to the server" {
	local brief=$BATS_TEST_DIRNAME/brief.py
	python3 "$brief" 400 200 >"$place/plain"
	cat "$place/plain"
	[ "$(grep -c : "$place/plain")" -eq 2 ]
	smc_run python3 "$brief" 400 200 >"$place/smc"
	cat "$place/smc"
	[ "$(sed -n 2,3p "$place/smc")" = "$(sed -n 2,3p "$place/plain")" ]
	local ends
	ends=$(sed -n 's/ *\([0-9]*\): its end/\1/p' "$place/smc" | tail -n 1)
	[ "$ends" -ge 190 ]
}
