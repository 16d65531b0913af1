# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# puma: requests with bodies to a server of several threads
# programs: puma
# needs: puma curl
# length: long
# gets: smc=3 may=CLOSED
stranger() {
	local i
	echo 'run lambda { |e| [200, {"content-type" => "text/plain"}, [e["rack.input"].read.reverse]] }' >config.ru
	serve server puma -q -b "tcp://127.0.0.1:$port" -t 2:4 config.ru
	await_port "$port"
	data body 500000
	for i in 1 2 3; do
		ask curl -sS --data-binary @body "http://127.0.0.1:$port/$i" |
			digest
	done
}
