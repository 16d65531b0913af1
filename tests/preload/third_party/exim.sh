# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# exim: SMTP: curl sends a mail
# programs: exim
# needs: exim4 curl :Debian-exim
# length: long
# gets: must=DEMOTED_STDIO may=TIMEOUT,FORK,CLOSED,DEMOTED_PEER
stranger() {
	mkdir spool && chmod 777 spool
	cat >conf <<-EOT
		daemon_smtp_ports = $port
		local_interfaces = 127.0.0.1
		primary_hostname = test.example
		spool_directory = $place/spool
		log_file_path = $place/spool/%slog
		exim_user = root
		exim_group = root
		never_users =
		pid_file_path = $place/spool/pid
		queue_only
		keep_environment =
		acl_smtp_rcpt = yes
		acl_smtp_data = yes
		acl_not_smtp = yes
		begin acl
		yes:
		  accept
	EOT
	serve server exim4 -bdf -C "$place/conf"
	await_port "$port"
	printf 'Subject: x\r\n\r\n' >mail && seq 20000 | sed 's/$/\r/' >>mail
	ask curl -sS "smtp://127.0.0.1:$port" --mail-from a@test.example --mail-rcpt b@test.example -T mail
	ask curl -sS "smtp://127.0.0.1:$port" --mail-from a@test.example --mail-rcpt b@test.example -T mail
	find spool -name '*-D' | wc -l
	find spool -name '*-D' -size +50k | wc -l
}
