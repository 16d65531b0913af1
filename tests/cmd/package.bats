#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# package: "dpkg-buildpackage -b" makes a package that meets no other one, and
# works where it is unpacked.
# long: 1800

setup() {
	[ -n "${SMC_R_LONG-}" ] || skip "long: make check-long"
	command -v dpkg-buildpackage >/dev/null &&
		command -v dh >/dev/null || skip "needs dpkg-dev and debhelper"
	cd "${SMC_R_TOP:-.}" || return
	place=$BATS_TEST_TMPDIR/place
	usr=$BATS_TEST_TMPDIR/usr
	mkdir -p "$place/src"
	export ODMDIR=$BATS_TEST_TMPDIR/odm SMC_R_RUNDIR=$BATS_TEST_TMPDIR/run
}

# In another directory each time, with the clock of debian/changelog.
build_package() { # directory
	(cd "${SMC_R_TOP:-.}" && git ls-files -co --exclude-standard |
		tar -cf - -T -) | tar -xf - -C "$1"
	cd "$1" || return
	env -u MAKEFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS=parallel=2 \
		dpkg-buildpackage -b -uc -us >"$place/log" 2>&1 || {
		tail -n 40 "$place/log"
		false
	}
}

# A shell with a system of its own: what it writes to these directories goes
# elsewhere. Its dpkg is the real one.
in_system() { # script
	local dir mounts=
	for dir in usr etc var; do
		mkdir -p "$usr/$dir/upper" "$usr/$dir/work"
		mounts="$mounts mount -t overlay none -o \
lowerdir=/$dir,upperdir=$usr/$dir/upper,workdir=$usr/$dir/work /$dir;"
	done
	env -u ODMDIR PATH=/usr/sbin:/usr/bin OFED_CORE_RUNDIR="$place/core" \
		unshare --mount --net sh -exc "$mounts
			mount -t tmpfs none /run; mkdir /run/lock; $1"
}

@test "the package" {
	build_package "$place/src"
	package=$(echo "$place"/smc-r_*.deb)
	dpkg-deb --fsys-tarfile "$package" | tar -tf - |
		sed -n 's,^\.\(/.*[^/]\)$,\1,p' >"$place/files"
	[ "$(wc -l <"$place/files")" -gt 50 ]
	# None is another package's.
	! xargs dpkg-query -S <"$place/files" 2>/dev/null |
		grep -v '^smc-r' || false
	# A package that is not here has one; it cannot be installed beside.
	[[ $(dpkg-deb -f "$package" Conflicts) == *procinfo* ]]
	if command -v lintian >/dev/null; then
		lintian --fail-on error "$package"
	fi
	[ "$(id -u)" = 0 ] || return 0
	in_system "
		dpkg -i '$package'
		[ \"\$(mkdev -c tcpip -t smc_r)\" = 'smc_r0 Available' ]
		[ \"\$(chdev -l smc_r0 -a enabled=1)\" = 'smc_r0 changed' ]
		smc_run cat /proc/self/maps | grep -q /usr/lib/smc_r/libsmc_r.so
		[ \"\$(lsattr -E -l smc_r0 -a enabled -F value)\" = 1 ]
		lsattr -d / | grep -q '/\$'
		! make -s uninstall PREFIX=/usr
		chdev -l smc_r0 -a system_preload=1
		mkdir -p /etc/systemd/system/multi-user.target.wants
		ln -s /lib/systemd/system/smc_r.service \
			/etc/systemd/system/multi-user.target.wants
		# What takes it away takes the device and the core out of
		# service.
		ofedctrl -l
		dpkg -r smc-r
		[ ! -e '$SMC_R_RUNDIR/smc_r0' ]
		! ls -l /proc/[0-9]*/exe | grep -q smc_r/ofed_core
		[ ! -s /etc/ld.so.preload ]
		dpkg -P smc-r
		[ ! -e /etc/objrepos ]
		[ ! -h /etc/systemd/system/multi-user.target.wants/smc_r.service ]"
}

@test "two builds of the package are identical, bit for bit" {
	build_package "$place/src"
	mkdir -p "$place/again/elsewhere"
	mv "$place"/smc-r_*.deb "$place/first.deb"
	build_package "$place/again/elsewhere"
	cmp "$place/first.deb" "$place"/again/smc-r_*.deb
}

@test "clang builds all of it without a warning" {
	command -v clang >/dev/null || skip "needs clang"
	git ls-files -co --exclude-standard | tar -cf - -T - |
		tar -xf - -C "$place/src"
	cd "$place/src"
	env -u MAKEFLAGS -u MAKELEVEL make -j2 CC=clang WERROR=1 all
}
