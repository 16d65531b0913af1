#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# systemwide: a day on a host with system_preload=1, in a mount namespace of its
# own with an /etc of its own, so that the host has none of it.
#
# usage: tests/preload/systemwide.sh PLACE	(as root)
#
# Leaves PLACE/<chore>.plain and PLACE/<chore>.smc: what each chore printed on
# both streams, without and with the switch; and what became of the switch's
# file in PLACE/file.*. The device is that of $ODMDIR.
# What stands in single quotes is for another shell.
# shellcheck disable=SC2016
set -u

place=$1
if [ -z "${SYSTEMWIDE_INSIDE-}" ]; then
	SYSTEMWIDE_INSIDE=1 exec "${0%/*}/own_etc.sh" "$place" "$0" "$@"
fi
# What daemons note must not stay.
mount -t tmpfs tmpfs /run && mkdir /run/sshd &&
	mount -t tmpfs tmpfs /var/log || exit 2
file=/etc/ld.so.preload
unset SMC_R_LDPRELOAD_FILE

free_port() {
	python3 -c 'import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

await_port() { # port
	local i
	for ((i = 0; i < 100; i++)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		sleep 0.05
	done
	echo "nobody listens on $1"
}

shell_session() {
	local i words=()
	for i in 1 2 3; do words+=("$i"); done
	echo "${words[*]}" | sed 's/ /+/g' | bc
	find /etc/default -type f | sort | head -n 2 | wc -l
	tar cf - /etc/hostname 2>/dev/null | tar tf -
	(trap 'echo terminated' TERM; kill -TERM "$BASHPID")
	date -u -d @0 +%s
	ls /proc/self/fd
	bash -lc 'type -t cd; ulimit -n >/dev/null; read -r x <<<abc; echo $x'
}

cron_like() {
	env -i sh -c 'echo "$HOME" | wc -c; exec /bin/true'
	env -i /bin/sh -c 'cd / && run-parts --list /etc/cron.daily >/dev/null'
	echo $?
}

compiler() {
	local dir
	dir=$(mktemp -d) && cd "$dir" || return
	printf '#include <stdio.h>\nint main(void) { puts("built"); }\n' >a.c
	printf 'a: a.c\n\t$(CC) -O2 -o a a.c\n' >Makefile
	make -s a && ./a
	gcc -static -o b a.c && ./b
	cd / && rm -rf "$dir"
}

git_server() {
	local dir port pid
	dir=$(mktemp -d) && port=$(free_port) && mkdir "$dir/r" || return
	export HOME=$dir GIT_CONFIG_NOSYSTEM=1
	git -C "$dir/r" init -q -b main
	seq 20000 >"$dir/r/numbers"
	git -C "$dir/r" add numbers
	git -C "$dir/r" -c user.name=a -c user.email=a@b commit -q -m numbers
	git daemon --export-all --base-path="$dir" --listen=127.0.0.1 \
		--port="$port" --reuseaddr 2>/dev/null &
	pid=$!
	await_port "$port"
	git clone -q "git://127.0.0.1:$port/r" "$dir/c"
	sha256sum <"$dir/c/numbers"
	git -C "$dir/c" fsck
	kill $pid
	wait $pid 2>/dev/null
	rm -rf "$dir"
}

# A repository on this host, and package lists of its own.
package_manager() {
	local dir port pid options
	dir=$(mktemp -d) && port=$(free_port) || return
	chmod 755 "$dir"
	mkdir -p "$dir/www" "$dir/lists/partial" "$dir/cache/archives/partial"
	cat >"$dir/www/Packages" <<-END
		Package: a-number
		Version: 1.0
		Architecture: all
		Maintainer: nobody <nobody@localhost>
		Filename: a-number.deb
		Size: 1
		Description: not to be installed
	END
	echo "deb [trusted=yes] http://127.0.0.1:$port ./" >"$dir/sources.list"
	options=(-o "Dir::Etc::sourcelist=$dir/sources.list"
		-o Dir::Etc::sourceparts=- -o "Dir::State::Lists=$dir/lists"
		-o "Dir::Cache=$dir/cache" -o Acquire::Languages=none
		-o Acquire::http::Proxy=false)
	python3 -m http.server -b 127.0.0.1 -d "$dir/www" "$port" \
		>/dev/null 2>&1 &
	pid=$!
	await_port "$port"
	apt-get -qq "${options[@]}" update
	apt-cache "${options[@]}" policy a-number | grep Candidate
	apt-get -qq -s remove bash </dev/null >/dev/null 2>&1
	dpkg -s bash | grep ^Status
	kill $pid
	wait $pid 2>/dev/null
	rm -rf "$dir"
}

other_user() {
	su -s /bin/sh nobody -c 'id -un; echo "$0"'
	setpriv --reuid nobody --clear-groups /bin/sh -c 'echo as "$(id -un)"'
}

interpreters() {
	perl -e 'print "perl\n"'
	python3 -c 'import subprocess, socket
print(subprocess.check_output(["echo", "child"]).decode(), end="")'
	awk 'BEGIN { print "awk" }'
}

# The one that the switch is for: nobody says smc_run.
file_server() {
	local dir port pid
	dir=$(mktemp -d) && port=$(free_port) || return
	head -c 5000000 /dev/zero | tr '\0' 'x' >"$dir/x"
	python3 -m http.server -b 127.0.0.1 -d "$dir" "$port" >/dev/null 2>&1 &
	pid=$!
	await_port "$port"
	curl -sS --noproxy '*' "http://127.0.0.1:$port/x" | sha256sum
	SMC_R=0 curl -sS --noproxy '*' "http://127.0.0.1:$port/x" | sha256sum
	kill $pid
	wait $pid 2>/dev/null
	rm -rf "$dir"
}

# A user who comes over sshd: commands, a terminal, files, a forwarded port.
remote_shell() {
	local dir port web pids options
	dir=$(mktemp -d) && port=$(free_port) && web=$(free_port) || return
	useradd -M -d "$dir/home" -s /bin/bash guest
	install -d -o guest "$dir/home"
	chmod 755 "$dir"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
	seq 100000 >"$dir/data.txt"
	/usr/sbin/sshd -D -h "$dir/host" -p "$port" \
		-o "AuthorizedKeysFile=$dir/key.pub" -o StrictModes=no \
		-o "SetEnv=SMC_R_RUNDIR=$SMC_R_RUNDIR" \
		-o ListenAddress=127.0.0.1 2>/dev/null &
	pids=$!
	python3 -m http.server -b 127.0.0.1 -d "$dir" "$web" \
		>/dev/null 2>&1 &
	pids+=" $!"
	await_port "$port"
	await_port "$web"
	options=(-F none -i "$dir/key" -o StrictHostKeyChecking=no
		-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR
		-o User=guest -o "Port=$port")
	ssh "${options[@]}" 127.0.0.1 'id -un; tty; cat | sha256sum; exit 3' \
		<"$dir/data.txt"
	echo "status $?"
	ssh -tt "${options[@]}" 127.0.0.1 \
		'test -t 0 && echo a terminal'
	# shellcheck disable=SC2029 # the port is known here
	ssh "${options[@]}" 127.0.0.1 "curl -sS --noproxy '*' \
		http://127.0.0.1:$web/data.txt" | sha256sum
	scp -q "${options[@]}" "$dir/data.txt" 127.0.0.1:copy
	echo "get copy $dir/back" |
		sftp -q -b - "${options[@]}" 127.0.0.1 >/dev/null
	sha256sum <"$dir/back"
	ssh "${options[@]}" -o ClearAllForwardings=no -W "127.0.0.1:$web" \
		127.0.0.1 <<<$'GET /data.txt HTTP/1.0\r\n\r' |
		sed '1,/^\r$/d' | sha256sum
	# shellcheck disable=SC2086 # one word each
	kill $pids
	wait
	userdel guest
	rm -rf "$dir"
}

# Pages for browsers without a window: a script loads a file, writes its length
# into the page, and asks for that.
web_site() { # directory
	mkdir "$1/www" "$1/home"
	seq 100000 >"$1/www/data.txt"
	cat >"$1/www/index.html" <<-'END'
		<html><body><p id=a>no</p><script>
		var r = new XMLHttpRequest();
		r.open('GET', 'data.txt', false); r.send();
		document.getElementById('a').textContent = r.responseText.length;
		r.open('GET', 'loaded?' + r.responseText.length, false); r.send();
		</script></body></html>
	END
}

# Their own words on stderr have times and numbers in them.
with_chromium() {
	local dir port pid
	dir=$(mktemp -d) && port=$(free_port) || return
	web_site "$dir"
	python3 -m http.server -b 127.0.0.1 -d "$dir/www" "$port" \
		>/dev/null 2>&1 &
	pid=$!
	await_port "$port"
	HOME=$dir/home timeout 50 chromium --headless --no-sandbox \
		--disable-gpu --user-data-dir="$dir/home/c" \
		--virtual-time-budget=5000 --dump-dom \
		"http://127.0.0.1:$port/index.html" 2>"$dir/err"
	grep -c -e 'ld\.so' -e libsmc_r "$dir/err"
	kill $pid
	wait $pid 2>/dev/null
	rm -rf "$dir"
}

# It prints no pages; the server heard what the page asked for.
with_firefox() {
	local dir port pid
	dir=$(mktemp -d) && port=$(free_port) || return
	web_site "$dir"
	python3 -um http.server -b 127.0.0.1 -d "$dir/www" "$port" \
		>"$dir/log" 2>&1 &
	pid=$!
	await_port "$port"
	HOME=$dir/home timeout 50 firefox-esr --headless --no-remote \
		--profile "$dir/home" --screenshot "$dir/picture.png" \
		"http://127.0.0.1:$port/index.html" >"$dir/err" 2>&1
	echo "exit $?"
	file -b --mime-type "$dir/picture.png"
	grep -o 'GET /loaded[^ ]*' "$dir/log"
	grep -c -e 'ld\.so' -e libsmc_r "$dir/err"
	kill $pid
	wait $pid 2>/dev/null
	rm -rf "$dir"
}

chores=(shell_session cron_like compiler git_server package_manager other_user
	interpreters file_server)
# What has its packages from "make check-long" only.
if [ -n "${SMC_R_LONG-}" ]; then
	[ ! -x /usr/sbin/sshd ] || chores+=(remote_shell)
	! command -v chromium >/dev/null || chores+=(with_chromium)
	! command -v firefox-esr >/dev/null || chores+=(with_firefox)
fi

# How many connections were on SMC so far, both ends counted.
served() {
	entstat -j smc_r0 | jq .absolute.smc_connections
}

all_chores() { # plain or smc
	local chore
	for chore in "${chores[@]}"; do
		served >"$place/$chore.$1.before"
		(bash -c "$(declare -f free_port await_port web_site "$chore")
			$chore") >"$place/$chore.$1" 2>&1 </dev/null
		echo "exit $?" >>"$place/$chore.$1"
		served >"$place/$chore.$1.after"
	done
}

# A program of 32 bits, which is there with its loader and needs no more of libc.
# There are kernels that run none.
narrow() {
	local libc
	for libc in /lib32/libc.so.6 /lib/i386-linux-gnu/libc.so.6; do
		[ -e "$libc" ] && [ -e /lib/ld-linux.so.2 ] || continue
		gcc -m32 -nostdlib -nostartfiles -no-pie -x c -o "$place/narrow" \
			-Wl,--dynamic-linker=/lib/ld-linux.so.2 - -x none \
			-Wl,--no-as-needed "$libc" 2>/dev/null <<-'END' &&
			void _start(void)
			{
				__asm__ volatile("movl $1, %eax; xorl %ebx, %ebx; int $0x80");
			}
		END
			"$place/narrow" 2>/dev/null && return
	done
	rm -f "$place/narrow"
	return 1
}

run_narrow() { # plain or smc
	{
		"$place/narrow"
		echo "exit $?"
	} >"$place/narrow.$1" 2>&1
}

# The library was taken away, and the switch is still on.
without_library() {
	cp $file "$place/file.kept"
	sed 's#^.*/libsmc_r.so#/nonexistent/libsmc_r.so#' "$place/file.kept" >$file
	{
		bash -c 'echo still here'
		echo "exit $?"
	} >"$place/removed" 2>&1
	cat "$place/file.kept" >$file
}

all_chores plain
narrow && run_narrow plain
gcc -print-file-name=libm.so.6 >$file
cp $file "$place/file.before"
chdev -q -l smc_r0 -a system_preload=1 || exit 1
cp $file "$place/file.on"
all_chores smc
grep -c libsmc_r.so /proc/self/maps >"$place/loaded"
if [ -e "$place/narrow" ]; then
	# libm, which stands there besides, has no such program in mind.
	grep libsmc_r "$place/file.on" >$file
	run_narrow smc
	LD_TRACE_LOADED_OBJECTS=1 "$place/narrow" >"$place/narrow.objects"
	cat "$place/file.on" >$file
fi
without_library
chdev -q -l smc_r0 -a system_preload=0 || exit 1
cp $file "$place/file.off"
chdev -q -l smc_r0 -a system_preload=1 || exit 1
rmdev -q -l smc_r0 >/dev/null 2>&1
cp $file "$place/file.defined"
mkdev -q -l smc_r0 || exit 1
cp $file "$place/file.available"
chdev -q -l smc_r0 -a system_preload=0
