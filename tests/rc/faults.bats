#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# faults: what two hosts do when a program, a link service or an RDMA core is
# killed or stopped, and when packets of the RDMA cores are lost.
# limit: 240
# long: 1200

load hosts
# shellcheck disable=SC2154 # set by hosts.bash
: "${last-}"

# SMC_R_SEED and SMC_R_ROUNDS make a round again that failed.
@test "killed and stopped at random moments: as on TCP, and nothing is left" {
	local rounds=20
	[ -z "${SMC_R_LONG-}" ] || rounds=200
	BIN=$BIN python3 -u "$BATS_TEST_DIRNAME/rounds.py" \
		"${SMC_R_SEED:-$RANDOM}" "${SMC_R_ROUNDS:-$rounds}"
}
