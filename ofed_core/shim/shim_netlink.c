/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shim_netlink: answers of the kernel's RDMA netlink protocol for the core's
 * devices.
 *
 * The program's descriptor is a local datagram socket connected to itself:
 * the answer to a request is written as the request is sent, and reading,
 * polling and closing stay the kernel's. Where the kernel has the protocol
 * too, the request is put to it as well and both answers become one.
 */
#undef _FORTIFY_SOURCE
#include "ofed_core/shim/shim.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_BYTES 16384
#define DRIVER_RXE   14 /* enum rdma_driver_id: RDMA_DRIVER_RXE */
#define NODE_TYPE_CA 1

/* A port has these states, as in the verbs. */
#define PORT_DOWN         1
#define PORT_ACTIVE       4
#define PHYSICAL_DISABLED 3
#define PHYSICAL_LINK_UP  5

struct builder {
	unsigned char bytes[ANSWER_BYTES];
	size_t used;
	uint32_t seq;
};

static struct nlmsghdr *begin(struct builder *b, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(b->bytes + b->used);

	if (b->used + NLMSG_HDRLEN > sizeof(b->bytes))
		return NULL;
	*h = (struct nlmsghdr){.nlmsg_len = NLMSG_HDRLEN,
			       .nlmsg_type = type,
			       .nlmsg_flags = flags,
			       .nlmsg_seq = b->seq,
			       .nlmsg_pid = (uint32_t)getpid()};
	b->used += NLMSG_HDRLEN;
	return h;
}

/* Appends to the message what takes `whole` bytes with its padding. */
static void append(struct builder *b, struct nlmsghdr *h, const void *data,
		   size_t size, size_t whole)
{
	if (!h || b->used + whole > sizeof(b->bytes))
		return;
	memset(b->bytes + b->used, 0, whole);
	memcpy(b->bytes + b->used, data, size);
	b->used += whole;
	h->nlmsg_len += (uint32_t)whole;
}

static void add(struct builder *b, struct nlmsghdr *h, uint16_t type,
		const void *data, size_t size)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + size),
			   .nla_type = type};

	if (b->used + NLA_HDRLEN + NLA_ALIGN(size) > sizeof(b->bytes))
		return;
	append(b, h, &a, sizeof(a), NLA_HDRLEN);
	append(b, h, data, size, NLA_ALIGN(size));
}

static void add_error(struct builder *b, const struct nlmsghdr *request,
		      int error)
{
	struct nlmsgerr e = {.error = error, .msg = *request};

	append(b, begin(b, NLMSG_ERROR, 0), &e, sizeof(e), sizeof(e));
}

static void add_done(struct builder *b)
{
	append(b, begin(b, NLMSG_DONE, NLM_F_MULTI), "", 0, 4);
}

/* Finds an attribute of the request; NULL when absent or cut short. */
static const void *find(const struct nlmsghdr *h, uint16_t type, size_t *size)
{
	const unsigned char *p = (const unsigned char *)h + NLMSG_HDRLEN;
	size_t left = h->nlmsg_len - NLMSG_HDRLEN;

	while (left >= NLA_HDRLEN) {
		struct nlattr a;

		memcpy(&a, p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > left)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type) {
			*size = a.nla_len - NLA_HDRLEN;
			return p + NLA_HDRLEN;
		}
		if ((size_t)NLA_ALIGN(a.nla_len) >= left)
			return NULL;
		left -= NLA_ALIGN(a.nla_len);
		p += NLA_ALIGN(a.nla_len);
	}
	return NULL;
}

/* The devices of the core: their number, 0 when there is no core. */
static size_t list_devices(struct shim_device *out)
{
	struct shim_request r = {.kind = SHIM_LIST, .offset = SHIM_PROTOCOL};
	struct shim_answer answer;
	int fd = shim_connect();
	size_t n = 0;

	if (fd < 0)
		return 0;
	if (shim_call(fd, &r, NULL, -1, &answer) == 0 && answer.result == 0)
		n = answer.bytes / sizeof(*out);
	SHIM_NEXT(close)(fd);
	if (n > SHIM_DEVICES_MAX)
		n = SHIM_DEVICES_MAX;
	memcpy(out, answer.data, n * sizeof(*out));
	return n;
}

/* What is said of a device and of its port 1, the only one, begins so. */
static struct nlmsghdr *begin_device(struct builder *b, unsigned command,
				     const struct shim_device *d,
				     uint16_t flags)
{
	struct nlmsghdr *h =
	    begin(b, (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags);
	uint32_t ports = 1;

	add(b, h, RDMA_NLDEV_ATTR_DEV_INDEX, &d->index, sizeof(d->index));
	add(b, h, RDMA_NLDEV_ATTR_DEV_NAME, d->name, strlen(d->name) + 1);
	add(b, h, RDMA_NLDEV_ATTR_PORT_INDEX, &ports, sizeof(ports));
	return h;
}

static void add_device(struct builder *b, const struct shim_device *d,
		       uint16_t flags)
{
	struct nlmsghdr *h = begin_device(b, RDMA_NLDEV_CMD_GET, d, flags);
	uint64_t guid = __builtin_bswap64(d->node_guid);
	uint8_t type = NODE_TYPE_CA;

	add(b, h, RDMA_NLDEV_ATTR_NODE_GUID, &guid, sizeof(guid));
	add(b, h, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, &guid, sizeof(guid));
	add(b, h, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, &type, sizeof(type));
	add(b, h, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce", 5);
}

static void add_port(struct builder *b, const struct shim_device *d,
		     uint16_t flags)
{
	struct nlmsghdr *h = begin_device(b, RDMA_NLDEV_CMD_PORT_GET, d, flags);
	uint8_t state = d->is_up ? PORT_ACTIVE : PORT_DOWN;
	uint8_t physical = d->is_up ? PHYSICAL_LINK_UP : PHYSICAL_DISABLED;

	add(b, h, RDMA_NLDEV_ATTR_PORT_STATE, &state, sizeof(state));
	add(b, h, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, &physical, sizeof(physical));
	add(b, h, RDMA_NLDEV_ATTR_NDEV_INDEX, &d->ifindex, sizeof(d->ifindex));
	add(b, h, RDMA_NLDEV_ATTR_NDEV_NAME, d->netdev, strlen(d->netdev) + 1);
}

static void add_chardev(struct builder *b, const char *name, uint64_t number,
			uint64_t abi, bool is_verbs)
{
	struct nlmsghdr *h = begin(
	    b, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV), 0);
	uint64_t driver = DRIVER_RXE;

	add(b, h, RDMA_NLDEV_ATTR_CHARDEV, &number, sizeof(number));
	add(b, h, RDMA_NLDEV_ATTR_CHARDEV_ABI, &abi, sizeof(abi));
	add(b, h, RDMA_NLDEV_ATTR_CHARDEV_NAME, name, strlen(name) + 1);
	if (is_verbs)
		add(b, h, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, &driver,
		    sizeof(driver));
}

static const struct shim_device *device_of(const struct nlmsghdr *request,
					   const struct shim_device *devices,
					   size_t count)
{
	size_t size = 0;
	const void *value = find(request, RDMA_NLDEV_ATTR_DEV_INDEX, &size);
	uint32_t index;

	if (!value || size != sizeof(index))
		return NULL;
	memcpy(&index, value, sizeof(index));
	for (size_t i = 0; i < count; i++)
		if (devices[i].index == index)
			return &devices[i];
	return NULL;
}

static int answer_chardev(struct builder *b, const struct nlmsghdr *request,
			  const struct shim_device *d)
{
	size_t size = 0;
	const char *type = find(request, RDMA_NLDEV_ATTR_CHARDEV_TYPE, &size);
	unsigned number;
	char name[32];

	if (!type || !size || type[size - 1])
		return -EINVAL;
	if (strcmp(type, "rdma_cm") == 0) {
		if (shim_path("/dev/infiniband/rdma_cm", name, sizeof(name),
			      &number) != SHIM_PATH_CM)
			return -ENODEV;
		add_chardev(b, "rdma_cm", makedev(SHIM_CM_MAJOR, SHIM_CM_MINOR),
			    RDMA_USER_CM_ABI_VERSION, false);
		return 0;
	}
	if (strcmp(type, "uverbs") != 0 || !d)
		return -ENODEV;
	snprintf(name, sizeof(name), "uverbs%u", d->uverbs);
	add_chardev(
	    b, name,
	    makedev(SHIM_UVERBS_MAJOR, SHIM_UVERBS_MINOR_BASE + d->uverbs), 1,
	    true);
	return 0;
}

/* Our answer to one request, without the end of a dump; -errno: none. */
static int answer_request(struct builder *b, const struct nlmsghdr *request)
{
	struct shim_device devices[SHIM_DEVICES_MAX];
	size_t count = list_devices(devices);
	const struct shim_device *d = device_of(request, devices, count);

	switch (request->nlmsg_type) {
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET):
		if (request->nlmsg_flags & NLM_F_DUMP) {
			for (size_t i = 0; i < count; i++)
				add_device(b, &devices[i], NLM_F_MULTI);
			return 0;
		}
		if (!d)
			return -ENODEV;
		add_device(b, d, 0);
		return 0;
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET):
		if (!d)
			return -ENODEV;
		add_port(b, d,
			 request->nlmsg_flags & NLM_F_DUMP ? NLM_F_MULTI : 0);
		return 0;
	case RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET_CHARDEV):
		return answer_chardev(b, request, d);
	default:
		return -EOPNOTSUPP;
	}
}

/*
 * Puts the request to the kernel and appends its messages. True when it gave
 * a real answer (not an error); a dump's end is left out.
 */
static bool ask_kernel(struct builder *b, const struct nlmsghdr *request)
{
	bool is_dump = request->nlmsg_flags & NLM_F_DUMP;
	bool answered = false;
	bool more = true;
	int fd = SHIM_NEXT(socket)(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_RDMA);

	if (fd < 0)
		return false;
	if (SHIM_NEXT(send)(fd, request, request->nlmsg_len, 0) < 0)
		more = false;
	while (more && sizeof(b->bytes) - b->used > 4096) {
		struct nlmsghdr *h =
		    (struct nlmsghdr *)(void *)(b->bytes + b->used);
		ssize_t n =
		    SHIM_NEXT(recv)(fd, h, sizeof(b->bytes) - b->used, 0);
		ssize_t left = n;

		more = is_dump && n > 0;
		for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE ||
			    h->nlmsg_type == NLMSG_ERROR) {
				more = false;
				break;
			}
			h->nlmsg_pid = (uint32_t)getpid();
			b->used += NLMSG_ALIGN(h->nlmsg_len);
			answered = true;
		}
	}
	SHIM_NEXT(close)(fd);
	return answered;
}

ssize_t shim_netlink_send(int fd, const void *bytes, size_t count)
{
	struct builder b = {.used = 0};
	struct nlmsghdr request;
	const struct nlmsghdr *whole = bytes;
	bool is_dump;
	int rc = 0;

	if (count >= sizeof(request))
		memcpy(&request, bytes, sizeof(request));
	if (count < sizeof(request) || request.nlmsg_len < NLMSG_HDRLEN ||
	    request.nlmsg_len > count) {
		errno = EINVAL;
		return -1;
	}
	b.seq = request.nlmsg_seq;
	is_dump = request.nlmsg_flags & NLM_F_DUMP;
	if (!ask_kernel(&b, whole) || is_dump) {
		rc = answer_request(&b, whole);
		if (rc < 0 && !b.used)
			add_error(&b, &request, rc);
		else if (is_dump)
			add_done(&b);
	}
	if (rc == 0 && !is_dump && (request.nlmsg_flags & NLM_F_ACK))
		add_error(&b, &request, 0);
	if (SHIM_NEXT(send)(fd, b.bytes, b.used, MSG_NOSIGNAL) < 0)
		return -1;
	return (ssize_t)count;
}

int shim_netlink_open(int type, int protocol)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(a);
	int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK);
	int core = shim_connect();
	char byte;
	int fd;

	if (core < 0)
		return SHIM_NEXT(socket)(AF_NETLINK, type, protocol);
	SHIM_NEXT(close)(core);
	fd = SHIM_NEXT(socket)(AF_UNIX, SOCK_DGRAM | flags, 0);
	if (fd < 0)
		return -1;
	/* Binding without a name lets the kernel choose one. */
	if (SHIM_NEXT(bind)(fd, (struct sockaddr *)&a, sizeof(sa_family_t)) <
		0 ||
	    SHIM_NEXT(getsockname)(fd, (struct sockaddr *)&a, &size) < 0 ||
	    SHIM_NEXT(connect)(fd, (struct sockaddr *)&a, size) < 0) {
		SHIM_NEXT(close)(fd);
		return -1;
	}
	/* What others sent before it was connected; now nobody else can. */
	while (SHIM_NEXT(recv)(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		continue;
	shim_fd_set(fd, SHIM_FD_NETLINK, 0);
	return fd;
}
