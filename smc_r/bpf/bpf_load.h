/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * bpf_load: attaches the BPF program of the SMC option, and keeps its settings.
 *
 * The programs hang on the root of the cgroup v2 hierarchy by links that are
 * pinned, with the maps, in <bpffs>/smc_r/<instance>/. So the kernel keeps them
 * when the command ends, and no daemon is needed. The instance is a hash of the
 * run directory's path (option_instance): each run directory has programs and
 * marks of its own, and they do not see each other.
 *
 * Needs root, or CAP_BPF and CAP_NET_ADMIN with a bpffs that may be written to;
 * CAP_SYS_ADMIN to mount a bpffs where none is. Linux 6.1 or later.
 *
 * Each function returns 0 or -errno; with -EPERM, -ENOSYS and -EOPNOTSUPP the
 * option is not to be had here, which a device can live without. Those that
 * take `why` write one line there when they fail, without a final newline.
 *
 * Locking: one thread, and one command at a time for each run directory.
 */
#ifndef SMC_R_BPF_LOAD_H
#define SMC_R_BPF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/snapshot.h"
#include "smc_r/os/option.h"

/*
 * Attaches the programs with these settings. When they are attached already,
 * only the settings change and marked sockets stay marked; what a crash has
 * left half done, or an older build, is replaced.
 */
int bpf_load_attach(const char *rundir, const struct snapshot *s, char *why,
		    size_t size);

/*
 * Replaces the settings: each connection sees the old ones or the new ones.
 * -ENOENT when nothing is attached.
 */
int bpf_load_update(const char *rundir, const struct snapshot *s, char *why,
		    size_t size);

/*
 * Calls each() with every user who has an account, and the RMB memory that the
 * user's processes hold; stops when it returns other than 0, and returns that.
 * -ENOENT when nothing is attached. Says no why.
 */
int bpf_load_accounts(const char *rundir,
		      int (*each)(void *owner, uid_t user, uint64_t bytes),
		      void *owner);

/* Calls each() with every place where a marked listener is, likewise. */
int bpf_load_places(const char *rundir,
		    int (*each)(void *owner, const struct option_place *place,
				const struct worth *worth),
		    void *owner);

/* Takes everything away again; 0 also when there was nothing. */
int bpf_load_detach(const char *rundir);

/*
 * Is the private socket option answered to this process? Asks as a program
 * would, so it needs no privilege.
 */
bool bpf_load_attached(const char *rundir);

#endif
