# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ssh: sshd on a high port: commands, scp, sftp, rsync, a forwarded port
# programs: sshd, ssh, scp, sftp
# needs: /usr/sbin/sshd ssh scp sftp ssh-keygen rsync :sshd
# length: long
# gets: smc=none must=PEER_NO_SMC
# sshd is on the list of excluded programs: everything stays TCP.
stranger() {
	local forward web o=(-i "$place/id" -o StrictHostKeyChecking=no
		-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -F none)
	forward=$(another)
	mkdir -p /run/sshd files
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f id
	cp id.pub keys && chmod 600 keys
	cat >config <<-EOT
		Port $port
		ListenAddress 127.0.0.1
		HostKey $place/host
		AuthorizedKeysFile $place/keys
		PidFile $place/pid
		StrictModes no
		UsePAM no
		Subsystem sftp internal-sftp
	EOT
	serve server /usr/sbin/sshd -D -e -f "$place/config"
	await_port "$port"
	data file 2000000
	ask ssh "${o[@]}" -p "$port" 127.0.0.1 'echo hello; exit 3'
	ask ssh "${o[@]}" -p "$port" 127.0.0.1 cat <file | digest
	ask scp -q "${o[@]}" -P "$port" file "127.0.0.1:$place/files/a"
	echo "get files/a b" | sed "s|files|$place/files|" |
		ask sftp -q -b - "${o[@]}" -P "$port" 127.0.0.1 >/dev/null
	cmp file b
	ask rsync -a -e "ssh ${o[*]} -p $port" files/ 127.0.0.1:"$place/copy/"
	cmp file copy/a
	web=$(another)
	serve http python3 -u -m http.server "$web" --bind 127.0.0.1
	await_port "$web"
	serve tunnel ssh "${o[@]}" -N -p "$port" \
		-L "$forward:127.0.0.1:$web" 127.0.0.1
	await_port "$forward"
	curl -sS "http://127.0.0.1:$forward/file" | digest
}
