# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# saned: SANE: pictures of the device "test" over the network
# programs: SANE
# needs: saned scanimage
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT,FORK,PEERDECL
stranger() {
	local picture
	mkdir etc cl
	echo 127.0.0.1 >etc/saned.conf
	echo test >etc/dll.conf
	echo net >cl/dll.conf
	printf 'connect_timeout = 20\n127.0.0.1\n' >cl/net.conf
	export SANE_CONFIG_DIR=$place/etc
	# The port that the client knows.
	serve server saned -l -e -b 127.0.0.1
	await_port 6566
	export SANE_CONFIG_DIR=$place/cl
	ask scanimage -L
	for picture in Solid "Color pattern" Grid; do
		ask scanimage -d net:127.0.0.1:test:0 --mode Color --resolution 200 --test-picture "$picture" --format pnm 2>/dev/null | digest
	done
	ask scanimage -d net:127.0.0.1:test:1 --mode Gray --depth 16 --resolution 300 --format tiff | digest
	ask scanimage -d net:127.0.0.1:test:9 || true
}
