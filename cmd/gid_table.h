/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * gid_table: the GIDs of the RDMA devices, read from the files that the kernel
 * (Documentation/ABI/stable/sysfs-class-infiniband) and the RDMA core keep for
 * them.
 *
 * Ownership: gid_table_read() allocates, gid_table_fini() frees.
 */
#ifndef CMD_GID_TABLE_H
#define CMD_GID_TABLE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GID_DEVICE_SIZE 64

enum gid_kind {
	GID_IB,
	GID_ROCE_V1,
	GID_ROCE_V2
};

struct gid_row {
	char device[GID_DEVICE_SIZE];
	unsigned port;
	unsigned index;
	uint8_t gid[16];
	enum gid_kind kind;
	bool is_core;             /* a device of the RDMA core */
	char netdev[IF_NAMESIZE]; /* "" when not known */
};

struct gid_table {
	char (*devices)[GID_DEVICE_SIZE]; /* sorted by name */
	size_t device_count;
	struct gid_row *rows; /* by device, port and index */
	size_t row_count;
};

/*
 * All used places of the GID tables of all devices of this network namespace:
 * those of a loaded core, and of the kernel. 0 or -errno; no device is no
 * error.
 */
int gid_table_read(struct gid_table *out);
void gid_table_fini(struct gid_table *table);

#endif
