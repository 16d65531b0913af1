# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by strangers.sh
# postgresql: psql, COPY, LISTEN, cancel, pg_dump, pgbench with a connection for each transaction
# programs: PostgreSQL
# needs: :postgres setpriv /usr/lib/postgresql/*/bin/postgres
# length: long
# gets: smc=50 may=TIMEOUT,FORK
stranger() {
	local bins=(/usr/lib/postgresql/*/bin) bin
	local as=(setpriv --reuid postgres --regid postgres --init-groups)
	bin=${bins[-1]}
	mkdir db sock && chown postgres: db sock
	"${as[@]}" "$bin/initdb" -D db -A trust -N >/dev/null
	# Our words come after setpriv: the environment is the same.
	start server "${as[@]}" "${wrap[@]}" "$bin/postgres" -D db -p "$port" \
		-c listen_addresses=127.0.0.1 -c fsync=off \
		-c "unix_socket_directories=$place/sock"
	await_port "$port"
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres
	await_true "$bin/pg_isready" -q -h "$place/sock"
	ask "$bin/psql" -q -c 'create table t (a int, b text)'
	seq 50000 | awk '{ print $1 "\trow " $1 }' >rows
	ask "$bin/psql" -c '\copy t from rows'
	ask "$bin/psql" -q -c 'copy t to stdout' | digest
	ask "$bin/psql" -At -c 'select b from t where a > 49000' | digest
	ask "$bin/pg_dump" -t t | grep -v -e '^--' -e '^.restrict' -e '^.unrestrict' | digest
	ask "$bin/psql" -q -c 'listen news' -c "notify news, 'hello'" \
		-c 'select 1' | sed 's/PID [0-9]*/PID/'
	ask timeout -s INT 1 "$bin/psql" -c 'select pg_sleep(20)'
	ask "$bin/psql" -At -c 'set statement_timeout = 200' -c 'select pg_sleep(9)'
	ask "$bin/psql" -At -c 'select pg_terminate_backend(pg_backend_pid())' \
		2>&1 | grep -e terminat -e closed
	ask "$bin/pgbench" -i -q -s 1 >/dev/null 2>&1
	ask "$bin/pgbench" -n -C -c 4 -t 20 | grep -e processed -e failed
	ask "$bin/pgbench" -n -S -c 4 -t 200 | grep -e processed -e failed
	ask "$bin/psql" -At -c 'select count(*) from pgbench_history'
}
