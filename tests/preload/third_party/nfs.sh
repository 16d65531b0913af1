# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# nfs: NFS-Ganesha and libnfs
# programs: NFS-Ganesha, libnfs
# needs: ganesha.nfsd nfs-ls nfs-cat
# length: long
# gets: smc=1
stranger() {
	mkdir export && data export/file 2000000
	cat >conf <<-EOT
		NFS_CORE_PARAM { NFS_Port = $port; Protocols = 4; Bind_addr = 127.0.0.1; Enable_NLM = false; Enable_RQUOTA = false; }
		NFSv4 { Graceless = true; RecoveryBackend = "fs"; }
		EXPORT { Export_Id = 1; Path = "$place/export"; Pseudo = "/e"; Access_Type = RW; Protocols = 4; Transports = TCP; Squash = No_Root_Squash; SecType = sys, none; FSAL { Name = VFS; } }
	EOT
	serve server ganesha.nfsd -F -f conf -L server.log -p pid
	await_port "$port"
	ask nfs-ls "nfs://127.0.0.1/e?version=4&nfsport=$port" | grep -c file
	ask nfs-cat "nfs://127.0.0.1/e/file?version=4&nfsport=$port" | digest
}
