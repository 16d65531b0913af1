# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# bind: named answers over TCP, a zone transfer
# programs: named
# needs: named dig
# length: long
# gets: smc=3 may=TIMEOUT,CLOSED
stranger() {
	local i
	mkdir z
	{
		# shellcheck disable=SC2016 # named's own variable
		printf '$TTL 60\n@ SOA ns h 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\n'
		for i in $(seq 3000); do echo "h$i A 192.0.2.$((i % 250 + 1))"; done
	} >z/x
	cat >named.conf <<-EOT
		options { directory "$place/z"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; };
		pid-file none; session-keyfile none; recursion no; dnssec-validation no; allow-transfer { any; }; };
		controls { };
		zone "x.test" { type master; file "$place/z/x"; };
	EOT
	serve server named -g -c named.conf
	await_true grep -qs "all zones loaded" server.log
	ask dig +tcp +short -p "$port" @127.0.0.1 h7.x.test
	ask dig +tcp +short -p "$port" @127.0.0.1 h8.x.test
	ask dig -p "$port" @127.0.0.1 x.test AXFR | grep -v '^;' | digest
}
