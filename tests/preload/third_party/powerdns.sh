# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# powerdns: PowerDNS: zones over TCP from the server, the recursor and dnsdist
# programs: PowerDNS
# needs: pdns_server pdns_recursor dnsdist dig
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	local recursor dist i
	recursor=$(another) dist=$(another)
	{
		echo "\$TTL 300"
		echo '@ IN SOA ns.example.test. a.example.test. 1 2 3 4 5'
		echo '@ IN NS ns'
		echo 'ns IN A 127.0.0.1'
		for ((i = 0; i < 2000; i++)); do echo "h$i IN A 10.0.$((i / 250)).$((i % 250))"; done
	} >zone
	echo "zone \"example.test\" { type master; file \"$place/zone\"; };" >named.conf
	mkdir empty sockets
	serve server pdns_server --config-dir="$place/empty" --daemon=no --guardian=no --launch=bind --bind-config="$place/named.conf" \
		--local-address=127.0.0.1 --local-port="$port" --socket-dir="$place/sockets" --allow-axfr-ips=127.0.0.1 \
		--module-dir=/usr/lib/x86_64-linux-gnu/pdns --security-poll-suffix= --zone-cache-refresh-interval=0
	await_port "$port"
	serve recursor pdns_recursor --config-dir="$place/empty" --daemon=no --local-address=127.0.0.1 --local-port="$recursor" \
		--socket-dir="$place/sockets" --forward-zones="example.test=127.0.0.1:$port" --security-poll-suffix= --threads=1 --dont-query= --dnssec=off
	await_port "$recursor"
	cat >dnsdist.conf <<-EOT
		setLocal("127.0.0.1:$dist")
		newServer({address="127.0.0.1:$recursor", useClientSubnet=false, tcpOnly=true})
	EOT
	serve dist dnsdist --supervised -C "$place/dnsdist.conf"
	await_port "$dist"
	ask dig +tcp +noall +answer @127.0.0.1 -p "$port" axfr example.test | sort | digest
	ask dig +tcp +short @127.0.0.1 -p "$port" h1.example.test h2.example.test h3.example.test
	ask dig +tcp +short @127.0.0.1 -p "$recursor" h4.example.test h5.example.test
	ask dig +tcp +keepopen +short @127.0.0.1 -p "$dist" h6.example.test +tcp h7.example.test +tcp h8.example.test
	ask dig +tcp +short @127.0.0.1 -p "$dist" none.example.test
}
