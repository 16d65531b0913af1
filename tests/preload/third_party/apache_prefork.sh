# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# apache_prefork: the same with a process for each connection
# programs: apache2 (prefork)
# needs: apache2 curl ab siege openssl /usr/lib/apache2/modules/mod_ssl.so
# length: long
# gets: smc=200 may=TIMEOUT,CLOSED,RENDEZVOUS
# shellcheck source=/dev/null
. "$here/third_party/apache.sh"
stranger() {
	apache mpm_prefork
}
