/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * core_place: a run directory of the RDMA core for a harness that talks to its
 * sockets, and one device. Work and sources wait as idle_worker.h says.
 */
#ifndef TESTS_FUZZ_CORE_PLACE_H
#define TESTS_FUZZ_CORE_PLACE_H

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ofed_core/base/ofed_rundir.h"
#include "ofed_core/device/device.h"
#include "ofed_core/device/sysfs.h"
#include "tests/fuzz/idle_worker.h"

static char core_rundir[64];

static void must(int holds)
{
	if (!holds)
		abort();
}

static void core_place_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", core_rundir);
	if (system(command) != 0)
		_exit(1);
}

static inline void core_place_make(void)
{
	static const uint8_t link_local[16] = {0xfe, 0x80, [15] = 1};
	uint32_t address;

	strcpy(core_rundir, "/tmp/ofed_core_fuzz.XXXXXX");
	must(mkdtemp(core_rundir) != NULL);
	atexit(core_place_remove);
	must(setenv("OFED_CORE_RUNDIR", core_rundir, 1) == 0 &&
	     setenv("OFED_CONF", "/nowhere/ofed.conf", 1) == 0);
	must(sysfs_make_rundir() == 0);
	devices[0] =
	    (struct device){.name = "ent0",
			    .netdev = "eth0",
			    .netdev_mtu = 4200,
			    .is_up = true,
			    .gids = {{.is_used = true}, {.is_used = true}}};
	device_count = 1;
	memcpy(&address, (const uint8_t[]){10, 1, 2, 1}, sizeof(address));
	memcpy(devices[0].gids[0].raw, link_local, sizeof(link_local));
	gid_from_ip4(devices[0].gids[1].raw, address);
}

/* Connects to the core's socket of that name. What the core then listens to is
 * idle_worker.last; the end of a program is returned. */
static inline int core_place_connect(struct source *listener, const char *leaf,
				     int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	must(ofed_rundir_path(a.sun_path, sizeof(a.sun_path), leaf) == 0);
	must(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	idle_worker.last = NULL;
	listener->ready(listener, 0);
	must(idle_worker.last != NULL);
	return fd;
}

#endif
