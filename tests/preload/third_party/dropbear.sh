# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# dropbear: its server and its client: commands, pipes, forwarded ports
# programs: dropbear
# needs: unshare dropbear dbclient dropbearkey curl python3
# length: long
# gets: smc=8 may=FORK,TIMEOUT,CLOSED
stranger() {
	local near far web o
	near=$(another) far=$(another) web=$(another)
	mkdir www && mkdir -m 700 home home/.ssh
	export HOME=$place/home
	dropbearkey -t ed25519 -f host >/dev/null 2>&1
	dropbearkey -t ed25519 -f id 2>/dev/null | grep ^ssh- >home/.ssh/authorized_keys
	chmod 600 home/.ssh/authorized_keys
	data file 3000000
	data www/file 3000000
	# It looks for keys at home, as the user database has it.
	# shellcheck disable=SC2016 # for the inner shell
	start server unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' \
		sh "$HOME" "$(getent passwd root | cut -d : -f 6)" "${wrap[@]}" \
		dropbear -F -E -s -r host -p "127.0.0.1:$port" -P "$place/pid"
	serve back python3 -u -m http.server "$web" --bind 127.0.0.1 -d www
	await_port "$port" && await_port "$web"
	o=(-y -y -i id -p "$port")
	ask dbclient "${o[@]}" 127.0.0.1 'echo hello; exit 3'
	ask dbclient "${o[@]}" 127.0.0.1 'cat; echo end' <file | digest
	ask dbclient "${o[@]}" 127.0.0.1 "cat $place/file" </dev/null | digest
	serve tunnel dbclient "${o[@]}" -N -L "127.0.0.1:$near:127.0.0.1:$web" \
		-R "127.0.0.1:$far:127.0.0.1:$web" 127.0.0.1
	await_port "$near" && await_port "$far"
	ask curl -sS "http://127.0.0.1:$near/file" | digest
	ask curl -sS "http://127.0.0.1:$far/file" | digest
}
