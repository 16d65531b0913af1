# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# tgt: an iSCSI disk: its list, what it says of itself, two seconds of reads
# programs: tgt, libiscsi
# needs: tgtd tgtadm iscsi-ls iscsi-inq iscsi-readcapacity16 iscsi-perf
# length: long
# gets: smc=4 may=TIMEOUT
stranger() {
	export TGT_IPC_SOCKET=$place/ipc
	data disk 8000000
	truncate -s 8388608 disk
	serve server tgtd -f --iscsi "portal=127.0.0.1:$port"
	await_port "$port"
	tgtadm --lld iscsi --op new --mode target --tid 1 -T iqn.2001-04.com.example:x
	tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b "$place/disk"
	tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL
	ask iscsi-ls -s "iscsi://127.0.0.1:$port"
	ask iscsi-inq "iscsi://127.0.0.1:$port/iqn.2001-04.com.example:x/1" | head -n 3
	ask iscsi-readcapacity16 "iscsi://127.0.0.1:$port/iqn.2001-04.com.example:x/1" | head -n 3
	ask iscsi-perf -t 2 -m 8 "iscsi://127.0.0.1:$port/iqn.2001-04.com.example:x/1" >perf
}
