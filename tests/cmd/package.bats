#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# package: "dpkg-buildpackage -b" makes a package that meets no other one, and
# works where it is unpacked.
# long: 900

setup() {
	[ -n "${SMC_R_LONG-}" ] || skip "long: make check-long"
	command -v dpkg-buildpackage >/dev/null &&
		command -v dh >/dev/null || skip "needs dpkg-dev and debhelper"
	cd "${SMC_R_TOP:-.}" || return
	place=$BATS_TEST_TMPDIR/place
	usr=$BATS_TEST_TMPDIR/usr
	mkdir -p "$place/src" "$usr/upper" "$usr/work"
	export ODMDIR=$BATS_TEST_TMPDIR/odm SMC_R_RUNDIR=$BATS_TEST_TMPDIR/run
}

@test "the package" {
	git ls-files -co --exclude-standard | tar -cf - -T - |
		tar -xf - -C "$place/src"
	cd "$place/src"
	env -u MAKEFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS=parallel=2 \
		dpkg-buildpackage -b -uc -us >"$place/log" 2>&1 || {
		tail -n 40 "$place/log"
		false
	}
	package=$(echo "$place"/smc-r_*.deb)
	dpkg-deb --fsys-tarfile "$package" | tar -tf - |
		sed -n 's,^\.\(/.*[^/]\)$,\1,p' >"$place/files"
	[ "$(wc -l <"$place/files")" -gt 50 ]
	# None is another package's.
	! xargs dpkg-query -S <"$place/files" 2>/dev/null |
		grep -v '^smc-r' || false
	dpkg-deb -e "$package" "$place/control"
	[ "$(id -u)" = 0 ] || return 0
	# As dpkg would lay it over /usr.
	env PATH=/usr/sbin:/usr/bin unshare --mount sh -exc "
		mount -t overlay none -o \
'lowerdir=/usr,upperdir=$usr/upper,workdir=$usr/work' /usr
		dpkg-deb --fsys-tarfile '$package' | tar -xf - -C / ./usr
		[ \"\$(mkdev -c tcpip -t smc_r)\" = 'smc_r0 Available' ]
		[ \"\$(chdev -l smc_r0 -a enabled=1)\" = 'smc_r0 changed' ]
		smc_run cat /proc/self/maps | grep -q /usr/lib/smc_r/libsmc_r.so
		PATH=/usr/lib/smc_r/bin:\$PATH
		[ \"\$(lsattr -E -l smc_r0 -a enabled -F value)\" = 1 ]
		lsattr -d / | grep -q '/\$'
		# What takes it away takes the device out of service.
		'$place/control/prerm' upgrade 2
		[ -e '$SMC_R_RUNDIR/smc_r0' ]
		'$place/control/prerm' remove
		[ ! -e '$SMC_R_RUNDIR/smc_r0' ]
		rmdev -q -dl smc_r0"
}
