#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# sandboxes: programs that are confined to some system calls, or confine
# themselves. Where nothing is on SMC-R the library makes none of its own.
# shellcheck disable=SC2154 # set by smc.bash

load smc

setup() {
	smc_begin
	library=$(readlink -f "${SMC_R_BUILD:-build}/lib/libsmc_r.so")
}

# What no case of quiet.c calls, and why.
not_called() {
	# A program that sets up io_uring leaves SMC-R; libc lacks these.
	echo io_uring_queue_init io_uring_queue_init_mem \
		io_uring_queue_init_params io_uring_setup io_submit
	# libc carries them out by threads, which take turns as they like.
	echo aio_read aio_read64 aio_write aio_write64 lio_listio lio_listio64
}

@test "each function of the library is recorded" {
	diff <(sed -n 's/^\t\([A-Za-z_].*\);$/\1/p' \
		"$BATS_TEST_DIRNAME/../../smc_r/preload/preload.map" | sort) \
		<({ "$programs/preload/quiet" names; not_called | tr ' ' '\n'; } |
			sort)
}

# $place/NAME: the calls of quiet before main, $place/NAME.main: those after it.
record() { # name, variable=value...
	local name=$1
	shift
	free_port
	"$programs/preload/recorder" "$place/all" /usr/bin/env "$@" \
		"$programs/preload/quiet" play "$port"
	grep '^0 _ ' "$place/all" | cut -d ' ' -f 3 >"$place/$name"
	grep -v '^0 _ ' "$place/all" >"$place/$name.main"
	[ "$(wc -l <"$place/$name.main")" -gt 500 ]
}

# The constructor's are among what the loader has done for the library.
same_calls() { # name
	local read=0 close=3 fstat=5 mmap=9 mprotect=10 munmap=11 pread64=17
	local openat=257 newfstatat=262 call
	diff "$place/plain.main" "$place/$1.main"
	[ "$(uname -m)" = x86_64 ] || return 0
	diff <(sort "$place/plain") <(sort "$place/$1") |
		sed -n 's/^[<>] //p' | sort -u >"$place/more"
	while read -r call; do
		case $call in
		"$read" | "$close" | "$fstat" | "$mmap" | "$mprotect" | \
			"$munmap" | "$pread64" | "$openat" | "$newfstatat") ;;
		*)
			echo "before main: $call"
			return 1
			;;
		esac
	done <"$place/more"
}

@test "no call is ours where nothing is on SMC-R" {
	chdev -q -l smc_r0 -a port_range_list=1-2
	record plain A=
	record port "LD_PRELOAD=$library"
	chdev -q -l smc_r0 -a port_range_list=1-65535
	record absent "LD_PRELOAD=$library" "SMC_R_RUNDIR=$place/nowhere"
	record off "LD_PRELOAD=$library" SMC_R=0
	same_calls port
	same_calls absent
	same_calls off
	# Nothing at all behind what the loader itself does for a library.
	[ "$(uname -m)" != x86_64 ] ||
		[ "$(tac "$place/off" | sed '/^11$/q')" = \
			"$(tac "$place/plain" | sed '/^11$/q')" ]
}

# Prints how many were promised: by the handshake, or as it had ended already.
were_promised() {
	echo $(($(entstat -j smc_r0 | jq .absolute.declines_sent) +
		$(smc_reason DEMOTED_SANDBOX)))
}

@test "a server that confines itself between listen and accept" {
	local how before
	free_port
	timeout 20 "$programs/preload/jailed" poll "$port"
	for how in accept poll select epoll late; do
		before=$(were_promised)
		free_port
		timeout 20 smc_run "$programs/preload/jailed" "$how" "$port"
		# The four that were in the queue, and none that came later.
		[ $(($(were_promised) - before)) = 4 ]
	done
}

@test "threads that sleep in calls when the program confines itself" {
	free_port
	timeout 20 python3 "$BATS_TEST_DIRNAME/asleep.py" "$port"
	free_port
	timeout 20 smc_run python3 "$BATS_TEST_DIRNAME/asleep.py" "$port"
	smc_count
	[ "$smc_new" = 4 ] && [ "$demoted_new" -ge 2 ]
}

# ---- programs of Debian ----

@test "a service with SystemCallFilter=@system-service" {
	need systemd-analyze redis-server redis-cli
	free_port
	start redis python3 "$BATS_TEST_DIRNAME/filtered.py" @system-service \
		smc_run redis-server --port "$port" --save '' --dir "$place"
	await_port "$port"
	[ "$(smc_run redis-cli -p "$port" set a b)" = OK ]
	[ "$(smc_run redis-cli -p "$port" get a)" = b ]
	[ "$(redis-cli -p "$port" get a)" = b ]
	stop "$last"
	smc_count
	[ "$smc_new" = 4 ]
}

tpm_answers() { # swtpm_ioctl's option
	smc_run swtpm_ioctl "$@" -c | grep -q '^ptm capability is 0xf'
}

@test "swtpm" {
	need swtpm swtpm_ioctl
	local filter
	for filter in kill none; do
		mkdir "$place/$filter"
		free_port
		start "swtpm.$filter" smc_run swtpm socket --tpm2 \
			--tpmstate "dir=$place/$filter" \
			--ctrl "type=tcp,port=$port,bindaddr=127.0.0.1" \
			--server "type=unixio,path=$place/$filter/server" \
			--flags not-need-init,startup-clear \
			--seccomp "action=$filter"
		await_port "$port"
		tpm_answers --tcp "127.0.0.1:$port"
		smc_run swtpm_ioctl --tcp "127.0.0.1:$port" -s
		gone "$last" 5
	done
	start swtpm.unix smc_run swtpm socket --tpm2 \
		--tpmstate "dir=$place/kill" \
		--ctrl "type=unixio,path=$place/control" \
		--flags not-need-init,startup-clear
	await_true test -S "$place/control"
	tpm_answers --unix "$place/control"
}

@test "tor with Sandbox 1" {
	need tor nc
	free_port
	mkdir -m 700 "$place/data"
	cat >"$place/torrc" <<-EOT
		DataDirectory $place/data
		Sandbox 1
		DisableNetwork 1
		SocksPort 0
		ControlPort 127.0.0.1:$port
		Log notice stdout
	EOT
	start tor smc_run tor -f "$place/torrc" --defaults-torrc /dev/null
	await_port "$port"
	for client in "" smc_run; do
		printf 'AUTHENTICATE\r\nGETINFO version\r\nQUIT\r\n' |
			timeout 10 $client nc -w 5 127.0.0.1 "$port" |
			grep -q '^250 closing connection'
	done
}

@test "chronyd with its filter" {
	need chronyd chronyc
	free_port
	mkdir "$place/run"
	cat >"$place/conf" <<-EOT
		port 0
		cmdport $port
		bindcmdaddress 127.0.0.1
		bindcmdaddress /
		local stratum 5
		pidfile $place/run/pid
	EOT
	start chronyd smc_run chronyd -x -d -F 1 -u root -f "$place/conf"
	await_true grep -q "Loaded seccomp filter" "$place/chronyd.log"
	smc_run chronyc -h 127.0.0.1 -p "$port" -n tracking |
		grep -q '^Stratum *: 5'
}

# Debian's own filter kills at the first SIZE or RETR, with the library or without.
@test "vsftpd with seccomp_sandbox" {
	need vsftpd nc curl
	local sandbox way
	mkdir "$place/up" "$place/empty"
	seq 100000 >"$place/up/file"
	chmod 755 "$place/up" "$place"
	for sandbox in YES NO; do
		for way in plain smc_run; do
			free_port
			cat >"$place/conf" <<-EOT
				listen=YES
				background=NO
				listen_address=127.0.0.1
				listen_port=$port
				anonymous_enable=YES
				anon_root=$place/up
				no_anon_password=YES
				secure_chroot_dir=$place/empty
				ftp_username=daemon
				nopriv_user=nobody
				seccomp_sandbox=$sandbox
			EOT
			start "vsftpd.$way" ${way#plain} vsftpd "$place/conf"
			await_port "$port"
			printf 'USER anonymous\r\nPWD\r\nSYST\r\nQUIT\r\n' |
				timeout 5 ${way#plain} nc -w 3 127.0.0.1 "$port" \
					>"$place/$way"
			[ "$sandbox" = YES ] || timeout 5 ${way#plain} curl -sS \
				"ftp://127.0.0.1:$port/file" |
				cmp - "$place/up/file"
			stop "$last"
		done
		grep -q '^221' "$place/plain"
		diff "$place/plain" "$place/smc_run"
	done
}
