/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* rendezvous: names, channels, and what strangers send over them. */
#include "smc_r/peer/rendezvous.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/unit/peers.h"

TestSuite(rendezvous, .init = place_make, .fini = place_remove);

#define ONE   RENDEZVOUS_FDS(1, BELLS_APART)
#define THREE RENDEZVOUS_FDS(3, BELLS_APART)

/* The directory that it names is there. */
static const uint8_t id[8] = {0, 0, 0, 0xef, 0x7f, 0xff, 0xff, 0xff};

static struct rendezvous_message valid(uint32_t elements)
{
	return (struct rendezvous_message){.magic = RENDEZVOUS_MAGIC,
					   .version = RENDEZVOUS_VERSION,
					   .rmb_number = 1,
					   .elements = elements,
					   .rmbe_bytes = 16384,
					   .bells = BELLS_APART};
}

/* ---- names ---- */

static mode_t mode_of(const char *name)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), PLACE_PEER "/%s", name);
	cr_assert_eq(stat(place_path(path), &st), 0);
	return st.st_mode;
}

Test(rendezvous, a_process_is_found_by_its_peer_id)
{
	int listener = rendezvous_listen(id);
	int channel;
	int accepted;

	cr_assert_geq(listener, 0);
	cr_assert_eq(rendezvous_accept(listener), -EAGAIN);
	channel = rendezvous_connect(id);
	cr_assert_geq(channel, 0);
	accepted = rendezvous_accept(listener);
	cr_assert_geq(accepted, 0);
	cr_assert_eq(rendezvous_peer(channel).pid, getpid());
	cr_assert_eq(rendezvous_peer(accepted).pid, getpid());
	cr_assert_not_null(fdtable_kind(listener, FDENTRY_PRIVATE));
	cr_assert_not_null(fdtable_kind(channel, FDENTRY_PRIVATE));
	cr_assert_not_null(fdtable_kind(accepted, FDENTRY_PRIVATE));
	/* Processes of other users are peers too. */
	cr_assert(S_ISSOCK(mode_of("000000ef7fffffff")));
	cr_assert_eq(mode_of("000000ef7fffffff") & 0777, 0666);
	cr_assert_eq(rendezvous_listen(id), -EADDRINUSE);
	rendezvous_forget(id);
	cr_assert_eq(rendezvous_connect(id), -ENOENT);
}

Test(rendezvous, a_name_without_a_process_refuses)
{
	int listener = rendezvous_listen(id);

	private_fd_close(listener);
	cr_assert_eq(rendezvous_connect(id), -ECONNREFUSED);
}

Test(rendezvous, a_run_directory_with_a_long_path_is_as_good)
{
	size_t n = strlen(place_dir);

	/* Longer than an AF_UNIX address. */
	cr_assert_lt(n + 152, sizeof(place_dir));
	place_dir[n] = '/';
	memset(place_dir + n + 1, 'd', 150);
	place_dir[n + 151] = '\0';
	cr_assert_eq(mkdir(place_dir, 0755), 0);
	place_make_user();
	setenv(RUNDIR_VARIABLE, place_dir, 1);
	cr_assert_geq(rendezvous_listen(id), 0);
	cr_assert_geq(rendezvous_connect(id), 0);
	cr_assert_eq(access(place_path(PLACE_PEER "/000000ef7fffffff"), F_OK),
		     0);
}

Test(rendezvous, without_a_directory_there_is_no_listener)
{
	place_remove();
	cr_assert_eq(rendezvous_listen(id), -ENOENT);
	cr_assert_eq(rendezvous_connect(id), -ENOENT);
	rendezvous_forget(id);
	rendezvous_sweep(0);
	place_make();
}

/* ---- names ---- */

Test(rendezvous, a_peer_id_has_directory_pid_and_random_bits)
{
	static const uint8_t expected[8] = {0xab, 0xcd, 0xef, 0xff,
					    0xff, 0xfe, 0x00, 0x01};
	uint8_t got[8];

	rendezvous_id_make(got, 0xabcdef, 0x3fffff, 0x80004000u);
	cr_assert_arr_eq(got, expected, 8);
	cr_assert_eq(rendezvous_id_pid(got), 0x3fffff);
	rendezvous_id_make(got, 0, 4711, UINT32_MAX);
	cr_assert_eq(rendezvous_id_pid(got), 4711);
}

/* ---- sweeping ---- */

static void listen_as(int number, void *argument)
{
	_Atomic int *gate = argument;
	uint8_t mine[8];

	process_forked();
	rendezvous_id_make(mine, 0, getpid(), 0x01020304u << number);
	children_must(rendezvous_listen(mine) >= 0);
	atomic_fetch_add(gate, 1);
	pause();
}

Test(rendezvous, names_of_killed_processes_are_swept_and_no_others)
{
	_Atomic int *gate = children_share(sizeof(*gate));
	char path[PLACE_PATH];
	pid_t pid[4];

	snprintf(path, sizeof(path), "%s", place_path(PLACE_PEER));
	for (int i = 0; i < 4; i++)
		pid[i] = children_start(listen_as, i, gate);
	children_wait_for(gate, 4);
	kill(pid[0], SIGKILL);
	kill(pid[2], SIGKILL);
	children_wait(pid[0]);
	children_wait(pid[2]);
	place_write(PLACE_PEER "/note", "x", 1);
	place_write(PLACE_PEER "/0000000000040001", "no socket", 9);
	cr_assert_eq(place_count(path), 6);
	rendezvous_sweep(0);
	cr_assert_eq(place_count(path), 4);
	cr_assert_eq(access(place_path(PLACE_PEER "/note"), F_OK), 0);
	kill(pid[1], SIGKILL);
	kill(pid[3], SIGKILL);
	children_wait(pid[1]);
	children_wait(pid[3]);
	rendezvous_sweep(0);
	cr_assert_eq(place_count(path), 2);
}

/* ---- messages ---- */

static int one_end, other_end;

static void make_channel(void)
{
	int pair[2];

	cr_assert_eq(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	one_end = private_fd(pair[0]);
	other_end = private_fd(pair[1]);
}

/* Pipes, as bells are. */
static void some_descriptors(int *fds, int n)
{
	int ends[2];

	for (int i = 0; i < n; i++) {
		cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
		fds[i] = ends[0];
		close(ends[1]);
	}
}

static void close_all(int *fds, int n)
{
	while (n > 0)
		close(fds[--n]);
}

Test(rendezvous, a_message_brings_its_descriptors_hidden)
{
	struct rendezvous_message m = valid(3);
	struct rendezvous_message got;
	int fds[RENDEZVOUS_FDS_MAX];
	int in[RENDEZVOUS_FDS_MAX];
	int before;

	make_channel();
	memset(m.nonce, 7, sizeof(m.nonce));
	some_descriptors(fds, THREE);
	cr_assert_eq(rendezvous_receive(other_end, &got, in), -EAGAIN);
	cr_assert_eq(rendezvous_peek(other_end, &got), -EAGAIN);
	cr_assert_eq(rendezvous_send(one_end, &m, fds, THREE), 0);
	close_all(fds, THREE);
	before = place_descriptors();
	cr_assert_eq(rendezvous_peek(other_end, &got), 0);
	cr_assert_arr_eq(&got, &m, sizeof(m));
	cr_assert_eq(place_descriptors(), before);
	cr_assert_eq(rendezvous_receive(other_end, &got, in), THREE);
	cr_assert_eq(place_descriptors(), before + THREE);
	cr_assert_arr_eq(&got, &m, sizeof(m));
	for (int i = 0; i < THREE; i++) {
		cr_assert_not_null(fdtable_kind(in[i], FDENTRY_PRIVATE));
		cr_assert(fcntl(in[i], F_GETFD) & FD_CLOEXEC);
		private_fd_close(in[i]);
	}
	private_fd_close(one_end);
	cr_assert_eq(rendezvous_peek(other_end, &got), -ECONNRESET);
	cr_assert_eq(rendezvous_receive(other_end, &got, in), -ECONNRESET);
}

Test(rendezvous, the_largest_message_fits)
{
	struct rendezvous_message m = valid(RMB_ELEMENTS_MAX);
	int fds[RENDEZVOUS_FDS_MAX];
	int n = RENDEZVOUS_FDS_MAX;

	make_channel();
	some_descriptors(fds, n);
	cr_assert_eq(rendezvous_send(one_end, &m, fds, n), 0);
	close_all(fds, n);
	cr_assert_eq(rendezvous_receive(other_end, &m, fds), n);
}

Test(rendezvous, sending_to_one_that_is_gone_is_an_error_and_no_signal)
{
	struct rendezvous_message m = valid(1);
	int fds[ONE];

	make_channel();
	some_descriptors(fds, ONE);
	private_fd_close(other_end);
	cr_assert_eq(rendezvous_send(one_end, &m, fds, ONE), -EPIPE);
}

Test(rendezvous, a_channel_that_is_full_holds_nobody_up)
{
	struct rendezvous_message m = valid(1);
	int fds[ONE];
	int result = 0;

	make_channel();
	some_descriptors(fds, ONE);
	for (int i = 0; i < 100000 && result == 0; i++)
		result = rendezvous_send(one_end, &m, fds, ONE);
	cr_assert_lt(result, 0);
}

/* Bytes and descriptors as a stranger may put them together. */
static void send_raw(const void *bytes, size_t n, const int *fds, int count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 253)];
	} control;
	struct iovec v = {(void *)(uintptr_t)bytes, n};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (count > 0) {
		memset(&control, 0, sizeof(control));
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	}
	cr_assert_eq(sendmsg(one_end, &h, 0), (ssize_t)n);
}

static void assert_refused(const void *bytes, size_t n, int count)
{
	struct rendezvous_message got;
	int fds[253];
	int in[RENDEZVOUS_FDS_MAX];
	int before = place_descriptors();

	some_descriptors(fds, count);
	send_raw(bytes, n, fds, count);
	close_all(fds, count);
	cr_assert_eq(rendezvous_receive(other_end, &got, in),
		     n ? -EPROTO : -ECONNRESET);
	cr_assert_eq(place_descriptors(), before, "%zu bytes, %d descriptors",
		     n, count);
}

Test(rendezvous, a_message_that_is_wrong_costs_no_descriptor)
{
	struct rendezvous_message m = valid(1);
	struct rendezvous_message bad;
	unsigned char longer[sizeof(m) + 64] = {0};
	const int counts[] = {0,         1,   ONE - 1, ONE + 1, ONE + 2, THREE,
			      THREE + 1, 128, 129,     130,     253};
	const uint32_t elements[] = {0, 2, 33, 64, 1u << 16, UINT32_MAX};
	const uint32_t bytes[] = {0, 1, 8192, 16383, 2097152, UINT32_MAX};
	size_t i;

	make_channel();
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_refused(&m, sizeof(m), counts[i]);
	for (i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
		bad = m;
		bad.elements = elements[i];
		assert_refused(&bad, sizeof(bad), ONE);
	}
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		bad = m;
		bad.rmbe_bytes = bytes[i];
		assert_refused(&bad, sizeof(bad), ONE);
	}
	bad = m;
	bad.overflow_bytes = RMB_OVERFLOW + 1;
	assert_refused(&bad, sizeof(bad), ONE);
	bad = m;
	bad.magic ^= 1;
	assert_refused(&bad, sizeof(bad), ONE);
	bad = m;
	bad.version++;
	assert_refused(&bad, sizeof(bad), ONE);
	for (uint32_t bells = 0; bells < 6; bells++) {
		bad = m;
		bad.bells = bells;
		if (bells != BELLS_APART)
			assert_refused(&bad, sizeof(bad), ONE);
		if (bells != BELLS_ONE)
			assert_refused(&bad, sizeof(bad),
				       RENDEZVOUS_FDS(1, BELLS_ONE));
	}
	for (i = 0; i < sizeof(m); i += 7)
		assert_refused(&m, i, ONE);
	memcpy(longer, &m, sizeof(m));
	assert_refused(longer, sizeof(m) + 1, ONE);
	assert_refused(longer, sizeof(longer), ONE);
	/* After all that a good one is still taken. */
	{
		struct rendezvous_message got;
		int fds[ONE];
		int in[RENDEZVOUS_FDS_MAX];

		some_descriptors(fds, ONE);
		send_raw(&m, sizeof(m), fds, ONE);
		cr_assert_eq(rendezvous_receive(other_end, &got, in), ONE);
	}
}

/* ---- strangers at a client's door ---- */

static struct peer server, client;
static struct peer_message server_id, client_id;

static void start_peers(void)
{
	server = peer_start();
	client = peer_start();
	server_id = peer_identity(&server);
	client_id = peer_identity(&client);
}

static int knock(void)
{
	int channel = rendezvous_connect(client_id.id);

	cr_assert_geq(channel, 0);
	return channel;
}

/* Makes the client look at its door: a nonce that nobody brought. */
static void let_look_for(int nonce)
{
	struct peer_message m = {.number = 1};

	memset(m.nonce, nonce, sizeof(m.nonce));
	cr_assert_eq(peer_accept(&client, &server_id, &m).reason, REASON_SYNC);
}

static void let_look(void)
{
	let_look_for(0x11);
}

static void assert_served(void)
{
	struct peer_message m = peer_serve(&server, &client_id, 64u << 20);

	cr_assert_eq(m.reason, REASON_NONE, "%x", m.reason);
	cr_assert_eq(peer_accept(&client, &server_id, &m).reason, REASON_NONE);
}

static int sealed_memfd(size_t bytes, int seals)
{
	int fd = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* A message of the right form; the memory is what `memfd` is. */
static int send_memory(const uint8_t *from, const uint8_t *nonce, int memfd)
{
	struct rendezvous_message m = valid(1);
	int fds[ONE];
	int channel = knock();

	memcpy(m.server_id, from, 8);
	memcpy(m.client_id, client_id.id, 8);
	memcpy(m.nonce, nonce, 16);
	some_descriptors(fds, ONE);
	close(fds[0]);
	fds[0] = memfd;
	cr_assert_eq(rendezvous_send(channel, &m, fds, ONE), 0);
	close_all(fds, ONE);
	return channel;
}

Test(rendezvous, a_flood_of_silent_strangers_costs_a_client_little)
{
	struct peer_message before;
	int channel[200];

	start_peers();
	let_look();
	before = peer_look(&client);
	for (int i = 0; i < 200; i++)
		channel[i] = knock();
	let_look();
	/* One of them could be a server whose first message is on its way. */
	cr_assert_leq(peer_look(&client).descriptors, before.descriptors + 8);
	for (int i = 0; i < 200; i++)
		private_fd_close(channel[i]);
	let_look();
	cr_assert_eq(peer_look(&client).descriptors, before.descriptors);
	for (int i = 0; i < 200; i++)
		channel[i] = knock();
	assert_served();
	for (int i = 0; i < 200; i++)
		private_fd_close(channel[i]);
	assert_served();
}

Test(rendezvous, strangers_with_memory_get_no_connection_and_go_away)
{
	static const uint8_t nonce[16] = {1, 2, 3, 4};
	struct peer_message before;
	int channel[20];

	start_peers();
	let_look();
	before = peer_look(&client);
	for (int i = 0; i < 20; i++)
		channel[i] = send_memory(
		    server_id.id, nonce,
		    sealed_memfd(rmb_bytes(1, 16384), F_SEAL_SHRINK));
	assert_served();
	for (int i = 0; i < 20; i++)
		private_fd_close(channel[i]);
	let_look();
	/* The server's own group is what stays. */
	cr_assert_leq(peer_look(&client).descriptors,
		      before.descriptors + 2 + BELLS_APART);
}

/* All but the memory is right: the client looks for this very nonce. */
static void assert_not_mapped(int mark, int memfd)
{
	struct peer_message before = peer_look(&client);
	uint8_t nonce[NONCE_BYTES];
	int channel;

	memset(nonce, mark, sizeof(nonce));
	channel = send_memory(server_id.id, nonce, memfd);
	let_look_for(mark);
	cr_assert_eq(peer_look(&client).mappings, before.mappings);
	private_fd_close(channel);
	let_look();
	cr_assert_eq(peer_look(&client).descriptors, before.descriptors);
}

/* Until the channel is full; so many it took. */
static int fill(int channel, const uint8_t *nonce)
{
	struct rendezvous_message m = valid(1);
	int fds[ONE];
	int n = 0;

	memcpy(m.server_id, server_id.id, 8);
	memcpy(m.client_id, client_id.id, 8);
	memcpy(m.nonce, nonce, 16);
	some_descriptors(fds, ONE);
	while (rendezvous_send(channel, &m, fds, ONE) == 0)
		n++;
	close_all(fds, ONE);
	return n;
}

/* It could send for as long as the client reads. */
Test(rendezvous, who_sends_without_end_is_not_heard_to_the_end)
{
	static const uint8_t nonce[16] = {0x31};
	struct peer_message m = {.number = 99};
	int channel, full;

	start_peers();
	let_look();
	channel = send_memory(server_id.id, nonce,
			      sealed_memfd(rmb_bytes(1, 16384), F_SEAL_SHRINK));
	full = fill(channel, nonce);
	memcpy(m.nonce, nonce, sizeof(m.nonce));
	cr_assert_eq(peer_accept(&client, &server_id, &m).reason, REASON_SYNC);
	cr_assert_lt(fill(channel, nonce), full / 2, "of %d", full);
	private_fd_close(channel);
	assert_served();
}

Test(rendezvous, memory_that_can_be_cut_is_not_mapped)
{
	start_peers();
	let_look();
	assert_not_mapped(0x21, sealed_memfd(rmb_bytes(1, 16384), F_SEAL_GROW));
	assert_not_mapped(0x22, sealed_memfd(4096, F_SEAL_SHRINK));
	assert_not_mapped(0x23, open("/dev/zero", O_RDWR | O_CLOEXEC));
	assert_not_mapped(0x24, socket(AF_UNIX, SOCK_STREAM, 0));
	assert_served();
}

Test(rendezvous, messages_to_another_client_are_not_taken)
{
	struct rendezvous_message m = valid(1);
	struct peer_message before;
	int fds[ONE];
	int channel;

	start_peers();
	let_look();
	before = peer_look(&client);
	channel = knock();
	memcpy(m.server_id, server_id.id, 8);
	memcpy(m.client_id, client_id.id, 8);
	m.client_id[0] ^= 1;
	some_descriptors(fds, ONE);
	cr_assert_eq(rendezvous_send(channel, &m, fds, ONE), 0);
	let_look();
	cr_assert_eq(peer_look(&client).descriptors, before.descriptors);
	assert_served();
}

/* More than the socket's queue holds: what comes after is refused, until the
 * client has looked at its door. */
Test(rendezvous, a_full_door_is_open_again_after_a_look)
{
	int channel[5000];
	int n = 0;

	start_peers();
	let_look();
	while (n < 5000) {
		channel[n] = rendezvous_connect(client_id.id);
		if (channel[n] < 0)
			break;
		n++;
	}
	let_look();
	assert_served();
	while (n > 0)
		private_fd_close(channel[--n]);
	assert_served();
}
