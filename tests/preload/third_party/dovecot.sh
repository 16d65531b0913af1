# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dovecot: IMAP: a login process passes the client on
# programs: Dovecot
# needs: dovecot curl /usr/lib/dovecot/imap :dovecot :dovenull
# length: long
# gets: smc=none must=UNAVAILABLE
stranger() {
	mkdir -p run mail state && chmod 777 mail
	cat >conf <<-EOT
		base_dir = $place/run
		state_dir = $place/state
		log_path = $place/log
		protocols = imap
		listen = 127.0.0.1
		ssl = no
		disable_plaintext_auth = no
		mail_location = maildir:$place/mail/%u
		first_valid_uid = 0
		passdb {
		  driver = static
		  args = password=x
		}
		userdb {
		  driver = static
		  args = uid=nobody gid=nogroup home=$place/mail
		}
		service imap-login {
		  inet_listener imap {
		    port = $port
		  }
		}
		service anvil {
		  chroot =
		}
	EOT
	serve server dovecot -F -c conf
	await_port "$port"
	ask curl -sS "imap://127.0.0.1:$port/" -u a:x -X 'LIST "" *'
	printf 'Subject: x\r\n\r\n' >mail.txt && seq 20000 | sed 's/$/\r/' >>mail.txt
	ask curl -sS "imap://127.0.0.1:$port/INBOX" -u a:x -T mail.txt
	ask curl -sS "imap://127.0.0.1:$port/INBOX;MAILINDEX=1" -u a:x | digest
	ask curl -sS "imap://127.0.0.1:$port/INBOX" -u a:bad || true
}
