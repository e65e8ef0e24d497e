/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * probe PORT COUNT TIMES: receives COUNT datagrams by an endpoint of its own and keeps them; then,
 * TIMES times, has them served again and keeps them once more; in the end answers what is left with
 * their payload and a mark. Prints a line each time: how many came out, how many were dropped.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/log.h"
#include "daemon/deferred.h"

static struct daemon_statistics statistics;

/* --- An endpoint over a UDP socket: what is kept of a datagram is its peer and its payload ---- */

struct packet {
	struct sockaddr_in peer;
	unsigned char payload[ENDPOINT_PAYLOAD_BYTES_MAX];
};

static struct packet packets[ENDPOINT_BATCH_MAX];

static size_t receive(struct endpoint *endpoint, struct daemon_statistics *counted)
{
	size_t count = 0;

	(void)counted;
	while (count < ENDPOINT_BATCH_MAX) {
		struct packet *packet = &packets[count];
		socklen_t peer_size = sizeof(packet->peer);
		ssize_t size = recvfrom(endpoint->fd, packet->payload, sizeof(packet->payload),
					MSG_DONTWAIT, (struct sockaddr *)&packet->peer, &peer_size);

		if (size < 0)
			break;
		endpoint->datagrams[count++] =
			(struct endpoint_datagram){ .payload = packet->payload,
						    .size = (size_t)size };
	}
	return count;
}

static void reply(struct endpoint *endpoint, size_t index)
{
	const struct endpoint_datagram *datagram = &endpoint->datagrams[index];

	if (sendto(endpoint->fd, datagram->payload, datagram->size, 0,
		   (struct sockaddr *)&packets[index].peer, sizeof(packets[index].peer)) < 0)
		perror("probe: send");
}

static void flush(struct endpoint *endpoint, struct daemon_statistics *counted)
{
	(void)endpoint, (void)counted;
}

static void keep(const struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	const struct endpoint_datagram *datagram = &endpoint->datagrams[index];

	kept->size = datagram->size;
	memcpy(kept->bytes, &packets[index].peer, sizeof(packets[index].peer));
	memcpy(kept->bytes + sizeof(packets[index].peer), datagram->payload, datagram->size);
}

static void restore(struct endpoint *endpoint, size_t index, struct endpoint_kept *kept)
{
	memcpy(&packets[index].peer, kept->bytes, sizeof(packets[index].peer));
	memcpy(packets[index].payload, kept->bytes + sizeof(packets[index].peer), kept->size);
	endpoint->datagrams[index] =
		(struct endpoint_datagram){ .payload = packets[index].payload, .size = kept->size };
}

static const struct endpoint_operations operations = {
	.receive = receive,
	.reply = reply,
	.flush = flush,
	.keep = keep,
	.restore = restore,
};

static bool open_endpoint(struct endpoint *endpoint, const char *port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(atoi(port)),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int room_bytes = 64 << 20;

	endpoint->operations = &operations;
	endpoint->fd = socket(AF_INET, SOCK_DGRAM, 0);
	return endpoint->fd >= 0 &&
	       setsockopt(endpoint->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes,
			  sizeof(room_bytes)) == 0 &&
	       bind(endpoint->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* --- What is kept ----------------------------------------------------------------------------- */

static bool readable(int fd, int timeout_ms)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };

	return poll(&waited, 1, timeout_ms) == 1;
}

static void *ask(void *deferred)
{
	deferred_serve(deferred);
	return NULL;
}

/* As the daemon's other threads do. */
static bool ask_elsewhere(struct deferred *deferred)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, ask, deferred) == 0 &&
	       pthread_join(thread, NULL) == 0 && readable(deferred_fd(deferred), 0);
}

static size_t take_all(struct deferred *deferred, bool answer)
{
	struct endpoint *endpoint;
	size_t count, total = 0;

	deferred_begin(deferred);
	while ((endpoint = deferred_take(deferred, &count))) {
		for (size_t i = 0; i < count; i++) {
			if (!answer) {
				deferred_keep(deferred, endpoint, i);
				continue;
			}
			endpoint->datagrams[i].payload[endpoint->datagrams[i].size++] = '!';
			endpoint->operations->reply(endpoint, i);
		}
		endpoint->operations->flush(endpoint, &statistics);
		total += count;
	}
	return total;
}

int main(int argument_count, char **arguments)
{
	struct deferred *deferred = deferred_open(&statistics);
	static struct endpoint opened, *const endpoint = &opened;
	unsigned long wanted, received = 0;

	log_open("probe", LOG_LEVEL_INFO);
	if (argument_count != 4 || !deferred)
		return 2;
	if (!open_endpoint(endpoint, arguments[1]))
		return 1;
	wanted = strtoul(arguments[2], NULL, 10);
	printf("READY\n");
	fflush(stdout);
	while (received < wanted && readable(endpoint->fd, 5000)) {
		size_t count = endpoint->operations->receive(endpoint, &statistics);

		for (size_t i = 0; i < count; i++)
			deferred_keep(deferred, endpoint, i);
		received += count;
	}
	if (readable(deferred_fd(deferred), 0))
		return 3; /* nobody has asked */
	for (int times = atoi(arguments[3]); times >= 0; times--) {
		if (!ask_elsewhere(deferred))
			return 4;
		printf("%zu %llu\n", take_all(deferred, times == 0),
		       (unsigned long long)statistics.kept_dropped);
		fflush(stdout);
		if (readable(deferred_fd(deferred), 0))
			return 5; /* asked once, served once */
	}
	deferred_close(deferred);
	close(endpoint->fd);
	return 0;
}
