/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Who is the daemon of a protocol: the process that holds <protocol>.claim in the run directory, a
 * file that only root opens, in a directory that only root writes to. The kernel says which process
 * that is (F_GETLK), and lets go of the claim with it, however it ends. <protocol>.pid says the
 * same to everybody, and nothing here believes it.
 */
#ifndef STEPWISE_DAEMON_CLAIM_H
#define STEPWISE_DAEMON_CLAIM_H

#include <sys/types.h>

#include "stepwise.h"

/* Of the claim that its text has, who the daemon is; what is behind it is daemon_rounds.c's. */
#define DAEMON_CLAIM_TEXT_BYTES 64

/* What is returned of a daemon that this process has no number for: it is in another namespace of
 * processes. */
#define DAEMON_ELSEWHERE (-1)

/*
 * The daemon of this protocol that is alive, or 0. *netns is the inode of its network
 * namespace, or 0 where that is not known; it may be NULL.
 */
pid_t daemon_running(const struct stepwise_protocol *protocol, unsigned long *netns);

/*
 * Becomes the daemon of this protocol. The descriptor holds that for this process alone, and not
 * for what it forks, until this or another descriptor of the same file is closed. -EEXIST, with a
 * message, where there is one.
 */
int daemon_claim(const struct stepwise_protocol *protocol);

/* The claim, to look at; -ENOENT where there is none, or another negative errno. Never in a process
 * that holds it: see there. */
int daemon_claim_open(const struct stepwise_protocol *protocol);

/*
 * Ends the daemon by SIGTERM and waits for it; there may be none. The signal goes to no process
 * that has not been seen to hold the claim while it could not be exchanged for another. A negative
 * errno after a message.
 */
int command_stop(const struct stepwise_protocol *protocol);

/* Removes the file. 1 when there was one, 0 where there was none; -EBUSY, after a message, where a
 * daemon holds it. */
int daemon_claim_remove(const struct stepwise_protocol *protocol);

#endif
