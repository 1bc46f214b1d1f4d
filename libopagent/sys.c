/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "libopagent/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/util.h"

/* Of the kernel's headers, which a musl toolchain need not have. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

#ifndef SYS_getrandom
#define SYS_getrandom __NR_getrandom
#endif
#ifndef SYS_memfd_create
#define SYS_memfd_create __NR_memfd_create
#endif

int32_t sys_gettid(void) { return (int32_t)syscall(SYS_gettid); }

/* The kernel's struct timespec of the plain futex call has two longs on every machine. */
struct wait_time {
	long sec, nsec;
};

bool sys_futex_wait(uint32_t *word, uint32_t value, unsigned int ms)
{
	long r;
#ifdef SYS_futex
	struct wait_time t = { .sec = ms / 1000, .nsec = (long)(ms % 1000) * 1000000 };
	r = syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
#else
	struct { long long sec, nsec; } t = { ms / 1000, (long long)(ms % 1000) * 1000000 };
	r = syscall(__NR_futex_time64, word, FUTEX_WAIT, value, &t, NULL, 0);
#endif
	return r < 0 && errno == ETIMEDOUT;
}

void sys_futex_wake(uint32_t *word)
{
#ifdef SYS_futex
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
#else
	syscall(__NR_futex_time64, word, FUTEX_WAKE, 1, NULL, NULL, 0);
#endif
}

/* /proc/self/task/TID/stat from the state on; NULL if it cannot be read. */
static const char *thread_stat(int32_t tid, char *buf, size_t room)
{
	char path[64];
	struct text t = TEXT_IN(path);
	char *p;

	text_str(&t, "/proc/self/task/");
	text_u64(&t, (uint64_t)tid);
	text_str(&t, "/stat");
	if (sys_slurp(path, buf, room) < 0)
		return NULL;
	p = strrchr(buf, ')');
	return p && p[1] == ' ' ? p + 2 : NULL;
}

bool sys_thread_exists(int32_t tid)
{
	char buf[1024];
	const char *stat;

	if (syscall(SYS_tgkill, getpid(), tid, 0) < 0)
		return errno != ESRCH;
	stat = thread_stat(tid, buf, sizeof(buf));
	return !stat || (*stat != 'Z' && *stat != 'X');
}

uint64_t sys_thread_start_ns(int32_t tid)
{
	char buf[1024];
	const char *stat = thread_stat(tid, buf, sizeof(buf));
	struct timespec boot;
	uint64_t now = util_now_ns(), boot_ns, start_ns;
	long hz = sysconf(_SC_CLK_TCK);

	if (!stat || hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) < 0)
		return 0;
	stat++;
	for (int field = 4; field < 22; field++)
		scan_i64(&stat);
	start_ns = scan_u64(&stat) * (NSEC_PER_SEC / (uint64_t)hz);
	boot_ns = (uint64_t)boot.tv_sec * NSEC_PER_SEC + (uint64_t)boot.tv_nsec;
	if (!start_ns || start_ns > boot_ns || boot_ns - start_ns > now)
		return 0;
	return now - (boot_ns - start_ns);
}

int sys_memfd(const char *name)
{
	long fd = syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */);

	return fd < 0 ? -errno : (int)fd;
}

void sys_random(void *buf, size_t len)
{
	uint64_t fallback;

	if (syscall(SYS_getrandom, buf, len, 1u /* GRND_NONBLOCK */) == (long)len)
		return;
	/* Names need to be unlikely to meet; exclusive creation does the rest. */
	fallback = util_hash_u64(util_now_ns() ^ (uint64_t)getpid() << 40 ^ (uintptr_t)buf);
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(fallback >> (i % 8 * 8));
}

int sys_stat(int fd, uint32_t *uid, uint32_t *mode)
{
	struct stat st;
	/* The C library's fstat is a new symbol in glibc 2.33; the kernel's struct is the C library's here. */
#if defined(SYS_fstat64)
	long r = syscall(SYS_fstat64, fd, &st);
#else
	long r = syscall(SYS_fstat, fd, &st);
#endif
	if (r < 0)
		return -errno;
	*uid = st.st_uid;
	*mode = st.st_mode;
	return 0;
}

static uint64_t soft_limit(int which)
{
	struct rlimit limit;

	return getrlimit(which, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t sys_file_limit(void) { return soft_limit(RLIMIT_FSIZE); }
uint64_t sys_fd_limit(void) { return soft_limit(RLIMIT_NOFILE); }

int sys_truncate(int fd, uint64_t len)
{
	if (len > sys_file_limit())
		return -EFBIG;
	return ftruncate(fd, (off_t)len) < 0 ? -errno : 0;
}

static int write_zeros(int fd, uint64_t at, uint64_t len)
{
	static const char zeros[16384];

	while (len) {
		ssize_t n = pwrite(fd, zeros, MIN(len, sizeof(zeros)), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		at += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

int sys_reserve(int fd, uint64_t at, uint64_t len)
{
	int r;

	/* KEEP_SIZE: even if somebody closed our descriptor and its number names another file, that one does not grow. */
	do
		r = fallocate(fd, 1 /* FALLOC_FL_KEEP_SIZE */, (off_t)at, (off_t)len) < 0 ? -errno : 0;
	while (r == -EINTR);
	if (r == -EOPNOTSUPP || r == -ENOSYS || r == -EINVAL || r == -EPERM)
		r = write_zeros(fd, at, len);
	return r;
}

void sys_release(int fd, uint64_t at, uint64_t len)
{
	if (len && fallocate(fd, 3 /* PUNCH_HOLE | KEEP_SIZE */, (off_t)at, (off_t)len) < 0)
		errno = 0;
}

int sys_populate(void *at, uint64_t len)
{
	if (len && madvise(at, (size_t)len, 23 /* MADV_POPULATE_WRITE */) < 0 && errno == EFAULT)
		return -ENOSPC;
	return 0;
}

void sys_advise(void *at, uint64_t len, enum sys_advice advice)
{
	if (len && madvise(at, (size_t)len, (int)advice) < 0)
		errno = 0;
}

int sys_slurp(const char *path, char *buf, size_t room)
{
	size_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (got + 1 < room) {
		ssize_t n = read(fd, buf + got, room - 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	close(fd);
	buf[got] = '\0';
	return (int)got;
}

void text_str(struct text *t, const char *s)
{
	for (; *s; s++) {
		if (t->len + 1 >= t->room) {
			t->cut = true;
			break;
		}
		t->buf[t->len++] = *s;
	}
	t->buf[t->len] = '\0';
}

void text_u64(struct text *t, uint64_t v)
{
	char digits[24], *p = digits + sizeof(digits) - 1;

	*p = '\0';
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	text_str(t, p);
}

void text_hex(struct text *t, uint64_t v, unsigned int digits)
{
	char c[2] = { 0 };

	while (digits--) {
		c[0] = "0123456789abcdef"[v >> digits * 4 & 15];
		text_str(t, c);
	}
}

uint64_t scan_u64(const char **s)
{
	uint64_t v = 0;

	while (**s == ' ' || **s == '\t')
		++*s;
	for (; **s >= '0' && **s <= '9'; ++*s)
		v = v * 10 + (uint64_t)(**s - '0');
	return v;
}

int64_t scan_i64(const char **s)
{
	bool minus;

	while (**s == ' ' || **s == '\t')
		++*s;
	minus = **s == '-';
	*s += minus;
	return minus ? -(int64_t)scan_u64(s) : (int64_t)scan_u64(s);
}
