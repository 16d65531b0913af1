/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netdev: follows the interfaces of the network namespace by rtnetlink.
 *
 * After any change everything is read again: the tables are small, changes
 * rare, and a message lost to a full buffer then costs nothing.
 */
#include "ofed_core/device/netdev.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ofed_core/base/log.h"
#include "ofed_core/base/worker.h"
#include "ofed_core/device/rtattr.h"
#include "ofed_core/device/sysfs.h"

#define UVERBS_MAX 64

struct snapshot {
	struct device found[DEVICES_MAX];
	unsigned count;
	struct device loopback;
	bool has_loopback;
	bool wants_link_local; /* of the addresses, or all others */
};

static struct source watcher;
static const struct netdev_events *events;

static int open_netlink(uint32_t groups)
{
	struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int dump(int fd, uint16_t type,
		void (*each)(struct nlmsghdr *h, void *owner), void *owner)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} q = {.h = {.nlmsg_len = sizeof(q),
		     .nlmsg_type = type,
		     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	static _Alignas(8) char buffer[32768];
	const size_t head = type == RTM_GETLINK ? sizeof(struct ifinfomsg)
						: sizeof(struct ifaddrmsg);

	if (send(fd, &q, sizeof(q), 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
		ssize_t left = n;

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		for (struct nlmsghdr *h = (void *)buffer; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR ||
			    h->nlmsg_len < NLMSG_SPACE(head))
				return -EIO;
			each(h, owner);
		}
	}
}

static unsigned read_speed(const char *netdev)
{
	char path[96];
	char text[16] = "";
	long v;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", netdev);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	v = n > 0 ? strtol(text, NULL, 10) : 0;
	return v > 0 ? (unsigned)v : 0;
}

/* EUI-64 of the MAC address. */
static void interface_id(const uint8_t mac[6], uint8_t out[8])
{
	memcpy(out, mac, 3);
	out[0] ^= 2;
	out[3] = 0xff;
	out[4] = 0xfe;
	memcpy(out + 5, mac + 3, 3);
}

static bool is_kind(struct rtattr *info, const char *kind)
{
	int left = (int)RTA_PAYLOAD(info);

	for (struct rtattr *a = RTA_DATA(info); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_INFO_KIND &&
		    strncmp(RTA_DATA(a), kind, RTA_PAYLOAD(a)) == 0)
			return true;
	return false;
}

static void each_link(struct nlmsghdr *h, void *owner)
{
	struct snapshot *s = owner;
	struct ifinfomsg *i = NLMSG_DATA(h);
	struct device d = {.ifindex = (unsigned)i->ifi_index};
	int left = (int)IFLA_PAYLOAD(h);
	bool is_loopback = i->ifi_flags & IFF_LOOPBACK;

	if (h->nlmsg_type != RTM_NEWLINK ||
	    (i->ifi_type != ARPHRD_ETHER && !is_loopback))
		return;
	for (struct rtattr *a = IFLA_RTA(i); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type == IFLA_IFNAME)
			snprintf(d.netdev, sizeof(d.netdev), "%.*s",
				 (int)RTA_PAYLOAD(a),
				 (const char *)RTA_DATA(a));
		else if (a->rta_type == IFLA_MTU)
			rtattr_get(a, &d.netdev_mtu, 4);
		else if (a->rta_type == IFLA_ADDRESS && RTA_PAYLOAD(a) == 6)
			memcpy(d.mac, RTA_DATA(a), 6);
		else if (a->rta_type == IFLA_MASTER)
			return; /* the bridge or bond carries the addresses */
		else if (a->rta_type == IFLA_LINKINFO && is_kind(a, "ifb"))
			return; /* a device for queueing only */
	}
	d.is_up = (i->ifi_flags & IFF_UP) && (i->ifi_flags & IFF_RUNNING);
	d.speed_mbps = read_speed(d.netdev);
	interface_id(d.mac, (uint8_t *)&d.node_guid);
	if (is_loopback) {
		s->loopback = d;
		s->has_loopback = true;
	} else if (s->count < DEVICES_MAX) {
		s->found[s->count++] = d;
	}
}

static struct device *found_by_ifindex(struct snapshot *s, unsigned ifindex)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->found[i].ifindex == ifindex)
			return &s->found[i];
	return NULL;
}

static bool has_gid(const struct device *d, const struct gid *g)
{
	for (unsigned i = 0; i < GIDS_MAX; i++)
		if (d->gids[i].is_used && d->gids[i].is_v1 == g->is_v1 &&
		    memcmp(d->gids[i].raw, g->raw, 16) == 0)
			return true;
	return false;
}

static void place_gid(struct device *d, const struct gid *g)
{
	for (unsigned i = 0; i < GIDS_MAX && !has_gid(d, g); i++)
		if (!d->gids[i].is_used)
			d->gids[i] = *g;
}

/* An entry for each version of RoCE that is offered, version 1 first. */
static void add_gid(struct device *d, const uint8_t raw[16])
{
	struct gid g = {.is_used = true, .is_v1 = true};

	memcpy(g.raw, raw, 16);
	if (roce_mode != ROCE_V2_ONLY)
		place_gid(d, &g);
	g.is_v1 = false;
	if (roce_mode != ROCE_V1_ONLY)
		place_gid(d, &g);
}

static void each_address(struct nlmsghdr *h, void *owner)
{
	struct snapshot *s = owner;
	struct ifaddrmsg *m = NLMSG_DATA(h);
	struct device *d = found_by_ifindex(s, m->ifa_index);
	bool is_link_local =
	    m->ifa_family == AF_INET6 && m->ifa_scope == RT_SCOPE_LINK;
	struct rtattr *chosen = NULL;
	int left = (int)IFA_PAYLOAD(h);
	uint8_t gid[16];
	uint32_t ip4;

	if (h->nlmsg_type != RTM_NEWADDR || !d ||
	    is_link_local != s->wants_link_local)
		return;
	for (struct rtattr *a = IFA_RTA(m); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if (a->rta_type == IFA_LOCAL ||
		    (a->rta_type == IFA_ADDRESS && !chosen))
			chosen = a;
	if (!chosen)
		return;
	if (m->ifa_family == AF_INET && RTA_PAYLOAD(chosen) == 4) {
		memcpy(&ip4, RTA_DATA(chosen), 4);
		gid_from_ip4(gid, ip4);
	} else if (m->ifa_family == AF_INET6 && RTA_PAYLOAD(chosen) == 16) {
		memcpy(gid, RTA_DATA(chosen), 16);
	} else {
		return;
	}
	add_gid(d, gid);
}

static void add_default_gids(struct snapshot *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		uint8_t gid[16] = {0xfe, 0x80};

		if (s->found[i].gids[0].is_used)
			continue;
		memcpy(gid + 8, &s->found[i].node_guid, 8);
		add_gid(&s->found[i], gid);
	}
}

static int take_snapshot(struct snapshot *s)
{
	int fd = open_netlink(0);
	int rc;

	*s = (struct snapshot){.count = 0};
	if (fd < 0)
		return fd;
	rc = dump(fd, RTM_GETLINK, each_link, s);
	/* A host without Ethernet still reaches itself. */
	if (rc == 0 && !s->count && s->has_loopback)
		s->found[s->count++] = s->loopback;
	/* Link-local addresses come first, as on every RoCE adapter. */
	s->wants_link_local = true;
	if (rc == 0)
		rc = dump(fd, RTM_GETADDR, each_address, s);
	add_default_gids(s);
	s->wants_link_local = false;
	if (rc == 0)
		rc = dump(fd, RTM_GETADDR, each_address, s);
	close(fd);
	return rc;
}

/* The first uverbs number no device has, the kernel's included. */
static unsigned free_uverbs(void)
{
	char path[64];
	unsigned n;

	for (n = 0; n < UVERBS_MAX; n++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband_verbs/uverbs%u", n);
		if (access(path, F_OK) == 0)
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/uverbs%u", n);
		if (access(path, F_OK) != 0 && !device_by_uverbs(n))
			break;
	}
	return n;
}

static bool is_name_taken(const char *name)
{
	char path[96];

	for (unsigned i = 0; i < device_count; i++)
		if (strcmp(devices[i].name, name) == 0 && !devices[i].is_gone)
			return true;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	return access(path, F_OK) == 0;
}

/* entN as on AIX: the interface's own name when it has that form. */
static void choose_name(struct device *d)
{
	if (strncmp(d->netdev, "ent", 3) == 0 && !is_name_taken(d->netdev)) {
		memcpy(d->name, d->netdev, sizeof(d->netdev));
		return;
	}
	for (unsigned n = 0;; n++) {
		snprintf(d->name, sizeof(d->name), "ent%u", n);
		if (!is_name_taken(d->name))
			return;
	}
}

/* The slot of a deleted interface is free once nobody points to it. */
static bool is_free(const struct device *d)
{
	return d->is_gone && !events->is_used(d);
}

static void add_device(const struct device *found)
{
	struct device *d;
	unsigned i;

	for (i = 0; i < device_count && !is_free(&devices[i]); i++)
		continue;
	if (i == DEVICES_MAX) {
		log_warning("no room for a device on %s", found->netdev);
		return;
	}
	d = &devices[i];
	*d = *found;
	d->is_gone = true; /* until it has a name and a number */
	if (i == device_count)
		device_count++;
	choose_name(d);
	d->uverbs = free_uverbs();
	d->index = i;
	d->is_gone = false;
	log_info("device %s on %s", d->name, d->netdev);
}

static void update_device(struct device *d, const struct device *found)
{
	uint16_t lid = device_lid(d);
	bool was_up = d->is_up;
	bool is_changed = memcmp(d->gids, found->gids, sizeof(d->gids)) != 0;

	/* GIDs that stay keep their places: programs remember the index. */
	for (unsigned i = 0; i < GIDS_MAX && is_changed; i++)
		if (!has_gid(found, &d->gids[i]))
			memset(&d->gids[i], 0, sizeof(d->gids[i]));
	for (unsigned k = 0; k < GIDS_MAX && is_changed; k++)
		if (found->gids[k].is_used)
			place_gid(d, &found->gids[k]);
	d->is_up = found->is_up;
	d->netdev_mtu = found->netdev_mtu;
	d->speed_mbps = found->speed_mbps;
	memcpy(d->netdev, found->netdev, sizeof(d->netdev));
	memcpy(d->mac, found->mac, sizeof(d->mac));
	if (is_changed)
		events->on_change(d, NETDEV_GIDS);
	if (lid != device_lid(d))
		events->on_change(d, NETDEV_LID);
	if (was_up != d->is_up)
		events->on_change(d, d->is_up ? NETDEV_UP : NETDEV_DOWN);
}

static void apply(const struct snapshot *s)
{
	for (unsigned i = 0; i < device_count; i++) {
		bool is_there = false;

		for (unsigned k = 0; k < s->count && !is_there; k++)
			is_there = s->found[k].ifindex == devices[i].ifindex;
		if (is_there || devices[i].is_gone)
			continue;
		devices[i].is_gone = true;
		devices[i].is_up = false;
		log_info("device %s has gone", devices[i].name);
		events->on_gone(&devices[i]);
	}
	for (unsigned k = 0; k < s->count; k++) {
		struct device *d = device_by_ifindex(s->found[k].ifindex);

		if (d)
			update_device(d, &s->found[k]);
		else
			add_device(&s->found[k]);
	}
	sysfs_write();
}

static struct snapshot now;

static int look(void)
{
	int rc = take_snapshot(&now);

	if (rc < 0)
		return rc;
	pthread_rwlock_wrlock(&core_lock);
	apply(&now);
	pthread_rwlock_unlock(&core_lock);
	return 0;
}

static void on_message(struct source *s, uint32_t ready)
{
	char buffer[8192];

	(void)ready;
	while (recv(s->fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		continue;
	look();
}

int netdev_start(const struct netdev_events *e)
{
	int rc;
	int fd;

	events = e;
	rc = look();
	if (rc < 0)
		return rc;
	fd =
	    open_netlink(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR);
	if (fd < 0)
		return fd;
	watcher = (struct source){.fd = fd, .ready = on_message};
	return worker_add_source(worker_at(0), &watcher);
}
