# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# radicale: Radicale: calendars by WebDAV
# programs: Radicale
# needs: radicale curl
# length: long
# gets: smc=6 may=CLOSED,TIMEOUT
stranger() {
	local i
	serve server radicale --hosts "127.0.0.1:$port" --storage-filesystem-folder "$place/c" --auth-type none --rights-type authenticated -C ''
	await_port "$port"
	url=http://a:a@127.0.0.1:$port/a
	ask curl -sS -o /dev/null -w '%{http_code}\n' -X MKCALENDAR "$url/c/"
	for i in 1 2 3 4; do
		printf 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:%s\r\nDTSTAMP:20240101T000000Z\r\nDTSTART:20240101T000000Z\r\nSUMMARY:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n' "$i" "$(seq "$i" 400 | tr -d '\n')" >e
		ask curl -sS -o /dev/null -w '%{http_code}\n' -T e "$url/c/$i.ics"
	done
	ask curl -sS "$url/c/" | grep -c SUMMARY
	ask curl -sS -X PROPFIND -H 'Depth: 1' "$url/c/" | grep -o '<href>[^<]*</href>' | sort -u
}
