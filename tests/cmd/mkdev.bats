#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# limit: 240
# mkdev: the device comes into being, once.

load device
: "${database-}" "${device_public-}"

setup() {
	device_setup
}

teardown() {
	device_teardown
}

@test "the device of the manual becomes Available" {
	says "smc_r0 Available" mkdev -c tcpip -t smc_r
	says "smc_r0 Available  Shared Memory Communications over RDMA" lsdev -C
	[ "$(published enabled)" = 0 ]
	[ "$(published generation)" = 1 ]
	[ "$(published max_memory_bytes)" = $((1024 * 1024 * 1024)) ]
	[ "$(published exclude_list)" = sshd ]
}

@test "the run directory is for all when root made it, else private" {
	make_device
	local top=700 users=700
	[ "$(id -u)" -ne 0 ] || top=755 users=1733
	[ "$(stat -c %a "$SMC_R_RUNDIR")" = $top ]
	[ "$(stat -c %a "$SMC_R_RUNDIR/users")" = $users ]
	[ "$(stat -c %a "$SMC_R_RUNDIR/users/000000")" = 711 ]
	[ "$(stat -c %a "$SMC_R_RUNDIR/users/000000/status")" = 700 ]
	[ -z "$(find "$SMC_R_RUNDIR" -perm -2 ! -type l ! -name users)" ]
	[ "$(stat -c %s "$SMC_R_RUNDIR/generation")" -eq 4096 ]
	[ "$(stat -c %a "$SMC_R_RUNDIR/smc_r0")" = 644 ]
}

@test "any keys that select one kind will do" {
	says "smc_r0 Available" mkdev -t smc_r
	rmdev -q -dl smc_r0
	says "smc_r0 Available" mkdev -c tcpip
	rmdev -q -dl smc_r0
	says "smc_r0 Available" mkdev -c tcpip -s smc -t smc_r -l smc_r0
}

@test "-d defines only, and -l configures later" {
	says "smc_r0 Defined" mkdev -d -c tcpip -t smc_r
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
	says "smc_r0 Available" mkdev -l smc_r0
	[ -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "-a gives values from the start" {
	says "smc_r0 Available" mkdev -c tcpip -t smc_r -a enabled=1 \
		-a 'port_range_list=50 23, 1 - 20 max_memory=64' \
		-a ip_addr_list=::ffff:127.0.0.1
	[ "$(published enabled)" = 1 ]
	[ "$(published port_range_list)" = "1-20 23 50" ]
	[ "$(published max_memory_bytes)" = $((64 * 1024 * 1024)) ]
	[ "$(published ip_addr_list)" = 127.0.0.1 ]
	[ "$(stored port_range_list)" = 1-20,23,50 ]
}

@test "a bad value makes no device" {
	refused mkdev -c tcpip -t smc_r -a enabled=2
	has "0514-018"
	has "enabled: "
	says "" lsdev -C
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "a second one is refused, byte for byte" {
	make_device
	refused mkdev -c tcpip -t smc_r
	[ "$output" = "Method error (/usr/lib/methods/defsmcr):
	0514-031 There can be only one device of this type. It exists:
	         smc_r0 is Available" ]
	refused mkdev -d -c tcpip -t smc_r
	has "0514-031"
}

@test "one that is Defined is taken again" {
	make_device -a enabled=1
	rmdev -q -l smc_r0
	refused mkdev -d -c tcpip -t smc_r
	has "smc_r0 is Defined"
	says "smc_r0 Available" mkdev -c tcpip -t smc_r
	[ "$(published enabled)" = 1 ]
}

@test "to configure once more is no error" {
	make_device
	says "smc_r0 Available" mkdev -l smc_r0
}

@test "when the host was started anew, both forms bring it back" {
	for form in "-l smc_r0" "-c tcpip -t smc_r"; do
		mkdev -q -c tcpip -t smc_r -a enabled=1 ||
			mkdev -q -l smc_r0
		rm -rf "$SMC_R_RUNDIR"
		says Defined lsdev -C -l smc_r0 -F status
		says smc_r0 lsdev -C -S d -F name
		# shellcheck disable=SC2086
		says "smc_r0 Available" mkdev $form
		says Available lsdev -C -l smc_r0 -F status
		[ "$(published enabled)" = 1 ]
	done
}

@test "an unknown kind or name is refused by its number" {
	refused mkdev -c tcpip -t nosuch
	has "mkdev: 0514-520 "
	has "nosuch"
	refused mkdev -l nosuch
	has "mkdev: 0514-519 "
	refused mkdev -c tcpip -t smc_r -l smc_r7
	[ "$output" = "mkdev: 0514-546 Invalid parameter - smc_r7." ]
	refused mkdev -c tcpip -t smc_r -p nosuch
	has "0514-519"
	refused mkdev -c tcpip -t smc_r -w 00-00
	has "0514-022"
	[ ! -e "$SMC_R_RUNDIR/smc_r0" ]
}

@test "wrong use shows the usage on standard error" {
	for flags in "" "-l smc_r0 -a enabled=1" "-c tcpip -t smc_r -d -R" \
		"-c" "-c tcpip -t smc_r -a enabled" "-l smc_r0 -d"; do
		# shellcheck disable=SC2086
		refused mkdev $flags
		has "mkdev: 0514-511 "
		has "Usage:
	mkdev "
	done
	refused mkdev -x
	has "mkdev: 0514-546 Invalid parameter - -x."
	refused mkdev -c tcpip -t smc_r more
	has "mkdev: 0514-546 Invalid parameter - more."
	[ ! -e "$database" ]
}

@test "-h shows the usage on standard output" {
	run --separate-stderr mkdev -h
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "${lines[0]}" = "Usage:" ]
}

@test "-q says nothing at all" {
	says "" mkdev -q -c tcpip -t smc_r
	run mkdev -q -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	[ -z "$output" ]
}

@test "-f takes flags from a file" {
	printf '%s\n' "-t smc_r -a 'enabled=1 port_range_list=1 - 20'" \
		'-a "ip_addr_list=127.0.0.1"' >"$BATS_TEST_TMPDIR/flags"
	says "smc_r0 Available" mkdev -c tcpip -f "$BATS_TEST_TMPDIR/flags"
	[ "$(published enabled)" = 1 ]
	[ "$(published port_range_list)" = 1-20 ]
	refused mkdev -f "$BATS_TEST_TMPDIR/missing"
	has "No such file"
	echo "-a 'open" >"$BATS_TEST_TMPDIR/flags"
	refused mkdev -f "$BATS_TEST_TMPDIR/flags"
	has "quote"
	echo "-f $BATS_TEST_TMPDIR/flags" >"$BATS_TEST_TMPDIR/flags"
	refused mkdev -f "$BATS_TEST_TMPDIR/flags"
	has "more than"
}

@test "a run directory of somebody else is left alone" {
	need_root
	mkdir -p "$SMC_R_RUNDIR"
	chown 12345 "$SMC_R_RUNDIR"
	run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	has "0514-040"
	has "belongs to somebody else"
	[ -z "$(ls -A "$SMC_R_RUNDIR")" ]
	says "" lsdev -C
	rm -rf "$SMC_R_RUNDIR"
}

@test "a run directory that is no absolute path is refused" {
	SMC_R_RUNDIR=run run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	has "SMC_R_RUNDIR must be an absolute path"
}

@test "a stanza file with a mistake is named with its line" {
	mkdir "$BATS_TEST_TMPDIR/conf"
	sed 's/generic = "DU+"/generic = DU/' "$SMC_R_TOP/conf/smc_r.stanza" \
		>"$BATS_TEST_TMPDIR/conf/smc_r.stanza"
	SMC_R_CONFDIR=$BATS_TEST_TMPDIR/conf run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	# The message is folded, and where depends on the directory's name.
	output=$(printf '%s' "$output" | tr -s '\n\t' ' ')
	has "smc_r.stanza:43: a \"string\" or"
	printf 'CuDv:\n\tname = "x"\n' >"$BATS_TEST_TMPDIR/conf/smc_r.stanza"
	SMC_R_CONFDIR=$BATS_TEST_TMPDIR/conf run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	output=$(printf '%s' "$output" | tr -s '\n\t' ' ')
	has "a class of predefined objects is needed"
	SMC_R_CONFDIR=$BATS_TEST_TMPDIR/none run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	output=$(printf '%s' "$output" | tr -s '\n\t' ' ')
	has "smc_r.stanza: No such file"
}

@test "an ordinary user may have a device of their own" {
	device_make_nobodys
	run as_nobody mkdev -c tcpip -t smc_r
	[ "$status" -eq 0 ]
	[ "$output" = "smc_r0 Available" ]
	[ "$(stat -c %a "$SMC_R_RUNDIR")" = 700 ]
	run as_nobody chdev -l smc_r0 -a enabled=1
	[ "$output" = "smc_r0 changed" ]
	run as_nobody rmdev -dl smc_r0
	[ "$output" = "smc_r0 deleted" ]
	rm -rf "$SMC_R_RUNDIR"
}

@test "without the SMC option there is a note only on demand" {
	device_make_nobodys
	run as_nobody env SMC_R_VERBOSE=1 mkdev -c tcpip -t smc_r
	[ "$status" -eq 0 ]
	has "note: no SMC option in TCP"
	as_nobody rmdev -q -dl smc_r0
	rm -rf "$SMC_R_RUNDIR"
}

@test "a damaged database is named, with the cure" {
	make_device -d
	dd if=/dev/urandom of="$database" bs=4096 seek=1 count=3 conv=notrunc \
		2>/dev/null
	run mkdev -c tcpip -t smc_r
	[ "$status" -eq 1 ]
	output=$(printf '%s' "$output" | tr -s '\n\t' ' ')
	has "attr.db: database disk image is malformed. Put a copy"
}

@test "no device is its own parent, nor that of one above it" {
	local before
	refused mkdev -d -c tcpip -t smc_r -p smc_r0
	has "0514-546 Invalid parameter - smc_r0."
	says "" lsdev -C
	make_device -d
	sqlite3 "$database" "INSERT INTO CuDv VALUES ('below', 0, 2, '', '',
		'smc_r0', '', (SELECT PdDvLn FROM CuDv))"
	before=$(odmget CuDv)
	for name in smc_r0 below; do
		refused chdev -l smc_r0 -p $name
		has "0514-546 Invalid parameter - $name."
	done
	[ "$before" = "$(odmget CuDv)" ]
	# As a circle that was made before.
	sqlite3 "$database" "UPDATE CuDv SET parent = name WHERE name = 'below'"
	refused chdev -l smc_r0 -p below
	says "below changed" chdev -l below -p ""
	says "smc_r0 changed" chdev -l smc_r0 -p below
}

@test "users fill a file system of their own, and not /run" {
	local memory nobody="setpriv --reuid 2001 --regid 2001 --clear-groups"
	memory=$(awk '/MemTotal/ { print $2 }' /proc/meminfo)
	[ "$(id -u)" = 0 ] || skip "needs other users"
	[ ! -e /run/smc_r/smc_r0 ] || skip "this host has a device"
	# What stands in the default run directory is another host's, as it were.
	unshare --mount --pid --fork --mount-proc true ||
		skip "needs mount namespaces"
	cat >"$BATS_TEST_TMPDIR/fill" <<-EOT
		trap "rmdev -q -dl smc_r0 >&2 || true" EXIT
		mount -t tmpfs -o size=25% tmpfs /run
		unset SMC_R_RUNDIR
		mkdev -q -c tcpip -t smc_r
		findmnt -no FSTYPE,OPTIONS /run/smc_r/users
		stat -c "mode: %a" /run/smc_r/users
		$nobody fallocate -l ${memory}00 /run/smc_r/users/junk && exit 1
		# Once is enough, and never over names that are there.
		rmdev -q -l smc_r0
		mkdev -q -l smc_r0
		grep -c " /run/smc_r/users " /proc/self/mounts
	EOT
	run unshare --mount --pid --fork --mount-proc sh -e "$BATS_TEST_TMPDIR/fill"
	echo "$output"
	[ "$status" -eq 0 ]
	has "tmpfs"
	has "nosuid,nodev,noexec"
	has "mode: 1733"
	has "No space left on device"
	[ "${lines[-1]}" = 1 ]
}
