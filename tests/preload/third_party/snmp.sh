# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# snmp: SNMP over TCP: walks of a whole agent
# programs: Net-SNMP (tcp)
# needs: snmpd snmpwalk snmpbulkwalk
# length: long
# gets: smc=4 may=CLOSED,TIMEOUT
stranger() {
	echo 'rocommunity public' >s.conf
	echo 'sysDescr x' >>s.conf
	export SNMP_PERSISTENT_DIR=$place MIBS=
	serve agent snmpd -f -Lf log -C -c s.conf -I system_mib,sysORTable,snmp_mib "tcp:127.0.0.1:$port"
	await_port "$port"
	ask snmpwalk -v 2c -c public "tcp:127.0.0.1:$port" 1.3.6.1.2.1.1.9.1.3 | wc -l
	ask snmpbulkwalk -v 2c -c public "tcp:127.0.0.1:$port" 1.3.6.1.2.1.1.9.1.2 | digest
	for _ in 1 2 3; do
		ask snmpget -v 2c -c public -Ov "tcp:127.0.0.1:$port" 1.3.6.1.2.1.1.1.0
	done
}
