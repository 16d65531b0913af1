/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * users_memory: what all users of a host write in the run directory has a
 * tmpfs of its own, mounted on the directory of users. Who fills it fills
 * nothing else of /run.
 *
 * It stays until the host ends, as processes have files open there.
 *
 * Locking: none; the caller is the only publisher.
 */
#ifndef CONF_USERS_MEMORY_H
#define CONF_USERS_MEMORY_H

/*
 * Mounts it on an open directory that root made. Nothing is done where names
 * are in it already, in a mount namespace other than that of the host's or
 * container's first process (nobody else would see it), and without
 * CAP_SYS_ADMIN: the directory serves as well. The new file system's top is
 * for its owner only.
 *
 * 1: it is mounted; the descriptor is that of the directory below. 0: it is
 * not.
 */
int users_memory_mount(int users);

#endif
