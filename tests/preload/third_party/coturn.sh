# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# coturn: coturn: relays for clients over TCP
# programs: coturn
# needs: turnserver turnutils_uclient turnutils_peer
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	local peer
	peer=$(another)
	serve peer turnutils_peer -p "$peer" -L 127.0.0.1
	serve server turnserver -n --no-udp --no-tls --no-dtls --no-cli -L 127.0.0.1 -E 127.0.0.1 -p "$port" --allow-loopback-peers \
		--lt-cred-mech -u user:word -r here --log-file stdout --pidfile "$place/pid" --userdb "$place/db" --no-stdout-log -m 2
	await_port "$port"
	ask turnutils_uclient -t -c -n 60 -m 4 -l 800 -z 2 -u user -w word -r "$peer" -e 127.0.0.1 -p "$port" 127.0.0.1 |
		grep -o -e 'tot_send_msgs=[0-9]*, tot_recv_msgs=[0-9]*$' -e 'Total lost packets 0' | tail -n 2
}
