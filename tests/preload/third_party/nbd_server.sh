# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nbd_server: nbd-server: a process for each client
# programs: nbd-server
# needs: nbd-server nbdinfo nbdcopy qemu-img
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT,FORK,PEER_NO_SMC
stranger() {
	data disk 20000000 && truncate -s 20M disk
	printf '[generic]\nlistenaddr = 127.0.0.1\nport = %s\nallowlist = true\n[disk]\nexportname = %s\n' "$port" "$place/disk" >conf
	serve server nbd-server -C "$place/conf" -p "$place/pid"
	await_port "$port"
	ask nbdinfo --size "nbd://127.0.0.1:$port/disk"
	ask nbdcopy "nbd://127.0.0.1:$port/disk" copy
	cmp disk copy && echo same
	data in 9000000 && truncate -s 20M in
	ask nbdcopy in "nbd://127.0.0.1:$port/disk"
	cmp disk in && echo same
	ask nbdinfo "nbd://127.0.0.1:$port/none" 2>/dev/null
	kill "$(cat pid)"
}
