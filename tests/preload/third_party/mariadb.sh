# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mariadb: the client, mysqldump, mysqlslap, LOAD DATA
# programs: MariaDB
# with: no native aio
# needs: mariadbd mariadb mariadb-dump mariadb-slap :mysql
# length: long
# gets: smc=5
stranger() {
	maria --innodb-use-native-aio=0
}
maria() { # arguments of the server...
	local client=(mariadb --no-defaults -h 127.0.0.1 -P "$port" -u root -N)
	mkdir db && chown mysql: db
	mariadb-install-db --no-defaults --user=mysql --datadir="$place/db" \
		--auth-root-authentication-method=normal --skip-test-db \
		>install.log 2>&1
	serve server mariadbd --no-defaults --user=mysql --datadir="$place/db" \
		--bind-address=127.0.0.1 --port="$port" --skip-name-resolve \
		--socket="$place/db/sock" --local-infile=1 "$@"
	await_port "$port"
	ask "${client[@]}" -e 'create database d; create table d.t (a int, b text)'
	seq 20000 | awk '{ print $1 "\trow " $1 }' >rows
	ask "${client[@]}" --local-infile d -e "load data local infile 'rows' into table t"
	ask "${client[@]}" d -e 'select * from t' | digest
	ask "${client[@]}" d -e 'select sum(a) from t; selec 1'
	ask mariadb-dump --no-defaults -h 127.0.0.1 -P "$port" -u root \
		--skip-dump-date --skip-comments d | digest
	ask mariadb-slap --no-defaults -h 127.0.0.1 -P "$port" -u root \
		--auto-generate-sql -c 4 --number-of-queries=400 | grep -i clients
	ask "${client[@]}" -e 'shutdown'
}
