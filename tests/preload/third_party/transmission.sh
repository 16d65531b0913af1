# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# transmission: its remote control
# programs: Transmission
# needs: transmission-daemon transmission-remote transmission-create
# length: long
# gets: smc=3 may=TIMEOUT
stranger() {
	mkdir c d
	serve server transmission-daemon -f -g "$place/c" -w "$place/d" -p "$port" -r 127.0.0.1 -T -O -O --no-portmap --no-dht --no-lpd --no-utp
	await_port "$port"
	data file 1000000
	transmission-create -o t.torrent file >/dev/null 2>&1
	cp file d/
	ask transmission-remote "127.0.0.1:$port" -a t.torrent
	ask transmission-remote "127.0.0.1:$port" -l | grep -o ' file$'
	ask transmission-remote "127.0.0.1:$port" -st | head -n 2
}
