# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ucx: UCX over TCP: tags, streams and one-sided, with data checked
# programs: UCX (tcp)
# needs: ucx_perftest
# length: long
# gets: smc=5 may=CLOSED,TIMEOUT
stranger() {
	local test p
	export UCX_TLS=tcp UCX_NET_DEVICES=lo UCX_WARN_UNUSED_ENV_VARS=n
	for test in tag_lat tag_bw stream_bw ucp_am_bw ucp_put_bw ucp_get; do
		p=$(another)
		serve "$test" ucx_perftest -p "$p" -f
		await_port "$p"
		ask ucx_perftest 127.0.0.1 -p "$p" -t "$test" -f -n 300 -w 10 \
			-s 200000 >"$test.out" 2>"$test.err"
		ls -s "$test.err"
	done
}
