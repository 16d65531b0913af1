# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# zabbix: an agent of several processes, asked by its protocol
# programs: Zabbix agent
# needs: zabbix_agentd python3
# length: long
# gets: smc=4 must=DEMOTED_EXEC may=DEMOTED_PEER,CLOSED,TIMEOUT
stranger() {
	cat >conf <<-EOT
		ListenIP=127.0.0.1
		ListenPort=$port
		Server=127.0.0.1
		StartAgents=3
		LogType=console
		PidFile=$place/pid
		AllowRoot=1
		UserParameter=many[*],seq \$1
	EOT
	serve server zabbix_agentd -f -c "$place/conf"
	await_port "$port"
	cat >ask.py <<-'EOT'
		import socket, struct, sys
		for key in sys.argv[2:]:
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
		    s.sendall(b"ZBXD\1" + struct.pack("<Q", len(key)) + key.encode())
		    answer = b"".join(iter(lambda: s.recv(65536), b""))
		    print(key, answer[:5], len(answer) - 13, answer[13:40])
	EOT
	ask python3 ask.py "$port" agent.ping 'many[20000]' agent.hostmetadata none 'many[3]' agent.version
}
