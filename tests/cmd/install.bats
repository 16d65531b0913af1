#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# install: what "make install" puts somewhere works there, and goes again.

load safe
: "${safe-}"

setup_file() {
	export root="$BATS_FILE_TMPDIR/root"
	cd "${SMC_R_TOP:-.}" || return
	env -u MAKEFLAGS -u MAKELEVEL make -s install DESTDIR="$root" PREFIX=/p
}

setup() {
	cd "${SMC_R_TOP:-.}" || return
	export ODMDIR="$BATS_TEST_TMPDIR/odm" SMC_R_RUNDIR="$BATS_TEST_TMPDIR/run"
	unset SMC_R_CONFDIR SMC_R_LIBRARY
}

teardown() {
	"$root/p/sbin/rmdev" -dl smc_r0 >/dev/null 2>&1 || true
	[ -z "${safe-}" ] || rm -rf "$safe"
}

@test "the installed commands make, show and change a device" {
	PATH="$root/p/sbin:/usr/bin:/bin"
	[ "$(mkdev -c tcpip -t smc_r)" = "smc_r0 Available" ]
	[ "$(chdev -l smc_r0 -a enabled=1)" = "smc_r0 changed" ]
	[ "$(lsattr -E -l smc_r0 -a enabled -F value)" = 1 ]
	[ "$(rmdev -dl smc_r0)" = "smc_r0 deleted" ]
}

@test "the links in bin are the same programs, lsattr -d is still e2fsprogs'" {
	PATH="$root/p/bin:/usr/bin:/bin"
	[ "$(mkdev -c tcpip -t smc_r)" = "smc_r0 Available" ]
	[ "$(lsattr -E -l smc_r0 -a enabled -F value)" = 0 ]
	lsattr -d "$BATS_TEST_TMPDIR" | grep -q "$BATS_TEST_TMPDIR\$"
}

@test "the installed smc_run loads the installed library" {
	run "$root/p/bin/smc_run" cat /proc/self/maps
	[ "$status" -eq 0 ]
	[[ "$output" == *"$root/p/lib/smc_r/libsmc_r.so"* ]]
}

@test "every command has its page" {
	for program in "$root"/p/sbin/*; do
		[ -s "$root/p/share/man/man8/${program##*/}.8" ]
	done
}

@test "every command has a completion, with names that there are" {
	PATH="$root/p/sbin:$PATH"
	mkdev -q -c tcpip -t smc_r
	for program in "$root"/p/sbin/*; do
		[ -e "$root/p/share/bash-completion/completions/${program##*/}" ]
		grep -q "^complete .* ${program##*/}\( \|\$\)" \
			"$root/p/share/bash-completion/completions/smc_r"
	done
	run bash -c '
		compopt() { :; }
		. "$1/p/share/bash-completion/completions/odmget"
		_smc_r_odm odmget Cu odmget; echo "${COMPREPLY[*]}"
		_smc_r_odm odmdelete eff -o; echo "${COMPREPLY[*]}"
		_smc_r_no no roce -o; echo "${COMPREPLY[*]}"
		_smc_r_netstat netstat "" -p; echo "${COMPREPLY[*]}"
		_smc_r_netstat netstat "" -v; echo "${COMPREPLY[*]}"
		COMP_WORDS=(chdev -l smc_r0 -a enabled=) COMP_CWORD=4
		_smc_r chdev enabled= -a; echo "${COMPREPLY[*]}"
		COMP_WORDS=(chdev -l smc_r0 -a port_range_list=) COMP_CWORD=4
		_smc_r chdev port_range_list= -a; echo "${COMPREPLY[*]}"
		COMP_WORDS=(entstat --v) COMP_CWORD=1
		_smc_r entstat --v entstat; echo "${COMPREPLY[*]}"
		' bash "$root"
	echo "$output"
	[ "$output" = "CuDv CuAt CuDep
effective
roce_v2_mode
smc
smc_r0
0 1

--version" ]
}

@test "completion knows the device and its attributes" {
	PATH="$root/p/sbin:$PATH"
	mkdev -c tcpip -t smc_r
	run bash -c '
		compopt() { :; }
		. "$1/p/share/bash-completion/completions/chdev"
		COMP_WORDS=(chdev -l smc_r0 -a ena) COMP_CWORD=4
		_smc_r chdev ena -a
		echo "${COMPREPLY[*]}"
		COMP_WORDS=(lsattr -E -l "") COMP_CWORD=3
		_smc_r lsattr "" -l
		echo "${COMPREPLY[*]}"' bash "$root"
	[ "${lines[0]}" = "enabled=" ]
	[ "${lines[1]}" = "smc_r0" ]
}

@test "the loader is told of the installed library by way of \$LIB" {
	make_safe
	cp -a "$root/p" "$safe"
	local root=$safe
	export SMC_R_LDPRELOAD_FILE=$BATS_TEST_TMPDIR/ld.so.preload
	PATH="$root/p/sbin:$PATH"
	mkdev -q -c tcpip -t smc_r
	chdev -q -l smc_r0 -a system_preload=1
	line=$(cat "$SMC_R_LDPRELOAD_FILE")
	# shellcheck disable=SC2016 # as the loader reads it
	[ "$line" = "$root"/p/lib/smc_r/system/'$LIB'/libsmc_r.so ]
	LD_PRELOAD=$line run cat /proc/self/maps
	[ "$status" -eq 0 ]
	[[ "$output" == *"$root/p/lib/smc_r/libsmc_r.so"* ]]
}

# With system_preload every program that starts meanwhile loads it.
@test "a library that is there is replaced in one step" {
	command -v strace >/dev/null || skip "needs strace"
	local file changed=0 lib=$root/p/lib/smc_r
	local -a watched=()
	for file in "$lib/libsmc_r.so" "$lib"/system/*/libsmc_r.so \
		"$lib"/system/*/*/libsmc_r.so; do
		[ ! -e "$file" ] || watched+=(-P "$file")
		stat -c %i "$file" >>"$BATS_TEST_TMPDIR/before" || true
	done
	[ "${#watched[@]}" -ge 4 ]
	env -u MAKEFLAGS -u MAKELEVEL strace -f -qq -o "$BATS_TEST_TMPDIR/log" \
		-e trace=unlink,unlinkat,open,openat,truncate "${watched[@]}" \
		make -s install DESTDIR="$root" PREFIX=/p
	cat "$BATS_TEST_TMPDIR/log"
	run grep -E 'unlink|truncate|O_WRONLY|O_RDWR' "$BATS_TEST_TMPDIR/log"
	[ "$status" -eq 1 ]
	for file in "$lib/libsmc_r.so" "$lib"/system/*/libsmc_r.so; do
		[ ! -e "$file" ] ||
			grep -qx "$(stat -c %i "$file")" \
				"$BATS_TEST_TMPDIR/before" || changed=1
		[ ! -e "$file.new" ]
	done
	[ "$changed" = 1 ]
	[ "$(stat -c %a "$lib/libsmc_r.so")" = 755 ]
}

@test "the unit starts and ends what the manual says" {
	local unit=$root/p/lib/systemd/system/smc_r.service
	mkdir "$ODMDIR"
	"$root/p/sbin/mkdev" -d -c tcpip -t smc_r
	start=$(sed -n 's/^ExecStart=//p' "$unit")
	stop=$(sed -n 's/^ExecStop=//p' "$unit")
	# shellcheck disable=SC2086
	[ "$("$root"$start)" = "smc_r0 Available" ]
	# shellcheck disable=SC2086
	[ "$("$root"$stop)" = "smc_r0 Defined" ]
	# What the unit asks first: not a failure where there is no device, and
	# one where nobody can tell.
	local condition
	condition=$(sed -n "s|^ExecCondition=/bin/sh -c '\(.*\)'$|\1|p" "$unit" |
		sed 's|[$][$]|$|g' | sed "s|/p/|$root/p/|")
	/bin/sh -c "$condition"
	"$root/p/sbin/rmdev" -dl smc_r0
	run /bin/sh -c "$condition"
	[ "$status" -eq 1 ]
	mv "$ODMDIR/attr.db" "$BATS_TEST_TMPDIR/kept"
	echo damaged >"$ODMDIR/attr.db"
	run /bin/sh -c "$condition"
	[ "$status" -eq 255 ]
	command -v systemd-analyze >/dev/null || return 0
	mkdir "$BATS_TEST_TMPDIR/units"
	sed "s|=/p|=$root/p|" "$unit" >"$BATS_TEST_TMPDIR/units/smc_r.service"
	run env SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no \
		"$BATS_TEST_TMPDIR/units/smc_r.service"
	echo "$output"
	[[ "$output" != *smc_r.service* ]]
}

@test "below /etc: what is there stays, what was changed is not uninstalled" {
	local to=$BATS_TEST_TMPDIR/root
	again() {
		env -u MAKEFLAGS -u MAKELEVEL make -s "$1" DESTDIR="$to" \
			PREFIX=/p >/dev/null
	}
	cmp conf/ofed.conf "$root/etc/ofed.conf"
	[ -s "$root/etc/rdma/rsocket/README" ]
	again install
	echo "delay_kill=5" >"$to/etc/ofed.conf"
	again install
	[ "$(cat "$to/etc/ofed.conf")" = "delay_kill=5" ]
	echo 1000000 >"$to/etc/rdma/rsocket/mem_default"
	again uninstall
	[ "$(cat "$to/etc/ofed.conf")" = "delay_kill=5" ]
	[ "$(find "$to" ! -type d | sort)" = "$to/etc/ofed.conf
$to/etc/rdma/rsocket/mem_default" ]
}

@test "the core's unit loads and unloads it" {
	local unit=$root/p/lib/systemd/system/ofed_core.service
	export OFED_CORE_RUNDIR=$BATS_TEST_TMPDIR/core SMC_R_TUNABLES=$BATS_TEST_TMPDIR/t
	"$root/p/sbin/no" -r -o roce_v2_mode=1
	eval "$root$(sed -n 's/^ExecStart=//p' "$unit")" 3>&-
	"$root/p/sbin/ofedctrl" -q | grep -q ": loaded"
	[ "$("$root/p/sbin/no" -o roce_v2_mode)" = "roce_v2_mode = 1" ]
	eval "$root$(sed -n 's/^ExecStop=//p' "$unit")"
	"$root/p/sbin/ofedctrl" -q | grep -q ": not loaded"
	grep -q "^WantedBy=multi-user.target" "$unit"
}

@test "uninstall is refused while the device is in service" {
	mkdir "$SMC_R_RUNDIR"
	touch "$SMC_R_RUNDIR/smc_r0"
	run env -u MAKEFLAGS -u MAKELEVEL make -s uninstall PREFIX="$root/p"
	[ "$status" -ne 0 ]
	[[ "$output" == *"rmdev -l smc_r0"* ]]
	[ -x "$root/p/sbin/mkdev" ]
}

@test "uninstall is refused while the loader is told of the library" {
	export SMC_R_LDPRELOAD_FILE=$BATS_TEST_TMPDIR/ld.so.preload
	echo "/a.so $root/p/lib/smc_r/libsmc_r.so # ours" \
		>"$SMC_R_LDPRELOAD_FILE"
	run env -u MAKEFLAGS -u MAKELEVEL \
		make -s uninstall DESTDIR="$root" PREFIX=/p
	[ "$status" -ne 0 ]
	[[ "$output" == *"chdev -l smc_r0 -a system_preload=0"* ]]
	[ -x "$root/p/sbin/mkdev" ]
}

@test "uninstall leaves no file" {
	env -u MAKEFLAGS -u MAKELEVEL make -s uninstall DESTDIR="$root" PREFIX=/p
	run find "$root" ! -type d
	[ -z "$output" ]
}

@test "clang compiles what defines names of libc" {
	command -v clang >/dev/null || skip "needs clang"
	local obj=$BATS_TEST_TMPDIR/obj file
	local -a objects=()
	for file in smc_r/preload/preload_data smc_r/preload/preload_wait \
		smc_r/preload/preload_files ofed_core/shim/shim_files; do
		objects+=("$obj/$file.o")
	done
	env -u MAKEFLAGS -u MAKELEVEL make -s CC=clang WERROR=1 OBJ="$obj" \
		"${objects[@]}"
}

# Below /usr stand other programs of two names, and nothing of a package may be
# overwritten.
begin_usr() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v dpkg-query >/dev/null || skip "needs Debian"
	usr=$BATS_TEST_TMPDIR/usr
	mkdir -p "$usr/upper" "$usr/work"
	unshare --mount mount -t overlay none -o \
		"lowerdir=/usr,upperdir=$usr/upper,workdir=$usr/work" /usr ||
		skip "no overlay can be mounted here"
	rm -rf "$usr"
	mkdir -p "$usr/upper" "$usr/work"
}

# A shell with a /usr of its own.
in_usr() { # script
	env -u MAKEFLAGS -u MAKELEVEL PATH=/usr/sbin:/usr/bin \
		unshare --mount sh -ec "mount -t overlay none -o \
'lowerdir=/usr,upperdir=$usr/upper,workdir=$usr/work' /usr; $1"
}

@test "below /usr the names of other packages stay theirs" {
	begin_usr
	in_usr "make -s install PREFIX=/usr SYSCONFDIR='$BATS_TEST_TMPDIR/etc'"
	# Nothing of what was there is another file now.
	run find "$usr/upper" -type f,l,c
	[ "${#lines[@]}" -gt 40 ]
	for file in "${lines[@]}"; do
		[ ! -e "/usr${file#"$usr/upper"}" ]
	done
	# shellcheck disable=SC2016 # for the shell there
	in_usr 'PATH=/usr/lib/smc_r/bin:$PATH
		[ "$(mkdev -c tcpip -t smc_r)" = "smc_r0 Available" ]
		[ "$(lsattr -E -l smc_r0 -a enabled -F value)" = 0 ]
		lsattr -d / | grep -q "/\$"
		# Root needs no other PATH than he has.
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
		[ "$(lsattr -El smc_r0 -a enabled -F value)" = 0 ]
		lsattr -d / | grep -q "/\$"
		# Completion needs none either.
		PATH=/usr/bin:/bin bash -c "compopt() { :; }
			. /usr/share/bash-completion/completions/lsattr
			COMP_WORDS=(lsattr -E -l smc_r0 -a max) COMP_CWORD=5
			_smc_r lsattr max -a
			[ \"\${COMPREPLY[*]}\" = max_memory ]"
		rmdev -q -dl smc_r0
		rm -r "$ODMDIR"
		# The default of a type comes from the stanza beside it.
		[ "$(lsattr -D -t smc_r -a enabled -F deflt)" = 0 ]
		make -s uninstall PREFIX=/usr SYSCONFDIR=$BATS_TEST_TMPDIR/etc'
	run find "$usr/upper" ! -type d
	[ -z "$output" ]
}

@test "make uninstall leaves the files of a package" {
	begin_usr
	mkdir "$BATS_TEST_TMPDIR/dpkg" "$BATS_TEST_TMPDIR/work"
	# dpkg knows of a package that has our lsdev.
	in_usr "make -s install PREFIX=/usr
		mount -t overlay none -o 'lowerdir=/var/lib/dpkg,\
upperdir=$BATS_TEST_TMPDIR/dpkg,workdir=$BATS_TEST_TMPDIR/work' /var/lib/dpkg
		printf '%s\n' '' 'Package: x' 'Status: install ok installed' \
			'Architecture: all' 'Version: 1' 'Maintainer: x' \
			'Description: x' '' >>/var/lib/dpkg/status
		echo /usr/sbin/lsdev >/var/lib/dpkg/info/x.list
		! make -s uninstall PREFIX=/usr 2>'$BATS_TEST_TMPDIR/said'
		[ -e /usr/sbin/lsdev ]
		[ -e /usr/sbin/mkdev ]"
	grep -q "x: /usr/sbin/lsdev" "$BATS_TEST_TMPDIR/said"
	grep -q "would be removed" "$BATS_TEST_TMPDIR/said"
}

@test "blanks in the build path and in DESTDIR, and one PREFIX for both" {
	local place="$BATS_TEST_TMPDIR/a b" file
	mkdir "$place"
	git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$place"
	cp -a build "$place"
	cd "$place"
	# Nothing that is built holds a PREFIX.
	env -u MAKEFLAGS -u MAKELEVEL make V=1 install DESTDIR="$place/de st" \
		PREFIX=/usr >log
	run ! grep -q '^gcc.* -c ' log
	for file in sbin/mkdev lib/smc_r/libsmc_r.so \
		lib/smc_r/system/lib/x86_64-linux-gnu/libsmc_r.so \
		share/man/man8/mkdev.8 bin/mkdev lib/smc_r/bin/lsattr; do
		[ -e "$place/de st/usr/$file" ]
	done
	run ! grep -q /usr/local "$place/de st/usr/sbin/smc_run"
	# Pages name the files where they are.
	run ! grep -rq /usr/local "$place/de st/usr/share/man"
	grep -q /usr/lib/smc_r/libdaplofed_core.so \
		"$place/de st/usr/share/man/man7/udapl.7"
	PATH="$place/de st/usr/sbin:/usr/bin:/bin"
	[ "$(mkdev -d -c tcpip -t smc_r)" = "smc_r0 Defined" ]
	env -u MAKEFLAGS -u MAKELEVEL make -s uninstall \
		DESTDIR="$place/de st" PREFIX=/usr
	[ -z "$(find "$place/de st" ! -type d)" ]
}

@test "a file that belongs to a package is not overwritten" {
	begin_usr
	run in_usr "make -s install PREFIX=/usr TAKEN_NAMES= \
		SYSCONFDIR='$BATS_TEST_TMPDIR/etc'"
	[ "$status" -ne 0 ]
	[[ $output == *"e2fsprogs: /usr/bin/lsattr"* ]]
	[[ $output == *"another PREFIX"* ]]
	run find "$usr/upper" ! -type d
	[ -z "$output" ]
}
