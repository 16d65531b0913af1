# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# slurm: Slurm: a controller, a node, jobs that speak to srun
# programs: Slurm
# needs: slurmctld slurmd srun sinfo squeue
# length: long
# gets: smc=20 may=CLOSED,TIMEOUT,FORK
stranger() {
	local port2
	port2=$(another)
	mkdir spool spoold
	cat >slurm.conf <<-EOT
		ClusterName=x
		SlurmctldHost=localhost(127.0.0.1)
		SlurmUser=root
		SlurmdUser=root
		SlurmctldPort=$port
		SlurmdPort=$port2
		AuthType=auth/none
		CryptoType=crypto/none
		CredType=cred/none
		StateSaveLocation=$place/spool
		SlurmdSpoolDir=$place/spoold
		SlurmctldPidFile=$place/c.pid
		SlurmdPidFile=$place/d.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SchedulerType=sched/builtin
		MpiDefault=none
		ReturnToService=2
		NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
		PartitionName=p Nodes=n1 Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
	EOT
	export SLURM_CONF=$place/slurm.conf
	serve ctld slurmctld -D -f "$place/slurm.conf"
	await_port "$port"
	serve node slurmd -D -N n1 -f "$place/slurm.conf"
	await_port "$port2"
	await_true sh -c "${wrap[*]} sinfo -h -o %t | grep -q idle"
	# shellcheck disable=SC2016 # for the job
	ask srun -n 2 sh -c 'seq 100000; echo $SLURM_PROCID' | sort | digest
	ask srun -n 1 seq 30000 | digest
	seq 50000 | ask srun -n 1 cat | digest
	ask srun -n 1 sh -c 'exit 7'
	ask squeue -h | wc -l
}
