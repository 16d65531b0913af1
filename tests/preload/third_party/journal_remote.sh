# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# journal_remote: systemd-journal-remote: a journal, sent by HTTP
# programs: systemd-journal-remote
# needs: /lib/systemd/systemd-journal-remote curl journalctl
# length: long
# gets: must=DEMOTED_NESTED may=DEMOTED_PEER,CLOSED,TIMEOUT
stranger() {
	local i
	for ((i = 0; i < 3000; i++)); do
		printf '__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=0123456789abcdef0123456789abcdef\nMESSAGE=line %d\nPRIORITY=6\n\n' \
			$((1700000000000000 + i)) $((1000 + i)) "$i"
	done >sent
	serve server /lib/systemd/systemd-journal-remote --listen-http="127.0.0.1:$port" --split-mode=none -o "$place/remote.journal"
	await_port "$port"
	for i in 1 2 3; do
		ask curl -sS -H 'Content-Type: application/vnd.fdo.journal' --data-binary @sent "http://127.0.0.1:$port/upload"
	done
	ask curl -sS "http://127.0.0.1:$port/none"
	await_true sh -c "journalctl --file '$place/remote.journal' -o cat | wc -l | grep -qx 9000"
	journalctl --file "$place/remote.journal" -o cat | sort | uniq -c | digest
}
