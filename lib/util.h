/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_UTIL_H
#define OPJIT_LIB_UTIL_H
/*
 * Small things that every folder uses: sizes, alignment, cleanup attributes, clocks, number parsing.
 * Everything here is thread-safe and async-signal-safe unless it says otherwise.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, a) (((x) + ((a) - 1)) & ~((__typeof__(x))(a) - 1))
#define NSEC_PER_SEC 1000000000ULL
#define NSEC_PER_MSEC 1000000ULL

/* Cleanup: `AUTO_FREE char *p = …;` frees p, `AUTO_CLOSE int fd = …;` closes fd when it goes out of scope. */
static inline void util_free_ptr(void *p) { free(*(void **)p); }
static inline void util_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define AUTO_FREE __attribute__((cleanup(util_free_ptr)))
#define AUTO_CLOSE __attribute__((cleanup(util_close_fd)))
#define AUTO(fn) __attribute__((cleanup(fn)))
/* TAKE_PTR(p), TAKE_FD(fd): hands the value on and disarms the cleanup. */
#define TAKE_PTR(p) ({ __typeof__(p) take_ptr_ = (p); (p) = NULL; take_ptr_; })
#define TAKE_FD(fd) ({ int take_fd_ = (fd); (fd) = -1; take_fd_; })

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* The clock of every time stamp in opjit: CLOCK_MONOTONIC, in nanoseconds. */
static inline uint64_t util_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* a + b in ret; false on overflow (ret is then untouched). For sizes that come from outside. */
static inline bool util_add_u64(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*ret = sum;
	return true;
}

static inline uint64_t util_hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

/* Bytes to a 64-bit hash; not for hostile tables' ordering, only for placement. */
uint64_t util_hash_bytes(const void *data, size_t len);

/*
 * Whole string to a number; base as strtoull's (0 takes 0x). 0, -EINVAL (not a number, trailing characters,
 * sign, empty) or -ERANGE (above max). *ret is written only on success.
 */
int util_parse_u64(const char *s, int base, uint64_t max, uint64_t *ret);
/* As above with a suffix k, m or g (powers of 1024), either case. */
int util_parse_size(const char *s, uint64_t max, uint64_t *ret);

#endif
