/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmono-profiler-oprofile.so, loaded by `mono --profile=oprofile[:options]`: tells libopagent what Mono's JIT made.
 * Written to Mono's profiler API 2 and 3 (Mono 5.x to 6.x). A method handle serves as a key, never as a pointer, once its
 * callback has returned. Whatever goes wrong here, the program runs on.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <mono/metadata/appdomain.h>
#include <mono/metadata/class.h>
#include <mono/metadata/debug-helpers.h>
#include <mono/metadata/mono-debug.h>
#include <mono/metadata/profiler.h>

#include "lib/map.h"
#include "lib/strbuf.h"
#include "libopagent/opagent.h"

#define MAX_LINES 65536

/* What MonoDebugMethodJitInfo starts with; the header names the type but does not define the line entry before 6.0. */
struct mono_line_entry {
	uint32_t il_offset;
	uint32_t native_offset;
};

struct _MonoProfiler {
	struct opagent *agent;
	bool lines;
	pthread_mutex_t lock;      /* guards the maps below; never held while Mono is called */
	struct u64map by_method;   /* method -> its newest code address */
	struct u64map regions;     /* code address -> method (0: a code buffer without one) */
	struct u64map chunks;      /* chunk -> size */
};

static struct _MonoProfiler prof = { .lines = true, .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- lines ---------------------------------------------------------------------------------------------- */

struct lines {
	struct opagent_line *entries;
	uint32_t n;
	struct strpool files;
	const char **names;
};

static void lines_done(struct lines *l)
{
	free(l->entries);
	free(l->names);
	strpool_done(&l->files);
}

static void lines_add(struct lines *l, MonoDebugSourceLocation *at, uint32_t offset)
{
	int64_t file = strpool_id(&l->files, at->source_file, strlen(at->source_file));

	if (file < 0 || (l->n && l->entries[l->n - 1].offset > offset))
		return;
	if (l->n && l->entries[l->n - 1].offset == offset)
		l->n--; /* several IL offsets at one address: the last one runs */
	l->entries[l->n++] = (struct opagent_line){ .offset = offset, .line = at->row, .file = (uint32_t)file };
}

static int by_native_offset(const void *a, const void *b)
{
	const struct mono_line_entry *x = a, *y = b;

	return (x->native_offset > y->native_offset) - (x->native_offset < y->native_offset);
}

/* Source lines by native offset. Only there under --debug; without it the method simply has none. */
static void lines_read(struct lines *l, MonoMethod *method, uint32_t code_size)
{
	MonoDomain *domain = mono_domain_get();
	MonoDebugMethodJitInfo *jit;
	struct mono_line_entry *sorted;
	uint32_t n;

	if (!prof.lines || !domain || !mono_debug_enabled() || !mono_debug_lookup_method(method))
		return;
	jit = mono_debug_find_method(method, domain);
	if (!jit)
		return;
	n = MIN(jit->num_line_numbers, (uint32_t)MAX_LINES);
	l->entries = n ? calloc(n, sizeof(*l->entries)) : NULL;
	sorted = n ? malloc(n * sizeof(*sorted)) : NULL;
	if (l->entries && sorted) {
		memcpy(sorted, jit->line_numbers, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), by_native_offset);
		for (uint32_t i = 0; i < n; i++) {
			MonoDebugSourceLocation *at;
			if (sorted[i].native_offset >= code_size)
				break;
			at = mono_debug_lookup_source_location(method, sorted[i].native_offset, domain);
			if (at && at->source_file)
				lines_add(l, at, sorted[i].native_offset);
			if (at)
				mono_debug_free_source_location(at);
		}
	}
	free(sorted);
	mono_debug_free_method_jit_info(jit);
	if (l->n)
		l->entries[0].offset = 0; /* the prologue goes with the first line */
	l->names = l->files.n ? malloc(l->files.n * sizeof(*l->names)) : NULL;
	for (uint32_t i = 0; l->names && i < l->files.n; i++)
		l->names[i] = strpool_str(&l->files, i);
	if (!l->names)
		l->n = 0;
}

/* --- events --------------------------------------------------------------------------------------------- */

static void remember(uint64_t addr, MonoMethod *method)
{
	pthread_mutex_lock(&prof.lock);
	u64map_put(&prof.regions, addr, (uintptr_t)method);
	if (method)
		u64map_put(&prof.by_method, (uintptr_t)method, addr);
	pthread_mutex_unlock(&prof.lock);
}

static void post(const void *code, uint64_t size, const char *name, uint32_t kind, MonoMethod *method)
{
	struct lines l = { 0 };
	struct opagent_region r = {
		.size = sizeof(r),
		.addr = (uintptr_t)code,
		.code = code,
		.code_size = size,
		.name = name,
		.kind = kind,
		.tier = -1,
	};

	if (!code || !size)
		return;
	if (method && kind == OPAGENT_METHOD)
		lines_read(&l, method, (uint32_t)MIN(size, (uint64_t)UINT32_MAX));
	if (l.n) {
		r.lines = l.entries;
		r.n_lines = l.n;
		r.files = l.names;
		r.n_files = l.files.n;
		r.source_file = l.names[l.entries[0].file];
	}
	opagent_load(prof.agent, &r, NULL);
	remember(r.addr, method);
	lines_done(&l);
}

static void post_method(MonoMethod *method, const void *code, uint64_t size, const char *prefix, uint32_t kind)
{
	char *full = method ? mono_method_full_name(method, true) : NULL;
	AUTO_STRBUF name = STRBUF_INIT_CAP(65535);

	strbuf_addf(&name, "%s%s", prefix, full ? full : "(unnamed)");
	post(code, size, strbuf_str(&name), kind, method);
	if (full)
		mono_free(full);
}

static void on_jit_done(MonoProfiler *p, MonoMethod *method, MonoJitInfo *ji)
{
	/* Also comes for ahead-of-time code: its address lies in a mapped file that need not have symbols. */
	post_method(method, mono_jit_info_get_code_start(ji), (uint64_t)mono_jit_info_get_code_size(ji), "", OPAGENT_METHOD);
}

static void on_code_buffer(MonoProfiler *p, const mono_byte *buffer, uint64_t size, MonoProfilerCodeBufferType type,
			   const void *data)
{
	switch ((int)type) {
	case MONO_PROFILER_CODE_BUFFER_METHOD:
		return; /* jit_done told it already, with its real size */
	case MONO_PROFILER_CODE_BUFFER_UNBOX_TRAMPOLINE:
		post_method((MonoMethod *)data, buffer, size, "unbox trampoline ", OPAGENT_TRAMPOLINE);
		return;
	case MONO_PROFILER_CODE_BUFFER_IMT_TRAMPOLINE:
		post(buffer, size, "IMT trampoline", OPAGENT_TRAMPOLINE, NULL);
		return;
	case MONO_PROFILER_CODE_BUFFER_GENERICS_TRAMPOLINE:
		post(buffer, size, "generics trampoline", OPAGENT_TRAMPOLINE, NULL);
		return;
	case MONO_PROFILER_CODE_BUFFER_SPECIFIC_TRAMPOLINE: {
		AUTO_STRBUF name = STRBUF_INIT_CAP(1024);
		strbuf_addf(&name, "specific trampoline %s", data ? (const char *)data : "");
		post(buffer, size, strbuf_str(&name), OPAGENT_TRAMPOLINE, NULL);
		return;
	}
	case MONO_PROFILER_CODE_BUFFER_HELPER:
		post(buffer, size, data ? (const char *)data : "helper", OPAGENT_STUB, NULL);
		return;
	case MONO_PROFILER_CODE_BUFFER_DELEGATE_INVOKE:
		post(buffer, size, "delegate invoke", OPAGENT_TRAMPOLINE, NULL);
		return;
	case MONO_PROFILER_CODE_BUFFER_EXCEPTION_HANDLING:
		post(buffer, size, "exception handling", OPAGENT_STUB, NULL);
		return;
	default:
		post(buffer, size, "code buffer", OPAGENT_STUB, NULL);
	}
}

static void on_method_free(MonoProfiler *p, MonoMethod *method)
{
	uint64_t *addr, at = 0;

	pthread_mutex_lock(&prof.lock);
	addr = u64map_get(&prof.by_method, (uintptr_t)method);
	if (addr) {
		uint64_t *owner = u64map_get(&prof.regions, *addr);
		if (owner && *owner == (uintptr_t)method) {
			at = *addr;
			u64map_del(&prof.regions, at);
		}
		u64map_del(&prof.by_method, (uintptr_t)method);
	}
	pthread_mutex_unlock(&prof.lock);
	if (at)
		opagent_unload(prof.agent, at, 0);
}

static void on_chunk_created(MonoProfiler *p, const mono_byte *chunk, uintptr_t size)
{
	pthread_mutex_lock(&prof.lock);
	u64map_put(&prof.chunks, (uintptr_t)chunk, size);
	pthread_mutex_unlock(&prof.lock);
	opagent_heap(prof.agent, "mono code chunk", (uintptr_t)chunk, size);
}

static void on_chunk_destroyed(MonoProfiler *p, const mono_byte *chunk)
{
	uint64_t start = (uintptr_t)chunk, *size, key, *value;
	uint64_t *gone = NULL;
	size_t n = 0, room = 0, it = 0;

	pthread_mutex_lock(&prof.lock);
	size = u64map_get(&prof.chunks, start);
	while (size && u64map_next(&prof.regions, &it, &key, &value)) {
		if (key - start >= *size)
			continue;
		if (n == room) {
			uint64_t *more = realloc(gone, (room = room * 2 + 64) * sizeof(*gone));
			if (!more)
				break;
			gone = more;
		}
		gone[n++] = key;
	}
	for (size_t i = 0; i < n; i++)
		u64map_del(&prof.regions, gone[i]);
	u64map_del(&prof.chunks, start);
	pthread_mutex_unlock(&prof.lock);
	for (size_t i = 0; i < n; i++)
		opagent_unload(prof.agent, gone[i], 0);
	free(gone);
}

static void on_cleanup(MonoProfiler *p)
{
	/* Mono's threads may still run code and post: the instance is left open, its end is the process's end. */
}

/* --- start ---------------------------------------------------------------------------------------------- */

static const char help[] =
	"mono --profile=oprofile[:OPTION[,OPTION…]]\n"
	"  dir=DIR     where images go (default: $OPJIT_DIR, /var/lib/oprofile/jit, $XDG_RUNTIME_DIR/opjit, /tmp/opjit-UID)\n"
	"  max=SIZE    most bytes of all images, suffix k, m or g (default 1g)\n"
	"  lines=0|1   source lines, with mono --debug (default 1)\n"
	"  log=FILE    a line a failure goes there\n"
	"  help        this text\n";

/* One option of the list; opts' strings stay valid for the length of init. */
static void parse_option(char *o, struct opagent_open_opts *opts)
{
	char *value = strchr(o, '=');
	uint64_t v;

	if (value)
		*value++ = '\0';
	if (!strcmp(o, "dir") && value && *value)
		opts->dir = value;
	else if (!strcmp(o, "max") && value && !util_parse_size(value, UINT64_MAX, &v))
		opts->max_bytes = v;
	else if (!strcmp(o, "lines") && value && (!strcmp(value, "0") || !strcmp(value, "1")))
		prof.lines = *value == '1';
	else if (!strcmp(o, "log") && value && *value)
		opts->log = value;
	else if (!strcmp(o, "help") && !value)
		fputs(help, stderr);
	else if (*o)
		fprintf(stderr, "oprofile: option «%s%s%s» is not known or has a bad value; ignored (try help)\n", o, value ? "=" : "",
			value ? value : "");
}

__attribute__((visibility("default"))) void mono_profiler_init_oprofile(const char *desc);

/* desc is the whole text after --profile=, "oprofile" or "oprofile:options". */
void mono_profiler_init_oprofile(const char *desc)
{
	struct opagent_open_opts opts = { .size = sizeof(opts), .source = "mono" };
	const char *colon = desc ? strchr(desc, ':') : NULL;
	AUTO_FREE char *list = strdup(colon ? colon + 1 : "");
	MonoProfilerHandle handle;

	for (char *o = list, *next; o; o = next) {
		next = strchr(o, ',');
		if (next)
			*next++ = '\0';
		parse_option(o, &opts);
	}
	if (opagent_open(&prof.agent, &opts) < 0)
		return; /* the library has logged why; the program runs without being named */
	handle = mono_profiler_create(&prof);
	mono_profiler_set_jit_done_callback(handle, on_jit_done);
	mono_profiler_set_jit_code_buffer_callback(handle, on_code_buffer);
	mono_profiler_set_method_free_callback(handle, on_method_free);
	mono_profiler_set_jit_chunk_created_callback(handle, on_chunk_created);
	mono_profiler_set_jit_chunk_destroyed_callback(handle, on_chunk_destroyed);
	mono_profiler_set_cleanup_callback(handle, on_cleanup);
}
