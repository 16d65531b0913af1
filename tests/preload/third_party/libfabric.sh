# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# libfabric: the tcp provider of libfabric, with data checked
# programs: libfabric (tcp)
# needs: fi_pingpong
# length: long
# gets: smc=2 may=CLOSED,TIMEOUT
stranger() {
	local p kind
	for kind in 'tcp msg' 'tcp;ofi_rxm rdm' 'tcp rdm'; do
		p=$(another)
		serve "server" fi_pingpong -B "$p" -p "${kind% *}" -e "${kind#* }" -c -I 200 -S 65536
		await_port "$p"
		ask fi_pingpong -P "$p" -p "${kind% *}" -e "${kind#* }" -c -I 200 -S 65536 127.0.0.1 |
			awk '{ print $1, $2 }'
	done
}
