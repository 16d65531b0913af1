# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# clamav: ClamAV: a mail and a file to clamd as streams
# programs: ClamAV
# needs: clamd clamdscan
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	mkdir db
	data bad 100000 && data good 900000
	echo "$(md5sum <bad | cut -c 1-32):100000:Test.Bad" >db/test.hdb
	cat >conf <<-EOT
		TCPSocket $port
		TCPAddr 127.0.0.1
		DatabaseDirectory $place/db
		Foreground yes
		LogFile $place/clamd.txt
		User root
		MaxThreads 4
		SelfCheck 0
	EOT
	serve server clamd -c "$place/conf"
	await_port "$port"
	ask clamdscan -c "$place/conf" --ping 5:1
	ask clamdscan -c "$place/conf" --no-summary --stream good bad
	ask clamdscan -c "$place/conf" --no-summary --stream -m good good bad | sort
	ask clamdscan -c "$place/conf" --no-summary - <bad
	ask clamdscan -c "$place/conf" --reload
	ask clamdscan -c "$place/conf" --no-summary - <good
}
