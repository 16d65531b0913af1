# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# pg_replica: PostgreSQL: a base backup, a replica that streams
# programs: PostgreSQL (replica)
# needs: psql :postgres /usr/lib/postgresql/*/bin/pg_basebackup
# length: long
# gets: smc=5 may=FORK,CLOSED,TIMEOUT
stranger() {
	local other
	other=$(another)
	serve_postgres
	mkdir copy && chown postgres: copy && chmod 700 copy
	ask psql -p "$port" -Atq -c 'create table t as select n, repeat(n::text, 20) s from generate_series(1, 20000) n'
	ask "${as_postgres[@]}" "$pg_bin/pg_basebackup" -h 127.0.0.1 -p "$port" -U postgres -D "$place/copy" -X stream -R -c fast
	start replica "${as_postgres[@]}" "${wrap[@]}" "$pg_bin/postgres" -D "$place/copy" -p "$other" \
		-c listen_addresses=127.0.0.1 -c "unix_socket_directories=$place"
	await_port "$other"
	await_true "${wrap[@]}" "$pg_bin/pg_isready" -q -h 127.0.0.1 -p "$other"
	ask psql -p "$port" -Atq -c 'insert into t select n, repeat(n::text, 30) from generate_series(20001, 60000) n'
	await_true sh -c '"$@" | grep -qx 60000' sh "${wrap[@]}" psql -p "$other" -At -c 'select count(*) from t'
	ask psql -p "$other" -At -c 'insert into t values (1)'
	ask psql -p "$other" -At -c 'select sum(length(s)), md5(string_agg(s, chr(10) order by n)) from t'
}
