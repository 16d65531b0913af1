# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ftp: pyftpdlib and vsftpd; lftp and curl, active and passive
# programs: vsftpd, pyftpdlib, lftp
# needs: /usr/lib/python3/dist-packages/pyftpdlib vsftpd lftp curl
# length: long
# gets: smc=8 must=DEMOTED_STDIO may=DEMOTED_PEER,RENDEZVOUS,TIMEOUT,CLOSED,FORK
stranger() {
	mkdir up && data up/file 2000000 && chmod 777 up
	serve server /usr/bin/python3 -m pyftpdlib -i 127.0.0.1 -p "$port" -d up -w
	await_port "$port"
	ask curl -sS "ftp://127.0.0.1:$port/file" | digest
	ask curl -sS -P 127.0.0.1 "ftp://127.0.0.1:$port/file" | digest
	ask curl -sS -T up/file "ftp://127.0.0.1:$port/a"
	cmp up/a up/file
	ask lftp -c "set net:timeout 5; open ftp://127.0.0.1:$port; get file -o b; put b -o c; ls" | wc -l
	cmp b up/c
	stop "$last"
	free_port
	cat >v.conf <<-EOT
		listen=YES
		background=NO
		listen_address=127.0.0.1
		listen_port=$port
		anonymous_enable=YES
		anon_root=$place/up
		no_anon_password=YES
		secure_chroot_dir=$place/empty
		allow_writeable_chroot=YES
		ftp_username=nobody
		nopriv_user=nobody
		ftp_data_port=0
	EOT
	mkdir empty && chmod 755 up
	serve vsftpd vsftpd "$place/v.conf"
	await_port "$port"
	ask curl -sS "ftp://127.0.0.1:$port/file" "ftp://127.0.0.1:$port/file" |
		digest
	ask curl -sS "ftp://127.0.0.1:$port/" | wc -l
}
