# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# qemu_nbd: a disk that qemu-nbd gives out; both ends ask io_uring what is ready
# programs: qemu-nbd, qemu-img
# needs: qemu-nbd qemu-img qemu-io
# length: long
# gets: smc=none must=PEER_NO_SMC
stranger() {
	qemu-img create -q -f raw disk 64M
	serve server qemu-nbd -t -e 4 -b 127.0.0.1 -p "$port" -f raw disk
	await_port "$port"
	data in 30000000; truncate -s 64M in
	ask qemu-img convert -n -f raw -O raw in "nbd://127.0.0.1:$port"
	ask qemu-img compare "nbd://127.0.0.1:$port" in
	ask qemu-io -f raw -c 'write -P 7 0 1M' -c 'read -P 7 0 1M' "nbd://127.0.0.1:$port" | grep -o '^[a-z0-9/ ]* bytes at offset [0-9]*'
	ask qemu-img info "nbd://127.0.0.1:$port" | grep virtual
}
