# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# firebird: Firebird: sessions beside each other, large rows, errors
# programs: Firebird
# needs: firebird isql-fb /var/lib/firebird/3.0/system/security3.fdb
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	local i db=127.0.0.1/$port:$place/fb/a.fdb asks=()
	mkdir fb && chmod 777 fb
	cat >fb/firebird.conf <<-EOT
		RemoteServicePort = $port
		RemoteBindAddress = 127.0.0.1
		AuthServer = Srp
		UserManager = Srp
		WireCrypt = Enabled
		ServerMode = Super
		DatabaseAccess = Full
		SecurityDatabase = $place/fb/security.fdb
		RemoteAuxPort = $(another)
	EOT
	cp /etc/firebird/3.0/databases.conf /etc/firebird/3.0/plugins.conf fb/ 2>/dev/null
	cp /var/lib/firebird/3.0/system/security3.fdb fb/security.fdb
	chmod 666 fb/*
	export FIREBIRD=$place/fb FIREBIRD_LOCK=$place/fb FIREBIRD_TMP=$place/fb
	echo "create user sysdba password 'm';" | isql-fb -q -user sysdba "$place/fb/security.fdb" >user.txt 2>&1
	serve server firebird
	await_port "$port"
	cat >a.sql <<-EOT
		create database '$db' user 'sysdba' password 'm';
		create table t (k integer, s integer, v varchar(8000));
		commit;
	EOT
	ask isql-fb -q -i a.sql
	for i in 1 2 3 4; do
		seq 200 | awk -v k=$i '{ printf "insert into t values (%d, %d, rpad(\"\", %d, \"x%d\"));\n", k, $1, $1 * 30, $1 }' | tr '"' "'" >i$i.sql
		echo "commit;" >>i$i.sql
		ask isql-fb -q -user sysdba -password m -i i$i.sql "$db" >o$i 2>&1 &
		asks+=($!)
	done
	wait "${asks[@]}"
	cat o?
	echo "select k, count(*), sum(char_length(v)) from t group by k; select v from t order by k, s; select * from nowhere;" >q.sql
	ask isql-fb -q -user sysdba -password m -i q.sql "$db" >out 2>&1
	head -8 out; digest <out
	ask isql-fb -q -user sysdba -password wrong -i q.sql "$db" || true
}
