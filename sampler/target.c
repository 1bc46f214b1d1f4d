/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "sampler/priv.h"

#define CPUS_MAX 65536u

int grow(void *array, size_t *room, size_t need, size_t size)
{
	void **a = array, *p;
	size_t n = MAX(*room * 2, MAX(need, (size_t)16));

	if (need <= *room)
		return 0;
	p = reallocarray(*a, n, size);
	if (!p)
		return -ENOMEM;
	*a = p;
	*room = n;
	return 0;
}

/* "0-3,5": the list of CPUs that are online. Without sysfs (a container may hide it) 0 … n-1. */
int target_cpus(uint32_t **ret, size_t *n)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(1 << 20);
	AUTO_FREE uint32_t *cpus = NULL;
	size_t used = 0, room = 0;
	const char *p;
	char *end;

	if (io_slurp(AT_FDCWD, "/sys/devices/system/cpu/online", &text) < 0 || !text.len) {
		strbuf_reset(&text);
		strbuf_addf(&text, "0-%ld", MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L) - 1);
	}
	for (p = strbuf_str(&text); *p && *p != '\n'; p = *end == ',' ? end + 1 : end) {
		unsigned long from = strtoul(p, &end, 10), to = from;
		if (end == p)
			return -EBADMSG;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (from > to || to >= CPUS_MAX)
			return -EBADMSG;
		for (; from <= to; from++) {
			if (grow(&cpus, &room, used + 1, sizeof(*cpus)) < 0)
				return -ENOMEM;
			cpus[used++] = (uint32_t)from;
		}
	}
	if (!used)
		return -EBADMSG;
	*ret = TAKE_PTR(cpus);
	*n = used;
	return 0;
}

int target_threads(const char *proc_root, int32_t pid, int32_t **ret, size_t *n)
{
	AUTO_FREE int32_t *tids = NULL;
	size_t used = 0, room = 0;
	char path[512];
	struct dirent *d;
	DIR *dir;
	uint64_t v;
	int r = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/task", proc_root, pid) >= sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((d = readdir(dir)))
		if (!util_parse_u64(d->d_name, 10, INT32_MAX, &v)) {
			r = grow(&tids, &room, used + 1, sizeof(*tids));
			if (r < 0)
				break;
			tids[used++] = (int32_t)v;
		}
	closedir(dir);
	if (r < 0)
		return r;
	if (!used)
		return -ESRCH;
	*ret = TAKE_PTR(tids);
	*n = used;
	return 0;
}

bool target_foreign_proc(const char *proc_root)
{
	char path[512], self[32];
	uint64_t pid;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/self", proc_root);
	n = readlink(path, self, sizeof(self) - 1);
	self[MAX(n, (ssize_t)0)] = '\0';
	return util_parse_u64(self, 10, INT32_MAX, &pid) || pid != (uint64_t)getpid();
}
