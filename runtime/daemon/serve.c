/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "base/log.h"
#include "base/netns.h"
#include "base/operator_hint.h"
#include "base/privileges.h"
#include "base/rcu_grace.h"
#include "daemon/daemonize.h"
#include "daemon/deferred.h"
#include "daemon/drain.h"
#include "daemon/rare_path.h"
#include "daemon/serve.h"
#include "daemon/sweep.h"
#include "net/addresses.h"
#include "net/endpoint.h"
#include "net/frame_reply.h"
#include "net/interfaces.h"
#include "net/look_ahead.h"
#include "net/port.h"
#include "net/ring_endpoint.h"
#include "net/sender.h"
#include "net/xsk_queues.h"
#include "state/daemon_claim.h"
#include "state/daemon_rounds.h"
#include "state/pins.h"
#include "state/programs.h"
#include "state/run_state.h"
#include "stepwise_forward.h"

enum event {
	EVENT_SIGNAL,
	EVENT_PERIOD,	/* a sweep is due */
	EVENT_GRACE,	/* a pass may start */
	EVENT_RETRY,	/* a contended cell may be free */
	EVENT_DRAIN,	/* a sync or the whole drain has ended */
	EVENT_DEFERRED, /* what the handler could not answer yet may be answered now */
	EVENT_PORT,	/* count strangers, and retry what failed */
	EVENT_ADDRESS,	/* this host's addresses have changed */
	EVENT_SOCKET,	/* plus the number of the endpoint */
};

#define ENDPOINTS_MAX (XSK_QUEUES_MAX + 1)
#define RETRY_MS 1
#define STRANGERS_MS 1000

/* NOLINTNEXTLINE(misc-redundant-expression): two names of one number, and to stay so. */
_Static_assert(SERVE_BUFFER_BYTES == STEPWISE_RING_BYTES,
	       "--help and the documentation say that queues and the ring have the same room");

struct server {
	const struct stepwise_protocol *protocol;
	const struct serve_options *options;
	struct daemon_statistics *statistics;
	int claim_fd;
	struct daemon_rounds *rounds;
	int epoll_fd;
	int signal_fd;
	int period_fd;
	int retry_fd;
	int strangers_fd;
	int sender_fd;
	struct port port;
	__u64 strangers; /* strangers of the port that are already counted */
	struct endpoint *endpoints[ENDPOINTS_MAX];
	size_t endpoint_count;
	struct rare_path *rare_path;
	struct sweep *sweep;
	struct rcu_grace *grace;
	struct drain *drain;
	struct addresses *addresses;
	bool chunk_due;
	bool stopping;
	int failed; /* the error that stops the daemon, if any */
};

static int watch(const struct server *server, int fd, int event)
{
	struct epoll_event registration = { .events = EPOLLIN, .data.u32 = event };

	if (fd >= 0 && epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &registration) == 0)
		return 0;
	log_error("cannot wait for events: %s", strerror(errno));
	return -errno;
}

static int open_signals(struct server *server)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	server->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch(server, server->signal_fd, EVENT_SIGNAL);
}

static int add_endpoint(struct server *server, struct endpoint *endpoint)
{
	server->endpoints[server->endpoint_count] = endpoint;
	return watch(server, endpoint->fd, EVENT_SOCKET + server->endpoint_count++);
}

static int set_timer(int fd, unsigned int delay_ms, unsigned int period_ms)
{
	struct itimerspec timer = {
		.it_value = { delay_ms / 1000, delay_ms % 1000 * 1000000L },
		.it_interval = { period_ms / 1000, period_ms % 1000 * 1000000L },
	};

	return timerfd_settime(fd, 0, &timer, NULL) ? -errno : 0;
}

/* The port wakes nobody, so a timer reads its count. */
static int open_strangers_timer(struct server *server)
{
	int err;

	server->strangers_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(server, server->strangers_fd, EVENT_PORT);
	return err ? err : set_timer(server->strangers_fd, STRANGERS_MS, STRANGERS_MS);
}

/*
 * Opens everything in the order of a request's path: room for the request, then TC's knowledge of
 * the sender, and only then the announcement that a daemon lives, after which programs put frames
 * into the ring. The queues come last, because opening some may take a while.
 */
static int open_endpoints(struct server *server, __u32 buffer_bytes)
{
	const struct stepwise_protocol *protocol = server->protocol;
	struct xsk_queues queues;
	struct endpoint *ring;
	int err = port_hold(&server->port, protocol->port);

	if (err)
		return err;
	server->sender_fd = frame_sender_open();
	if (server->sender_fd < 0) {
		log_error("cannot open the socket for replies: %s; run serve as root",
			  strerror(-server->sender_fd));
		return server->sender_fd;
	}
	ring = ring_endpoint_open(server->sender_fd, buffer_bytes);
	err = ring ? add_endpoint(server, ring) : -EIO;
	if (!err && protocol->tc_program)
		err = sender_announce(server->sender_fd);
	if (!err)
		err = port_announce(&server->port);
	if (err)
		return err;
	xsk_queues_open(&queues, server->sender_fd, buffer_bytes);
	for (size_t i = 0; i < queues.count; i++)
		err = add_endpoint(server, queues.endpoints[i]) ?: err;
	return err || !protocol->ahead_program ? err : look_ahead_enter(protocol, &queues);
}

static int open_timers(struct server *server)
{
	unsigned int period_ms = server->protocol->sweep_period_ms;
	int err;

	server->period_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	server->retry_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(server, server->period_fd, EVENT_PERIOD) ?:
		      watch(server, server->retry_fd, EVENT_RETRY);
	return err ? err : set_timer(server->period_fd, period_ms, period_ms);
}

/*
 * The programs in the kernel must be of this build, because its handler and their sections are one
 * set of steps.
 */
static int check_loaded(const struct stepwise_protocol *protocol)
{
	char path[PATH_MAX];
	__u64 found;
	int pinned;

	pinned = check_pinned_layout(protocol);
	if (pinned < 0)
		return pinned;
	if (pinned)
		pinned = pins_path(path, "build/identity") ?:
				 pinned_identity(path, build_identity(protocol), &found);
	if (pinned < 0)
		return pinned;
	if (pinned == PINNED_NOTHING) {
		log_error("cannot serve %s: it is not loaded; run `%s` first", protocol->name,
			  operator_hint("load", "INTERFACE"));
		return -ENOENT;
	}
	if (pinned == PINNED_OTHER) {
		log_error(
			"cannot serve %s: another build of it is loaded; unload every interface and load them with this one",
			protocol->name);
		return -EMEDIUMTYPE;
	}
	return 0;
}

/* The same rule as for a load: see check_namespace() in loader.c. */
static int check_namespace(const struct stepwise_protocol *protocol)
{
	unsigned long netns = netns_here();
	struct interface other;
	char path[PATH_MAX];
	int elsewhere;

	if (!netns)
		return -ENOENT;
	elsewhere = serves_one_namespace(protocol) ? interfaces_elsewhere(&other) : 0;
	if (elsewhere <= 0)
		return elsewhere;
	netns_file(path, other.netns, 0);
	log_error(
		"cannot serve %s in this network namespace (%lu): it is loaded on %s of another one (%lu), and a daemon answers only in its own; start it there: `nsenter --net=%s %s`",
		protocol->name, netns, other.name, other.netns, path, operator_hint("serve", ""));
	return -EXDEV;
}

static int open_claim(struct server *server)
{
	server->claim_fd = daemon_claim(server->protocol);
	if (server->claim_fd < 0)
		return server->claim_fd;
	server->rounds = daemon_rounds_open(server->claim_fd);
	return server->rounds ? 0 : -EIO;
}

static int open_statistics(struct server *server)
{
	server->statistics = daemon_statistics_open(server->protocol);
	return server->statistics ? 0 : -EIO;
}

static int open_rare_path(struct server *server)
{
	const __u32 buffer_bytes = server->options->buffer_bytes ?: SERVE_BUFFER_BYTES;
	int err;

	if (!server->protocol->on_forwarded)
		return 0;
	server->rare_path = rare_path_open(server->protocol, server->statistics);
	if (!server->rare_path)
		return -EIO;
	err = open_endpoints(server, buffer_bytes);
	if (err)
		return err;
	err = watch(server, deferred_fd(rare_path_deferred(server->rare_path)), EVENT_DEFERRED);
	return err ? err : open_strangers_timer(server);
}

static int open_sweep(struct server *server)
{
	if (!server->protocol->pass_count)
		return 0;
	server->sweep = sweep_open(server->protocol, server->statistics);
	return server->sweep ? 0 : -EIO;
}

static int open_drain(struct server *server)
{
	if (!server->protocol->drain)
		return 0;
	server->drain = drain_open(server->protocol, server->statistics);
	return server->drain ? 0 : -EIO;
}

static int open_addresses(struct server *server)
{
	if (!server->protocol->compares_addresses)
		return 0;
	server->addresses = addresses_open();
	if (!server->addresses)
		return -EIO;
	return watch(server, addresses_fd(server->addresses), EVENT_ADDRESS);
}

/* Opens everything that takes privilege. */
static int open_pinned(struct server *server)
{
	/*
	 * The claim is first, because only one daemon may have the rest. The others count in the
	 * statistics.
	 */
	static int (*const openers[])(struct server *server) = {
		open_claim, open_statistics, open_rare_path, open_sweep, open_drain, open_addresses,
	};
	const struct stepwise_protocol *protocol = server->protocol;
	int err, hold = pins_hold(PINS_SHARED);

	if (hold == -ENOENT)
		log_error("cannot serve %s: it is not loaded; run `%s` first", protocol->name,
			  operator_hint("load", "INTERFACE"));
	if (hold < 0)
		return hold;
	err = check_loaded(protocol) ?: check_namespace(protocol);
	for (size_t i = 0; !err && i < sizeof(openers) / sizeof(openers[0]); i++)
		err = openers[i](server);
	close(hold);
	return err;
}

static bool server_works(void *context)
{
	const struct server *server = context;

	return (!server->rare_path || rare_path_may_run(server->rare_path)) &&
	       (!server->sweep || sweep_may_run(server->sweep)) &&
	       (!server->drain || drain_may_run(server->drain)) &&
	       (!server->addresses || addresses_may_run(server->addresses));
}

static int start_drain(struct server *server)
{
	int err;

	if (!server->drain)
		return 0;
	err = watch(server, drain_fd(server->drain), EVENT_DRAIN);
	return err ? err : drain_begin(server->drain, server->options->segments);
}

static int start_sweep(struct server *server)
{
	int err;

	if (!server->sweep)
		return 0;
	server->grace = rcu_grace_open();
	if (!server->grace)
		return -EOPNOTSUPP;
	err = watch(server, rcu_grace_fd(server->grace), EVENT_GRACE);
	return err ? err : open_timers(server);
}

static int open_server(struct server *server)
{
	int err;

	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0) {
		err = -errno;
		log_error("cannot wait for events: %s", strerror(-err));
		return err;
	}
	err = open_signals(server) ?: open_pinned(server);
	if (err)
		return err;
	err = privileges_drop(server->options->user, server_works, server);
	if (err)
		return err;
	/*
	 * Not earlier: the user must own the files, and threads keep the privileges that they start
	 * with.
	 */
	err = start_drain(server);
	return err ? err : start_sweep(server);
}

/* The kernel counts in 32 bits. */
static void count_strangers(struct server *server)
{
	const __u64 strangers = port_strangers(&server->port);

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no timer runs without them. */
	server->statistics->strangers += (__u32)(strangers - server->strangers);
	server->strangers = strangers;
}

static void close_server(struct server *server)
{
	const int fds[] = { server->claim_fd,  server->epoll_fd, server->signal_fd,
			    server->period_fd, server->retry_fd, server->strangers_fd,
			    server->sender_fd };

	if (server->statistics)
		count_strangers(server);
	port_release(&server->port);
	addresses_close(server->addresses);
	drain_close(server->drain);
	rcu_grace_close(server->grace);
	sweep_close(server->sweep);
	rare_path_close(server->rare_path);
	for (size_t i = 0; i < server->endpoint_count; i++)
		server->endpoints[i]->operations->close(server->endpoints[i]);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	daemon_rounds_close(server->rounds);
	if (server->statistics)
		munmap(server->statistics, sizeof(*server->statistics));
}

static void discard_expirations(int fd)
{
	__u64 expirations;

	if (read(fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
		log_debug("timer: %s", strerror(errno));
}

static void handle_event(struct server *server, unsigned int event)
{
	switch (event) {
	case EVENT_SIGNAL:
		server->stopping = true;
		return;
	case EVENT_PERIOD:
		discard_expirations(server->period_fd);
		if (!sweep_under_way(server->sweep)) {
			sweep_begin(server->sweep);
			server->chunk_due = true;
		}
		return;
	case EVENT_GRACE:
		rcu_grace_end(server->grace);
		server->chunk_due = true;
		return;
	case EVENT_RETRY:
		discard_expirations(server->retry_fd);
		server->chunk_due = true;
		return;
	case EVENT_DRAIN:
		server->failed = drain_ended(server->drain);
		server->stopping |= server->failed != 0;
		if (server->rare_path && !server->failed)
			deferred_serve(rare_path_deferred(server->rare_path));
		return;
	case EVENT_DEFERRED:
		rare_path_serve_deferred(server->rare_path);
		return;
	case EVENT_PORT:
		discard_expirations(server->strangers_fd);
		count_strangers(server);
		if (server->addresses)
			addresses_again(server->addresses);
		return;
	case EVENT_ADDRESS:
		addresses_follow(server->addresses);
		return;
	default:
		rare_path_serve(server->rare_path, server->endpoints[event - EVENT_SOCKET]);
	}
}

static void run_chunk(struct server *server)
{
	switch (sweep_continue(server->sweep)) {
	case SWEEP_READY:
		return;
	case SWEEP_CONTENDED:
		set_timer(server->retry_fd, RETRY_MS, 0);
		break;
	case SWEEP_GRACE:
		rcu_grace_begin(server->grace);
		break;
	case SWEEP_DONE:
		break;
	}
	server->chunk_due = false;
}

/*
 * Runs one round: events with at most a batch from each socket, then at most one chunk of the
 * sweep. So neither starves the other.
 */
static int run_server(struct server *server)
{
	struct epoll_event events[8];

	while (!server->stopping) {
		int count = epoll_wait(server->epoll_fd, events, sizeof(events) / sizeof(events[0]),
				       server->chunk_due ? 0 : -1);

		if (count < 0 && errno != EINTR) {
			log_error("cannot wait for events: %s", strerror(errno));
			return -errno;
		}
		daemon_rounds_begin(server->rounds);
		for (int i = 0; i < count; i++)
			handle_event(server, events[i].data.u32);
		if (server->chunk_due)
			run_chunk(server);
		daemon_rounds_end(server->rounds);
	}
	return server->failed;
}

int command_serve(const struct stepwise_protocol *protocol, const struct serve_options *options)
{
	struct server server = { .protocol = protocol,
				 .options = options,
				 .claim_fd = -1,
				 .epoll_fd = -1,
				 .signal_fd = -1,
				 .period_fd = -1,
				 .retry_fd = -1,
				 .strangers_fd = -1,
				 .sender_fd = -1 };
	struct background background;
	int err;

	/* Fork before anything is opened, so that all of it belongs to the child. */
	err = daemonize_begin(&background, protocol, options->daemonize);
	if (err || background.is_parent)
		return err;
	err = open_server(&server);
	if (!err) {
		printf("READY %s port %u pid %d\n", protocol->name, protocol->port, (int)getpid());
		fflush(stdout);
	}
	daemonize_ready(&background, err);
	if (!err)
		err = run_server(&server);
	close_server(&server);
	return err;
}
