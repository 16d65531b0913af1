# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2034,SC2317 # set and called by third_party.sh
# ovsdb: a database of Open vSwitch: a cluster of three, monitors
# programs: ovsdb-server
# needs: ovsdb-server ovsdb-tool ovsdb-client
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	local i p=() r=()
	for i in 1 2 3; do
		p[i]=$(another)
		port=${p[i]}
		r[i]=$(another)
		port=${r[i]}
	done
	cat >s.json <<-'EOT'
		{"name": "T", "version": "1.0.0", "tables": {"a": {"columns": {"k": {"type": "integer"}, "v": {"type": "string"}}, "isRoot": true, "indexes": [["k"]]}}}
	EOT
	export OVS_RUNDIR=$place OVS_LOGDIR=$place OVS_DBDIR=$place
	ovsdb-tool create-cluster 1.db s.json "tcp:127.0.0.1:${r[1]}"
	for i in 2 3; do
		ovsdb-tool join-cluster "$i.db" T "tcp:127.0.0.1:${r[i]}" "tcp:127.0.0.1:${r[1]}"
	done
	for i in 1 2 3; do
		serve "db$i" ovsdb-server --remote="ptcp:${p[i]}:127.0.0.1" \
			--unixctl="$place/$i.ctl" "$i.db"
		await_port "${p[i]}"
	done
	ask ovsdb-client -t 20 wait "tcp:127.0.0.1:${p[1]}" T connected 2>/dev/null
	serve monitor ovsdb-client monitor "tcp:127.0.0.1:${p[2]}" T a k
	for i in 1 2 3 4 5 6 7 8 9 10; do
		ask ovsdb-client -t 20 transact "tcp:127.0.0.1:${p[1 + i % 3]}" "[\"T\", {\"op\": \"insert\", \"table\": \"a\", \"row\": {\"k\": $i, \"v\": \"$(seq $((i * 400)) | tr '\n' ' ')\"}}]" |
			grep -c uuid
	done
	ten() { [ "$(grep -c ' insert ' monitor.log)" = 10 ]; }
	await_true ten
	for i in 1 2 3; do
		ask ovsdb-client -t 20 --no-leader-only -f csv dump "tcp:127.0.0.1:${p[i]}" T a k v | sort -n | digest
	done
}
