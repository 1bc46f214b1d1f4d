/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIBOPAGENT_LOCK_H
#define OPJIT_LIBOPAGENT_LOCK_H
/*
 * The semaphore of the writers: a 32-bit futex word that is 0 or the thread id of its holder; bit 31 says that somebody
 * waits. All its users are threads of one process, so the ids mean the same to all of them, in whatever pid namespace.
 *
 * A holder that is gone is replaced. Gone means: the kernel knows no such thread in this process; or it is the caller
 * itself (it left the library by a longjmp out of a signal handler); or a thread has that id now that was started after
 * the lock was taken (*taken_ns), judged only when the word and the stamp have stood still for a second.
 */
#include <stdint.h>

#define LOCK_WAITERS 0x80000000u

/* 0, or 1: a dead holder was replaced and what the lock guards may be half done. Writes *taken_ns after taking. */
int lock_take(uint32_t *word, uint64_t *taken_ns, uint32_t tid);
void lock_drop(uint32_t *word);

#endif
