/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * uprobe-log PROBES OUT: records user-space probes of this machine until its stdin ends. Each line of PROBES is a definition as
 * tracefs takes it, with "GROUP" where the group's name goes: "p:GROUP/name PATH:OFFSET field=…:TYPE …". Prints "ready" once all
 * are on. Of each hit it writes to OUT "TIME PID NAME field=VALUE …": TIME by CLOCK_MONOTONIC in ns, integers as 0x…, arrays as their
 * bytes in hexadecimal. The last line is "lost N". Status 77 when the kernel refuses; what, is said on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROBES 16
#define MAX_FIELDS 32
#define MAX_CPUS 512
#define RING_PAGES 512
#define RECORD_MAX 65536

struct field {
	char name[32];
	unsigned int offset, size, array;
};

struct probe {
	char name[32];
	unsigned int id, n_fields;
	struct field fields[MAX_FIELDS];
};

static struct probe probes[MAX_PROBES];
static unsigned int n_probes;
static char tracefs[64] = "/sys/kernel/tracing", group[32], own_mount[64];
static struct perf_event_mmap_page *rings[MAX_CPUS];
static unsigned int n_rings;
static uint64_t lost;
static size_t page_bytes;

static int refused(const char *what)
{
	fprintf(stderr, "uprobe-log: %s: %s\n", what, strerror(errno));
	return 77;
}

/* --- tracefs ---------------------------------------------------------------------------------------------- */

static int find_tracefs(void)
{
	char path[96], dir[] = "/tmp/opjit-tracefs-XXXXXX";

	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs);
	if (!access(path, W_OK))
		return 0;
	if (!mkdtemp(dir))
		return -1;
	if (mount("none", dir, "tracefs", 0, NULL) < 0) {
		int e = errno;

		rmdir(dir);
		errno = e;
		return -1;
	}
	snprintf(own_mount, sizeof(own_mount), "%s", dir);
	snprintf(tracefs, sizeof(tracefs), "%s", dir);
	return 0;
}

static int command(const char *text)
{
	char path[96];
	int fd, r;

	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return r;
}

static int read_format(struct probe *p)
{
	char path[160], line[4096], type[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, group, p->name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		struct field *d = &p->fields[p->n_fields];
		char *bracket;

		if (sscanf(line, "ID: %u", &p->id) == 1 || p->n_fields == MAX_FIELDS ||
		    sscanf(line, " field:%63s %31[^;]; offset:%u; size:%u;", type, d->name, &d->offset, &d->size) != 4 ||
		    !strncmp(d->name, "common_", 7) || !strncmp(type, "unsigned", 8))
			continue;
		bracket = strchr(d->name, '[');
		d->array = bracket != NULL;
		if (bracket)
			*bracket = 0;
		p->n_fields++;
	}
	fclose(f);
	return p->id ? 0 : -1;
}

static int define(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[2048], text[2304];

	if (!f)
		return refused(path);
	while (fgets(line, sizeof(line), f) && n_probes < MAX_PROBES) {
		struct probe *p = &probes[n_probes];
		char *at = strstr(line, "GROUP/");

		if (!at || sscanf(at, "GROUP/%31s", p->name) != 1)
			continue;
		snprintf(text, sizeof(text), "%.*s%s/%s", (int)(at - line), line, group, at + 6);
		if (command(text) < 0) {
			fclose(f);
			return refused(line);
		}
		n_probes++;
		if (read_format(p) < 0) {
			fclose(f);
			return refused(p->name);
		}
	}
	fclose(f);
	return 0;
}

static void undefine(void)
{
	char text[96];

	for (unsigned int i = 0; i < n_probes; i++) {
		snprintf(text, sizeof(text), "-:%s/%s\n", group, probes[i].name);
		if (command(text) < 0)
			fprintf(stderr, "uprobe-log: %s: %s\n", text, strerror(errno));
	}
	if (*own_mount && umount(own_mount) == 0)
		rmdir(own_mount);
}

/* --- perf ------------------------------------------------------------------------------------------------- */

static int perf_open(struct perf_event_attr *a, int cpu, int group_fd, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, a, -1, cpu, group_fd, flags | PERF_FLAG_FD_CLOEXEC);
}

static int open_all(void)
{
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		int first = -1;

		for (unsigned int i = 0; i < n_probes; i++) {
			struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(a), .config = probes[i].id, .sample_period = 1,
						     .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
						     .use_clockid = 1, .clockid = CLOCK_MONOTONIC };
			int fd = perf_open(&a, cpu, -1, 0);

			if (fd < 0 && errno == ENODEV)
				break; /* that CPU is off */
			if (fd < 0 && errno == EINVAL && cpu >= sysconf(_SC_NPROCESSORS_CONF))
				return 0;
			if (fd < 0)
				return refused("perf_event_open");
			if (first >= 0) {
				if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)
					return refused("PERF_EVENT_IOC_SET_OUTPUT");
				continue;
			}
			first = fd;
			rings[n_rings] = mmap(NULL, (RING_PAGES + 1) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			if (rings[n_rings] == MAP_FAILED)
				return refused("mmap of a ring");
			n_rings++;
		}
	}
	return 0;
}

static void print_hit(FILE *out, const uint8_t *r, size_t len)
{
	struct { uint32_t pid, tid; uint64_t time; uint32_t size; } __attribute__((packed)) h;
	const uint8_t *raw = r + sizeof(h);
	const struct probe *p = NULL;
	uint16_t id;

	if (len < sizeof(h) + 2)
		return;
	memcpy(&h, r, sizeof(h));
	memcpy(&id, raw, sizeof(id));
	for (unsigned int i = 0; i < n_probes; i++)
		if (probes[i].id == id)
			p = &probes[i];
	if (!p || h.size > len - sizeof(h))
		return;
	fprintf(out, "%" PRIu64 " %u %s", h.time, h.pid, p->name);
	for (unsigned int i = 0; i < p->n_fields; i++) {
		const struct field *f = &p->fields[i];
		uint64_t v = 0;

		if (f->offset + f->size > h.size)
			break;
		fprintf(out, " %s=", f->name);
		if (!f->array && f->size <= sizeof(v)) {
			memcpy(&v, raw + f->offset, f->size);
			fprintf(out, "%#" PRIx64, v);
			continue;
		}
		for (unsigned int k = 0; k < f->size; k++)
			fprintf(out, "%02x", raw[f->offset + k]);
	}
	fputc('\n', out);
}

static void drain(struct perf_event_mmap_page *m, FILE *out)
{
	static uint8_t record[RECORD_MAX];
	uint64_t head = __atomic_load_n(&m->data_head, __ATOMIC_ACQUIRE), tail = m->data_tail, size = m->data_size;
	const uint8_t *data = (const uint8_t *)m + m->data_offset;

	while (tail < head) {
		struct perf_event_header h;

		for (size_t i = 0; i < sizeof(h); i++)
			((uint8_t *)&h)[i] = data[(tail + i) % size];
		for (size_t i = 0; i < h.size; i++)
			record[i] = data[(tail + i) % size];
		if (h.type == PERF_RECORD_SAMPLE) {
			print_hit(out, record + sizeof(h), h.size - sizeof(h));
		} else if (h.type == PERF_RECORD_LOST) {
			uint64_t n;

			memcpy(&n, record + sizeof(h) + 8, sizeof(n));
			lost += n;
		}
		tail += h.size;
	}
	__atomic_store_n(&m->data_tail, tail, __ATOMIC_RELEASE);
}

static int record(const char *path)
{
	FILE *out = fopen(path, "w");
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char c[64];
	bool more = true;

	if (!out)
		return refused(path);
	puts("ready");
	fflush(stdout);
	while (more) {
		if (poll(&in, 1, 20) > 0 && read(0, c, sizeof(c)) <= 0)
			more = false;
		for (unsigned int i = 0; i < n_rings; i++)
			drain(rings[i], out);
	}
	fprintf(out, "lost %" PRIu64 "\n", lost);
	return fclose(out) ? refused(path) : 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 3)
		return fprintf(stderr, "usage: uprobe-log PROBES OUT\n"), 2;
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	snprintf(group, sizeof(group), "opjit_%ld", (long)getpid());
	if (find_tracefs() < 0)
		return refused("tracefs, for uprobe_events");
	r = define(argv[1]);
	if (!r)
		r = open_all();
	if (!r)
		r = record(argv[2]);
	/* A probe that is open cannot be taken away. */
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	for (unsigned int i = 0; i < n_rings; i++)
		munmap(rings[i], (RING_PAGES + 1) * page_bytes);
	undefine();
	return r;
}
