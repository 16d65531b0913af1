# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# omniorb: the naming service of omniORB, asked by nameclt
# programs: omniORB
# needs: omniNames nameclt
# length: long
# gets: smc=4 may=TIMEOUT,CLOSED
stranger() {
	local root=corbaname::127.0.0.1:$port i
	mkdir log
	serve server omniNames -start "$port" -logdir "$place/log" \
		-ORBendPoint "giop:tcp:127.0.0.1:$port"
	await_port "$port"
	for i in a b c; do
		ask nameclt -ORBInitRef "NameService=$root" bind_new_context $i | grep -c IOR
	done
	ask nameclt -ORBInitRef "NameService=$root" list
	ask nameclt -ORBInitRef "NameService=$root" unbind b
	ask nameclt -ORBInitRef "NameService=$root" list
}
