# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# spamd: SpamAssassin: spamd, whose children accept in turns, and spamc
# programs: SpamAssassin
# needs: spamd spamc
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT,FORK
stranger() {
	printf 'Subject: %s\r\nFrom: a@example.com\r\nTo: b@example.com\r\nDate: Mon, 1 Jan 2024 00:00:00 +0000\r\nMessage-Id: <1@example.com>\r\n\r\n' x >ham
	cp ham spam
	seq 3000 | sed 's/$/\r/' >>ham
	printf 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n' >>spam
	mkdir sa && chmod 777 sa
	cp /etc/spamassassin/*.pre .
	printf 'use_bayes 0\nuse_auto_whitelist 0\n' >local.cf
	HOME=$place serve server spamd -L -x -m 3 --min-children=2 -u nobody -H "$place/sa" --listen="127.0.0.1:$port" \
		--siteconfigpath="$place" --pidfile="$place/pid"
	await_port "$port"
	for _ in 1 2 3; do
		ask spamc -d 127.0.0.1 -p "$port" -c <spam
		ask spamc -d 127.0.0.1 -p "$port" -c <ham
	done
	ask spamc -d 127.0.0.1 -p "$port" <ham | grep -v -e ^X-Spam -e '^	' | digest
	ask spamc -d 127.0.0.1 -p "$port" -K
}
