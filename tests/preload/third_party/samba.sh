# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# samba: smbd and smbclient: put, get, a directory
# programs: Samba
# needs: smbd smbclient
# length: long
# gets: smc=1 may=TIMEOUT,FORK,CLOSED
stranger() {
	mkdir -p share private && data share/file 3000000
	cat >smb.conf <<-EOT
		[global]
		smb ports = $port
		interfaces = 127.0.0.1
		bind interfaces only = yes
		map to guest = Bad User
		guest account = root
		private dir = $place/private
		lock directory = $place/private
		state directory = $place/private
		cache directory = $place/private
		pid directory = $place/private
		ncalrpc dir = $place/private
		log file = $place/private/log
		load printers = no
		disable spoolss = yes
		[s]
		path = $place/share
		guest ok = yes
		read only = no
	EOT
	serve server smbd -F -s smb.conf --no-process-group
	await_port "$port"
	ask smbclient -s smb.conf -N -p "$port" //127.0.0.1/s \
		-c 'get file a; put a b; dir' 2>&1 | grep -c -e file -e ' b '
	cmp a share/b
}
