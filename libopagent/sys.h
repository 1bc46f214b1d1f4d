/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIBOPAGENT_SYS_H
#define OPJIT_LIBOPAGENT_SYS_H
/*
 * System calls that old C libraries have no wrapper for, and text without stdio. 0/≥0 or -errno; errno may change
 * (the public entry points restore it).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int32_t sys_gettid(void);
/* Sleeps while *word == value, at most ms milliseconds; whether that time went by. */
bool sys_futex_wait(uint32_t *word, uint32_t value, unsigned int ms);
void sys_futex_wake(uint32_t *word);
/* Whether thread tid of this process is there (a zombie is not). */
bool sys_thread_exists(int32_t tid);
/* When it was started, on CLOCK_MONOTONIC; 0 = unknown. */
uint64_t sys_thread_start_ns(int32_t tid);
int sys_memfd(const char *name);
void sys_random(void *buf, size_t len);
int sys_stat(int fd, uint32_t *uid, uint32_t *mode);
/* Sets a file's size; -EFBIG instead of the signal that RLIMIT_FSIZE would raise. */
int sys_truncate(int fd, uint64_t len);
/* RLIMIT_FSIZE; UINT64_MAX = none. */
uint64_t sys_file_limit(void);
/* RLIMIT_NOFILE, likewise. */
uint64_t sys_fd_limit(void);
/*
 * Makes sure that the file system has the blocks, so that touching a mapping of them cannot raise SIGBUS; the size
 * of the file does not change (the caller set it). Where the file system cannot reserve, writes zeros.
 */
int sys_reserve(int fd, uint64_t at, uint64_t len);
/* Gives unused blocks back; failure does not matter. */
void sys_release(int fd, uint64_t at, uint64_t len);
/*
 * Faults pages of a writable mapping in, all in one call. -ENOSPC: writing there would raise SIGBUS. 0 also where the
 * kernel cannot (before 5.14): then nothing is known.
 */
int sys_populate(void *at, uint64_t len);
/* What is wished for a mapping; refusal does not matter. The kernel's numbers, which older headers lack. */
enum sys_advice { SYS_RANDOM = 1, SYS_HUGEPAGE = 14, SYS_NOHUGEPAGE = 15 };
void sys_advise(void *at, uint64_t len, enum sys_advice advice);
/* Reads a small file: bytes read (NUL-terminated, at most room - 1) or -errno. */
int sys_slurp(const char *path, char *buf, size_t room);

/* A line or path under construction; what does not fit is cut off and `cut` set. */
struct text {
	char *buf;
	size_t room, len;
	bool cut;
};
#define TEXT_IN(b) ((struct text){ .buf = (b), .room = sizeof(b) })
void text_str(struct text *t, const char *s);
void text_u64(struct text *t, uint64_t v);
void text_hex(struct text *t, uint64_t v, unsigned int digits);

/* Decimal number at *s after blanks; *s moves behind it. */
uint64_t scan_u64(const char **s);
int64_t scan_i64(const char **s);

#endif
