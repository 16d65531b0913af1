# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# h2db: the TCP server of the H2 database, by its shell
# programs: H2 (Java)
# needs: java /usr/share/java/h2.jar
# length: long
# gets: smc=1 may=TIMEOUT,CLOSED
stranger() {
	local i
	serve server java -cp /usr/share/java/h2.jar org.h2.tools.Server \
		-tcp -tcpPort "$port" -ifNotExists -baseDir "$place"
	await_port "$port"
	{
		echo "create table t (n int primary key, s varchar(1000));"
		for i in $(seq 100); do
			echo "insert into t values ($i, 'text number $i');"
		done
		echo "select count(*), sum(n), max(s) from t;"
		echo "select s from t where n > 90 order by n;"
	} >all.sql
	ask java -cp /usr/share/java/h2.jar org.h2.tools.RunScript \
		-url "jdbc:h2:tcp://127.0.0.1:$port/db" -user sa \
		-script all.sql -showResults
}
