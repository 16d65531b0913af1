/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * device: one RDMA device per Ethernet interface, and its GID table.
 *
 * Locking: core_lock; changed with it held for writing.
 */
#ifndef OFED_CORE_DEVICE_H
#define OFED_CORE_DEVICE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DEVICES_MAX     16
#define GIDS_MAX        128
#define DEVICE_NAME_MAX 32

#define MAX_QP        16384
#define MAX_QP_WR     4096
#define MAX_SGE       16
#define MAX_INLINE    1024
#define MAX_CQ        32768
#define MAX_CQE       1048575
#define MAX_MR        1048576
#define MAX_PD        32768
#define MAX_RD_ATOM   16
#define MAX_AH        32767
#define MAX_SRQ       4096
#define MAX_SRQ_WR    32767
#define MAX_MCAST_GRP 8192
#define MAX_MCAST_QP  240
#define MAX_MSG_BYTES 0x40000000u

struct gid {
	union {
		uint8_t raw[16];
		struct in6_addr ip6;
	};
	bool is_used;
	bool is_v1;       /* RoCE version 1, else 2 */
	uint8_t spare[2]; /* 0: GIDs are compared as bytes */
};

/*
 * Which versions of RoCE the devices offer: the tunable roce_v2_mode, given as
 * OFED_CORE_ROCE_V2_MODE when the core starts.
 */
enum roce_mode {
	ROCE_V1_ONLY,
	ROCE_V2_ONLY,
	ROCE_BOTH
};
extern enum roce_mode roce_mode;

struct device {
	char name[DEVICE_NAME_MAX];
	char netdev[IF_NAMESIZE];
	unsigned ifindex;
	unsigned index;  /* in the table */
	unsigned uverbs; /* N of uverbsN */
	uint8_t mac[6];
	unsigned netdev_mtu;
	bool is_up;
	bool is_gone;       /* the interface was deleted */
	uint64_t node_guid; /* network order */
	unsigned speed_mbps;
	struct gid gids[GIDS_MAX];
};

extern struct device devices[DEVICES_MAX];
extern unsigned device_count;

/* NULL when there is none. */
struct device *device_by_uverbs(unsigned uverbs);
struct device *device_by_ifindex(unsigned ifindex);
/*
 * The device that owns the GID; *index gets its place when not NULL. With both
 * versions of RoCE the place is that of version 2.
 */
struct device *device_by_gid(const uint8_t gid[16], unsigned *index);
struct device *device_by_gid_version(const uint8_t gid[16], bool is_v1,
				     unsigned *index);

/*
 * Programs made for InfiniBand name a port by its LID, without a GID. A port's
 * LID is the end of its first IPv4 address (of its first GID where it has
 * none), so within a network of 65536 addresses a LID tells the address.
 * 0: the port has no address at all.
 */
uint16_t device_lid(const struct device *d);
/* What is meant by a LID; false when it names nobody. */
bool device_gid_of_lid(const struct device *d, uint16_t lid, uint8_t dgid[16],
		       unsigned *sgid_index);

/* Devices on one cable (VLANs) share their link-local GID. */
bool device_has_gid(const struct device *d, const uint8_t gid[16]);

/* Largest path MTU (enum 1..5) that fits the interface. */
unsigned device_mtu(const struct device *d);
unsigned mtu_bytes(unsigned mtu_enum);

/* ::ffff:a.b.c.d */
bool gid_is_ip4(const uint8_t gid[16]);
bool gid_is_multicast(const uint8_t gid[16]);
void gid_from_ip4(uint8_t gid[16], uint32_t address); /* network order */

#endif
