# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# pgpool: Pgpool-II: forked children between psql and PostgreSQL
# programs: Pgpool-II
# needs: pgpool psql :postgres /usr/lib/postgresql/*/bin/pgbench
# length: long
# gets: smc=8 may=FORK,CLOSED,TIMEOUT
stranger() {
	local pool
	pool=$(another)
	serve_postgres
	: >empty
	cat >conf <<-EOT
		backend_clustering_mode = 'raw'
		listen_addresses = '127.0.0.1'
		port = $pool
		socket_dir = '$place'
		pcp_socket_dir = '$place'
		pcp_port = $(another)
		pcp_listen_addresses = ''
		pid_file_name = '$place/pid'
		logdir = '$place'
		backend_hostname0 = '127.0.0.1'
		backend_port0 = $port
		num_init_children = 4
		max_pool = 2
		connection_cache = on
		sr_check_period = 0
		use_watchdog = off
	EOT
	start pool "${as_postgres[@]}" "${wrap[@]}" pgpool -n -f "$place/conf" -a "$place/empty" -F "$place/empty"
	await_port "$pool"
	export PGPORT=$pool
	ask psql -At -c "select count(*), sum(n) from generate_series(1, 100000) n"
	ask psql -At -c "select n, repeat('x', 100) from generate_series(1, 20000) n" | digest
	ask "$pg_bin/pgbench" -i -q -s 1 >init2.log 2>&1
	ask "$pg_bin/pgbench" -n -c 3 -j 2 -t 100 | grep -e 'number of trans' -e failed
}
