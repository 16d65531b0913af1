# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# pgbouncer: a pool of connections between psql, pgbench and PostgreSQL
# programs: PgBouncer
# needs: pgbouncer psql :postgres /usr/lib/postgresql/*/bin/pgbench
# length: long
# gets: smc=16 may=FORK,CLOSED,TIMEOUT
stranger() {
	local pool
	pool=$(another)
	serve_postgres
	echo '"postgres" ""' >users
	cat >conf <<-EOT
		[databases]
		postgres = host=127.0.0.1 port=$port user=postgres
		[pgbouncer]
		listen_addr = 127.0.0.1
		listen_port = $pool
		auth_type = any
		unix_socket_dir =
		pool_mode = transaction
		default_pool_size = 3
		ignore_startup_parameters = extra_float_digits
	EOT
	start pool "${as_postgres[@]}" "${wrap[@]}" pgbouncer "$place/conf"
	await_port "$pool"
	export PGPORT=$pool
	ask psql -At -c "select count(*), sum(n) from generate_series(1, 100000) n"
	ask psql -At -c "select n, repeat('x', 100) from generate_series(1, 20000) n" | digest
	ask "$pg_bin/pgbench" -i -q -s 1 >init2.log 2>&1
	ask "$pg_bin/pgbench" -n -c 8 -j 2 -t 100 | grep -e 'number of trans' -e failed
	ask psql -At -c "select sum(bbalance) - (select sum(delta) from pgbench_history)
		from pgbench_branches"
}
