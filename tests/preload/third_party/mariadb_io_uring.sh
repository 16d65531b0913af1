# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# mariadb_io_uring: as it is, with io_uring for its files
# programs: MariaDB
# with: io_uring
# needs: mariadbd mariadb mariadb-dump mariadb-slap :mysql
# length: long
# gets: smc=none must=PEER_NO_SMC
# shellcheck source=/dev/null
. "$here/third_party/mariadb.sh"
stranger() {
	maria
}
