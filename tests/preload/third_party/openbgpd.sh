# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# openbgpd: two BGP speakers that exchange routes
# programs: OpenBGPD
# needs: bgpd bgpctl :_openbgpd
# length: long
# gets: smc=none may=UNAVAILABLE
# Its session engine changes its root before it uses a socket.
speaker() { # number, its port, the other's, a line for the neighbor
	cat >"$1.conf" <<-EOT
		AS 6500$1
		router-id 10.0.0.$1
		fib-update no
		listen on 127.0.0.1 port $2
		socket "$place/$1.ctl"
		include "$place/routes.$1"
		neighbor 127.0.0.1 {
			remote-as 6500$((3 - $1))
			port $3
			local-address 127.0.0.1
			$4
		}
		allow from any
		allow to any
	EOT
	chmod 600 "$1.conf"
	serve "speaker$1" bgpd -d -f "$place/$1.conf"
}
knows() { # number, routes
	[ "$(bgpctl -s "$place/$1.ctl" show rib in 2>/dev/null | grep -c '/')" -ge "$2" ]
}
stranger() {
	local other i
	other=$(another)
	mkdir -p /run/openbgpd
	for i in $(seq 0 2499); do
		echo "network 20.$((i / 250)).$((i % 250)).0/24"
	done >routes.1
	echo "network 30.0.0.0/8" >routes.2
	speaker 1 "$port" "$other" passive
	await_port "$port"
	speaker 2 "$other" "$port" ""
	await_true knows 2 2500
	await_true knows 1 1
	bgpctl -s "$place/2.ctl" show rib | grep -c '/24'
}
