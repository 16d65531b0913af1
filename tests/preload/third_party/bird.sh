# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# bird: two BGP speakers that exchange 20000 routes, without and with TCP-MD5
# programs: BIRD
# needs: bird birdc
# length: long
# gets: smc=2 may=CLOSED
speaker() { # number, its port, the other's, a line for the session
	cat >"$1.conf" <<-EOT
		router id 10.0.0.$1;
		log stderr all;
		protocol device { }
		include "$place/routes.$1";
		protocol bgp peer {
			local 127.0.0.1 port $2 as 6500$1;
			neighbor 127.0.0.1 port $3 as 6500$((3 - $1));
			multihop 2;
			strict bind yes;
			connect delay time 1;
			connect retry time 1;
			error wait time 1, 2;
			$4
			ipv4 { import all; export all; next hop address 10.9.9.$1; gateway recursive; };
		}
	EOT
	serve "speaker$1" bird -f -c "$1.conf" -s "$place/$1.ctl" -P "$place/$1.pid"
}
knows() { # number, routes
	birdc -s "$place/$1.ctl" show route count 2>/dev/null | grep -q "^$2 of"
}
stranger() {
	local other line i j
	{
		echo "protocol static { ipv4;"
		for i in $(seq 0 79); do
			for j in $(seq 0 249); do
				echo "route 20.$i.$j.0/24 blackhole;"
			done
		done
		echo "}"
	} >routes.1
	echo "protocol static { ipv4; route 30.0.0.0/8 blackhole; }" >routes.2
	for line in "" 'password "secret";'; do
		free_port
		other=$(another)
		speaker 1 "$port" "$other" "passive yes; $line"
		await_port "$port"
		speaker 2 "$other" "$port" "$line"
		await_true knows 2 20001
		await_true knows 1 20001
		birdc -s "$place/2.ctl" show route count | grep ' of '
		stop "${started[-1]}"
		stop "${started[-2]}"
	done
}
