/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/hidden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "lib/util.h"

struct mount {
	int id;
	char root[256]; /* of the mount, within its filesystem */
	char at[256];
};

/* The last mount that holds /tmp: of those at one place it is the one on top. */
static int mount_of_tmp(struct mount *ret, const char *pid)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(16 << 20);
	char path[64];
	size_t best = 0;
	int r;

	snprintf(path, sizeof(path), "/proc/%s/mountinfo", pid);
	r = io_slurp(AT_FDCWD, path, &text);
	if (r < 0)
		return r;
	for (const char *line = strbuf_str(&text), *end; *line; line = end + (*end == '\n')) {
		struct mount m;
		size_t len;
		end = strchrnul(line, '\n');
		if (sscanf(line, "%d %*d %*s %255s %255s", &m.id, m.root, m.at) != 3)
			continue;
		len = strlen(m.at);
		if ((!strcmp(m.at, "/") || !strcmp(m.at, "/tmp")) && len >= best) {
			*ret = m;
			best = len;
		}
	}
	return best ? 0 : -EXDEV;
}

int hidden_has_our_tmp(pid_t pid)
{
	struct mount ours, its;
	char number[16];
	int r;

	snprintf(number, sizeof(number), "%d", (int)pid);
	r = mount_of_tmp(&ours, "self");
	if (!r)
		r = mount_of_tmp(&its, number);
	if (r)
		return r;
	return ours.id == its.id && !strcmp(ours.root, its.root) && !strcmp(ours.at, its.at) ? 0 : -EXDEV;
}

static bool comm_is(const char *path, const char *const *names)
{
	AUTO_STRBUF comm = STRBUF_INIT_CAP(64);

	if (io_slurp(AT_FDCWD, path, &comm) < 0)
		return false;
	for (; *names; names++)
		if (!strncmp(strbuf_str(&comm), *names, strlen(*names)))
			return true;
	return false;
}

bool hidden_is_jvm(pid_t pid)
{
	static const char *const names[] = { "java\n", NULL }, *const threads[] = { "VM Thread\n", "VM Periodic", NULL };
	char path[PATH_MAX];
	bool is;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	is = comm_is(path, names);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	for (struct dirent *e; dir && !is && (e = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, e->d_name);
		is = e->d_name[0] != '.' && comm_is(path, threads);
	}
	if (dir)
		closedir(dir);
	return is;
}
