# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# zookeeper: ZooKeeper: its server and its command line
# programs: ZooKeeper
# needs: java python3 /usr/share/zookeeper/bin/zkEnv.sh
# length: long
# gets: smc=3 may=CLOSED,TIMEOUT
stranger() {
	local path=/usr/share/java/zookeeper.jar:$place java
	mkdir db
	printf 'tickTime=2000\ndataDir=%s/db\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n' \
		"$place" "$port" >zoo.cfg
	java=(java -cp "$path" -Dzookeeper.log.dir="$place" -Dzookeeper.jmx.log4j.disable=true)
	serve server "${java[@]}" org.apache.zookeeper.server.quorum.QuorumPeerMain "$place/zoo.cfg"
	await_port "$port"
	cat >word.py <<-'EOT'
		import socket, sys
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20)
		s.sendall(sys.argv[2].encode())
		print(s.recv(100).decode())
	EOT
	# It listens before it serves.
	await_true sh -c '"$@" | grep -qx rw' sh "${wrap[@]}" python3 word.py "$port" isro
	ask python3 word.py "$port" ruok
	cat >said <<-'EOT'
		create /a one
		create /a/b two
		set /a three
		get /a
		ls /a
		delete /a/b
		ls /a
		quit
	EOT
	ask "${java[@]}" org.apache.zookeeper.ZooKeeperMain -server "127.0.0.1:$port" <said 2>/dev/null | grep -v -e '^\[zk' -e '^$' -e WATCHER -e WatchedEvent -e ^Connecting
}
