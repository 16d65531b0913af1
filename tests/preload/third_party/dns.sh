# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dns: dnsmasq and dig over TCP
# programs: dnsmasq, dig
# needs: dnsmasq dig
# length: long
# gets: smc=2 may=FORK,TIMEOUT,CLOSED
stranger() {
	serve server dnsmasq -k -C /dev/null --port="$port" --listen-address=127.0.0.1 \
		--bind-interfaces --no-resolv --no-hosts --user=root --pid-file= \
		--address=/example.test/192.0.2.7 --txt-record=t.test,hello
	await_port "$port"
	ask dig +tcp +short -p "$port" @127.0.0.1 example.test
	ask dig +tcp +short -p "$port" @127.0.0.1 t.test TXT
	ask dig +tcp +short +keepopen -p "$port" @127.0.0.1 a.example.test b.example.test
}
