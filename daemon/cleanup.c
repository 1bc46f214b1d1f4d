/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "lib/io.h"
#include "lib/map.h"

#define MAX_ROOTS 256

/* A line of the registry is "INSTANCE PID STARTTIME PATH-OF-RING"; the root is two levels above the ring. */
static void root_of_line(const char *line, size_t len, struct strpool *roots, bool *exists)
{
	const char *s = line, *end = line + len;
	AUTO_FREE char *path = NULL;

	for (int i = 0; i < 3 && s; i++) {
		s = memchr(s, ' ', (size_t)(end - s));
		s = s ? s + 1 : NULL;
	}
	*exists = false;
	if (!s || *s != '/')
		return;
	path = strndup(s, (size_t)(end - s));
	if (!path)
		return;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return;
		*slash = '\0';
		if (i == 0)
			*exists = access(path, F_OK) == 0;
	}
	if (*exists && roots->n < MAX_ROOTS)
		(void)strpool_id(roots, path, strlen(path));
}

/* Roots of all lines; what still exists goes to keep. */
static int registry_read(const char *registry, struct strpool *roots, struct strbuf *keep)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(16 << 20);
	int r = registry ? io_slurp(AT_FDCWD, registry, &text) : -ENOENT;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (const char *s = strbuf_str(&text), *nl; *s; s = *nl ? nl + 1 : nl) {
		bool exists;

		nl = strchrnul(s, '\n');
		root_of_line(s, (size_t)(nl - s), roots, &exists);
		if (exists) {
			strbuf_add(keep, s, (size_t)(nl - s));
			strbuf_addch(keep, '\n');
		}
	}
	return 0;
}

int cleanup_instances(const char *registry, uint64_t min_age_s, struct jit_removal *sum)
{
	AUTO(strpool_done) struct strpool roots = { 0 }, unused = { 0 };
	AUTO_STRBUF keep = STRBUF_INIT, after = STRBUF_INIT;
	const char *own = getenv("OPJIT_DIR");
	char **known = NULL;
	int r = jit_instances_roots(&known);

	/* With a root of its own set, the machine's others are not our business but for what the daemon saw there. */
	for (size_t i = 0; r >= 0 && known[i]; i++)
		if (!own || !*own || !strcmp(known[i], own))
			(void)strpool_id(&roots, known[i], strlen(known[i]));
	if (r >= 0)
		r = registry_read(registry, &roots, &keep);
	for (uint32_t i = 0; r >= 0 && i < roots.n; i++) {
		r = jit_instances_remove_dead(strpool_str(&roots, i), min_age_s, NULL, NULL, sum);
		if (r == -EACCES || r == -ENOENT || r == -ENOTDIR) {
			sum->failed += r == -EACCES;
			r = 0;
		}
	}
	if (r >= 0 && keep.len && registry_read(registry, &unused, &after) >= 0 && after.len != keep.len)
		r = io_replace(registry, after.buf ? after.buf : "", after.len, 0600);
	jit_instances_roots_free(known);
	return r;
}

void cleanup_describe(const struct jit_removal *sum, struct strbuf *ret)
{
	strbuf_addf(ret, "removed %" PRIu64 " JIT director%s of processes that are gone, %.1f MB freed; %" PRIu64 " of live processes kept",
		    sum->instances, sum->instances == 1 ? "y" : "ies", (double)sum->bytes / 1e6, sum->kept);
	if (sum->failed)
		strbuf_addf(ret, "; %" PRIu64 " could not be removed", sum->failed);
}
