/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Which process is the daemon of a protocol: the one that holds a lock on <protocol>.claim in the
 * run directory. Only root can open that file, and only root can write to that directory. The
 * kernel reports the process (F_GETLK), and releases the claim when the process ends for any
 * reason. <protocol>.pid tells everybody the same, but nothing here relies on it.
 */
#ifndef STEPWISE_DAEMON_CLAIM_H
#define STEPWISE_DAEMON_CLAIM_H

#include <sys/types.h>

#include "stepwise.h"

/*
 * Size of the claim's text, which describes the daemon. The rest of the claim belongs to
 * daemon_rounds.c.
 */
#define DAEMON_CLAIM_TEXT_BYTES 64

/* Returned for a daemon that has no number in this process namespace. */
#define DAEMON_ELSEWHERE (-1)

/*
 * Returns the running daemon of this protocol, or 0. *netns gets the inode of its network
 * namespace, or 0 if that is unknown; netns may be NULL.
 */
pid_t daemon_running(const struct stepwise_protocol *protocol, unsigned long *netns);

/*
 * Makes this process the daemon of the protocol. The returned descriptor holds the claim for this
 * process, but not for its children, until any descriptor of the same file is closed. Returns
 * -EEXIST, after a message, if there is a daemon.
 */
int daemon_claim(const struct stepwise_protocol *protocol);

/*
 * Opens the claim for reading. Returns -ENOENT if there is none, or another negative errno. Never
 * call it in the process that holds the claim, because closing the descriptor would release it.
 */
int daemon_claim_open(const struct stepwise_protocol *protocol);

/*
 * Stops the daemon by SIGTERM and waits for its end. It is not an error if there is none. The
 * signal goes only to a process that verifiably holds the claim. Returns a negative errno after a
 * message.
 */
int command_stop(const struct stepwise_protocol *protocol);

/*
 * Removes the claim. Returns 1 if there was one, 0 if there was none, or -EBUSY, after a message,
 * if a daemon holds it.
 */
int daemon_claim_remove(const struct stepwise_protocol *protocol);

#endif
