/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/utsname.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#define HAVE_TSC 1
#else
#define HAVE_TSC 0
#endif

#include "format/evlog/cursor.h"
#include "format/evlog/ring.h"
#include "format/evlog/wire.h"
#include "lib/io.h"

struct opevlog_file {
	int fd;
	bool tsc, known[32];
	uint64_t seq;            /* of metadata pages */
	uint64_t synced_ns;      /* when the clocks were told last */
	uint8_t page[EVLOG_PAGE_MIN];
	uint32_t used;
};

static int meta_flush(struct opevlog_file *f, uint16_t flags)
{
	struct evlog_page pg = { .used = f->used, .seq = f->seq++, .flags = (uint16_t)(PGF_META | flags) };
	uint32_t len = ALIGN_UP(EVLOG_PAGE_HEADER + f->used, 8u);

	memset(f->page + EVLOG_PAGE_HEADER + f->used, 0, len - EVLOG_PAGE_HEADER - f->used);
	evlog_page_make(f->page, false, &pg);
	f->used = 0;
	return io_write_full(f->fd, f->page, len);
}

/* One metadata record: numbers, then texts. */
static int meta_record(struct opevlog_file *f, uint32_t id, const uint32_t *nums, uint32_t n, const char *s1, const char *s2)
{
	size_t l1 = s1 ? strlen(s1) + 1 : 0, l2 = s2 ? strlen(s2) + 1 : 0;
	uint32_t words;
	uint8_t *p;

	if (l1 + l2 > 2048)
		return -E2BIG;
	words = 1 + n + (uint32_t)ALIGN_UP(l1 + l2, 4u) / 4;
	if (f->used + 4 + words * 4 > sizeof(f->page) - EVLOG_PAGE_HEADER) {
		int ret = meta_flush(f, 0);
		if (ret < 0)
			return ret;
	}
	p = f->page + EVLOG_PAGE_HEADER + f->used;
	memset(p, 0, 4 + words * 4);
	wire_st32(p, id, false);
	wire_st32(p + 4, words, false);
	memcpy(p + 8, nums, n * 4u);
	if (l1)
		memcpy(p + 8 + n * 4u, s1, l1);
	if (l2)
		memcpy(p + 8 + n * 4u + l1, s2, l2);
	f->used += 4 + words * 4;
	return 0;
}

static uint64_t real_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __rdtsc();
#else
	return util_now_ns();
#endif
}

/* The counter and the clock at the same instant: the closest of some tries. */
static void pair(uint64_t *clock, uint64_t *mono)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t a = ticks(), m = util_now_ns(), b = ticks();
		if (b - a < best) {
			best = b - a;
			*clock = a + (b - a) / 2;
			*mono = m;
		}
	}
}

static void put64(uint32_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

int opevlog_file_new(struct opevlog_file **ret, int fd, uint32_t n_streams, int tsc)
{
	struct opevlog_file *f;
	uint8_t prefix[EVLOG_PREFIX_LEN];
	uint32_t init[12] = { 1, n_streams, 0, EVLOG_CLOCK_MONOTONIC };
	uint64_t hz = NSEC_PER_SEC, c0 = 0, m0 = util_now_ns(), c1, m1;
	struct utsname un;
	int err;

	if (!n_streams || n_streams > EVLOG_MAX_STREAMS)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->synced_ns = m0;
	f->tsc = tsc && HAVE_TSC;
	c0 = m0;
	if (f->tsc) {
		struct timespec nap = { 0, 20000000 };
		pair(&c0, &m0);
		nanosleep(&nap, NULL);
		pair(&c1, &m1);
		hz = m1 > m0 ? (uint64_t)((unsigned __int128)(c1 - c0) * NSEC_PER_SEC / (m1 - m0)) : 0;
		init[3] = EVLOG_CLOCK_TSC;
	}
	uname(&un);
	put64(init + 4, hz);
	put64(init + 6, c0);
	put64(init + 8, m0);
	put64(init + 10, real_ns() - (util_now_ns() - m0));
	evlog_prefix_make(prefix, __BYTE_ORDER == __BIG_ENDIAN);
	err = hz ? io_write_full(fd, prefix, sizeof(prefix)) : -EIO;
	if (!err)
		err = meta_record(f, META_INIT, init, 12, un.machine, NULL);
	if (err < 0) {
		free(f);
		return err;
	}
	*ret = f;
	return 0;
}

int opevlog_file_event(struct opevlog_file *f, uint32_t id, const char *name, const char *fields, uint32_t words)
{
	uint32_t nums[2] = { id, words };

	if (id < OPEVLOG_FIRST_ID || id > OPEVLOG_LAST_ID || f->known[id] || !name || !fields || words >= EVLOG_PAGE_MAX / 4)
		return -EINVAL;
	f->known[id] = true;
	return meta_record(f, META_EVENT, nums, 2, name, fields);
}

/* What the clocks say now, so that a reader can correct the calibration. */
#define SYNC_EVERY_NS (10 * NSEC_PER_SEC)
static int put_timesync(struct opevlog_file *f)
{
	uint64_t v[3];
	uint8_t *p;
	int ret = f->used + 28 > sizeof(f->page) - EVLOG_PAGE_HEADER ? meta_flush(f, 0) : 0;

	if (ret < 0)
		return ret;
	pair(&v[0], &v[1]);
	v[0] = f->tsc ? v[0] : v[1];
	v[2] = real_ns() - (util_now_ns() - v[1]);
	p = f->page + EVLOG_PAGE_HEADER + f->used;
	wire_st32(p, ID_TIMESYNC, false);
	memcpy(p + 4, v, sizeof(v));
	f->used += 28;
	f->synced_ns = v[1];
	return 0;
}

int opevlog_file_drain(struct opevlog_file *f, struct opevlog_reader *rd, int dead)
{
	const void *page;
	size_t bytes;
	int n = 0, ret;

	if (util_now_ns() - f->synced_ns >= SYNC_EVERY_NS) {
		ret = put_timesync(f);
		if (ret < 0)
			return ret;
	}
	while ((ret = opevlog_reader_take(rd, dead, &page, &bytes)) > 0) {
		if (f->used) {
			ret = meta_flush(f, 0);
			if (ret < 0)
				return ret;
		}
		ret = io_write_full(f->fd, page, bytes);
		if (ret < 0)
			return ret;
		n++;
	}
	return ret < 0 ? ret : n;
}

int opevlog_file_finish(struct opevlog_file *f)
{
	int ret = put_timesync(f);

	if (!ret && f->used + 4 > sizeof(f->page) - EVLOG_PAGE_HEADER)
		ret = meta_flush(f, 0);
	if (!ret) {
		wire_st32(f->page + EVLOG_PAGE_HEADER + f->used, META_CLOSELOG, false);
		f->used += 4;
		ret = meta_flush(f, PGF_LAST);
	}
	free(f);
	return ret;
}
