# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mbuffer: a pipe over the network
# programs: mbuffer
# needs: mbuffer
# length: long
# gets: smc=1
stranger() {
	data file 20000000
	serve server mbuffer -q -m 4M -I "127.0.0.1:$port" -o out
	await_port "$port"
	ask mbuffer -q -m 4M -i file -O "127.0.0.1:$port"
	wait "$last"
	digest <out
}
