# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nbd: a disk of nbdkit's, written and read by several connections
# programs: nbdkit, libnbd
# needs: nbdkit nbdcopy nbdinfo
# length: long
# gets: smc=4 may=CLOSED
stranger() {
	serve server nbdkit -f -p "$port" -i 127.0.0.1 memory 32M
	await_port "$port"
	data in 20000000
	ask nbdcopy in "nbd://127.0.0.1:$port"
	ask nbdcopy "nbd://127.0.0.1:$port" out
	head -c 20000000 out | digest
	ask nbdinfo --size "nbd://127.0.0.1:$port"
}
