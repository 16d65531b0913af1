# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# kamailio: calls over TCP through a proxy whose processes pass connections
# programs: kamailio, sipp
# needs: kamailio sipp
# length: long
# gets: must=DEMOTED_PASSING may=DEMOTED_PEER,TIMEOUT,CLOSED,FORK
stranger() {
	local uas how
	uas=$(another)
	cat >k.cfg <<-EOT
		#!KAMAILIO
		debug=1
		log_stderror=yes
		children=2
		tcp_children=3
		listen=tcp:127.0.0.1:$port
		mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
		loadmodule "tm.so"
		loadmodule "tmx.so"
		loadmodule "sl.so"
		loadmodule "pv.so"
		loadmodule "maxfwd.so"
		loadmodule "textops.so"
		loadmodule "siputils.so"
		request_route {
			if (is_method("OPTIONS")) { sl_send_reply("200", "OK"); exit; }
			\$du = "sip:127.0.0.1:$uas;transport=tcp";
			t_relay();
			exit;
		}
	EOT
	serve server kamailio -DD -E -f k.cfg -Y "$place" -m 64 -M 8
	await_port "$port"
	serve uas sipp -sn uas -t t1 -i 127.0.0.1 -p "$uas" -nostdin
	await_port "$uas"
	for how in t1 tn; do
		ask sipp -sn uac -t "$how" -i 127.0.0.1 -rsa "127.0.0.1:$port" \
			-m 100 -r 50 -d 50 -nostdin -trace_stat \
			-max_socket 1000 -stf "$how.csv" "127.0.0.1:$uas" \
			>/dev/null 2>&1
		tail -n 1 "$how.csv" | cut -d ';' -f 16,18
	done
}
