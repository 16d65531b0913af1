# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# postgresql: psql, COPY, LISTEN, cancel, pg_dump, pgbench with a connection for each transaction
# programs: PostgreSQL
# needs: :postgres setpriv /usr/lib/postgresql/*/bin/postgres
# length: long
# gets: smc=50 may=TIMEOUT,FORK
stranger() {
	serve_postgres
	ask "$pg_bin/psql" -q -c 'create table t (a int, b text)'
	seq 50000 | awk '{ print $1 "\trow " $1 }' >rows
	ask "$pg_bin/psql" -c '\copy t from rows'
	ask "$pg_bin/psql" -q -c 'copy t to stdout' | digest
	ask "$pg_bin/psql" -At -c 'select b from t where a > 49000' | digest
	ask "$pg_bin/pg_dump" -t t | grep -v -e '^--' -e '^.restrict' -e '^.unrestrict' | digest
	ask "$pg_bin/psql" -q -c 'listen news' -c "notify news, 'hello'" \
		-c 'select 1' | sed 's/PID [0-9]*/PID/'
	ask timeout -s INT 1 "$pg_bin/psql" -c 'select pg_sleep(20)'
	ask "$pg_bin/psql" -At -c 'set statement_timeout = 200' -c 'select pg_sleep(9)'
	ask "$pg_bin/psql" -At -c 'select pg_terminate_backend(pg_backend_pid())' \
		2>&1 | grep -e terminat -e closed
	ask "$pg_bin/pgbench" -i -q -s 1 >/dev/null 2>&1
	ask "$pg_bin/pgbench" -n -C -c 4 -t 20 | grep -e processed -e failed
	ask "$pg_bin/pgbench" -n -S -c 4 -t 200 | grep -e processed -e failed
	ask "$pg_bin/psql" -At -c 'select count(*) from pgbench_history'
}
