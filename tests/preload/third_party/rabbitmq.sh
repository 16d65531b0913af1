# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# rabbitmq: the broker, by the first bytes of AMQP, and rabbitmqctl
# programs: RabbitMQ
# needs: /usr/lib/rabbitmq/bin/rabbitmq-server :rabbitmq epmd
# length: long
# gets: smc=2 may=DEMOTED_STDIO,DEMOTED_PEER,TIMEOUT,CLOSED,PEER_NO_SMC,FORK,DEMOTED_EXEC
stranger() {
	local d e
	d=$(another) e=$(another)
	mkdir db log && chown rabbitmq: db log .
	export RABBITMQ_NODENAME="r$port@localhost" RABBITMQ_NODE_PORT=$port RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 \
		RABBITMQ_DIST_PORT=$d RABBITMQ_MNESIA_BASE=$place/db RABBITMQ_LOG_BASE=$place/log HOME=$place/db \
		RABBITMQ_ENABLED_PLUGINS_FILE=$place/plugins ERL_EPMD_PORT=$e RABBITMQ_CONF_ENV_FILE=/dev/null
	echo '[].' >plugins
	# Where there is none, the broker leaves one running.
	serve epmd epmd -port "$e"
	await_port "$e"
	start server setpriv --reuid rabbitmq --regid rabbitmq --init-groups "${wrap[@]}" /usr/lib/rabbitmq/bin/rabbitmq-server
	# Erlang takes its time.
	await_port "$port" 2>/dev/null || await_port "$port"
	# shellcheck disable=SC2016 # for another shell
	ask bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0"
		printf "AMQP\0\0\11\1" >&3; head -c 8 <&3' "$port" |
		od -An -tx1
	ask_limit=60 ask setpriv --reuid rabbitmq --regid rabbitmq --init-groups /usr/lib/rabbitmq/bin/rabbitmqctl -q list_queues name
}
