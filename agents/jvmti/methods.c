/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of a method, by its jmethodID. A run of javac names 1.5 million frames but 12,000 methods: asking the VM
 * each time costs most of a second.
 *
 * An id is a key only: the VM is asked about it in the callback that brought it, never later. The ids of unloaded classes are
 * not given out again (JDK 8 to 25), so an entry can be too much but not wrong, with one exception: a redefined class
 * keeps its ids and gets other lines. The id points to the VM's current Method there, which is compared.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agents/jvmti/agent.h"
#include "lib/util.h"

#define CACHE_BYTES ((size_t)64 << 20)
#define LAST_KNOWN_VERSION 25 /* the last JDK whose jmethodIDs are known to be pointers to a Method pointer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Open addressing: a look-up that finds touches one line here and one of the method. */
struct slot {
	jmethodID id; /* NULL = free. A redefined class's method has a further slot. */
	struct method *method;
};
static struct slot *slots;
static size_t n_slots, n_methods, n_bytes;
static struct file {
	struct file *next; /* in its bucket */
	struct opagent_text text;
} *files[1024];
/*
 * Nothing of a method is given back alone, so all of them lie in large chunks. malloc would grow the heap of this thread by a page at a
 * time, with a system call and a fault each.
 */
static struct chunk {
	struct chunk *next;
	size_t used, room; /* with this head */
} *chunks;
#define CHUNK_BYTES ((size_t)256 << 10)
static unsigned int users;
static JavaVM *java_vm;
static bool ids_are_pointers;

void methods_init(JavaVM *vm, int vm_version)
{
	java_vm = vm;
	ids_are_pointers = vm_version <= LAST_KNOWN_VERSION;
}

static uintptr_t version_of(jmethodID id)
{
	uintptr_t p = (uintptr_t)id;
	if (!ids_are_pointers || p % sizeof(void *) || p < (1u << 16))
		return 0;
	return *(const volatile uintptr_t *)p;
}

static size_t slot_of(jmethodID id, size_t n)
{
	uint64_t x = (uint64_t)(uintptr_t)id >> 3;
	x *= 0x9e3779b97f4a7c15ULL;
	return (size_t)(x >> 32) & (n - 1);
}

static void *take(size_t bytes)
{
	struct chunk *c = chunks;
	size_t room = CHUNK_BYTES;
	void *p;

	bytes = (bytes + 63) / 64 * 64; /* a method begins on a cache line */
	if (!c || c->room - c->used < bytes) {
		if (bytes > room - 64)
			room = bytes + 64;
		c = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (c == MAP_FAILED)
			return NULL;
		*c = (struct chunk){ chunks, 64, room };
		chunks = c;
	}
	p = (char *)c + c->used;
	c->used += bytes;
	n_bytes += bytes;
	return p;
}

static void put(struct slot *to, size_t n, struct method *m)
{
	size_t i = slot_of(m->id, n);
	while (to[i].id)
		i = (i + 1) & (n - 1);
	to[i] = (struct slot){ m->id, m };
}

static bool grow(void)
{
	size_t n = n_slots ? n_slots * 2 : 8192;
	struct slot *new = calloc(n, sizeof(*new));

	if (!new)
		return false;
	for (size_t i = 0; i < n_slots; i++)
		if (slots[i].id)
			put(new, n, slots[i].method);
	free(slots);
	slots = new;
	n_slots = n;
	return true;
}

void methods_enter(void)
{
	pthread_mutex_lock(&lock);
	users++;
	pthread_mutex_unlock(&lock);
}

/* Endless new classes: begin anew rather than grow for ever. */
static void forget_all(void)
{
	for (struct chunk *c = chunks, *next; c; c = next) {
		next = c->next;
		munmap(c, c->room);
	}
	chunks = NULL;
	memset(files, 0, sizeof(files));
	memset(slots, 0, n_slots * sizeof(*slots));
	n_methods = n_bytes = 0;
}

void methods_leave(void)
{
	pthread_mutex_lock(&lock);
	if (--users == 0 && n_bytes > CACHE_BYTES)
		forget_all();
	pthread_mutex_unlock(&lock);
}

static struct method *find(jmethodID id, uintptr_t version)
{
	if (!n_slots)
		return NULL;
	for (size_t i = slot_of(id, n_slots); slots[i].id; i = (i + 1) & (n_slots - 1))
		if (slots[i].id == id && slots[i].method->version == version)
			return slots[i].method;
	return NULL;
}

/* Looks for all of them; NULL for those not known. */
static void find_all(size_t n, const jmethodID *ids, struct method **ret)
{
	for (size_t i = 0; i < n && n_slots; i++) {
		__builtin_prefetch(&slots[slot_of(ids[i], n_slots)]);
		if (ids_are_pointers)
			__builtin_prefetch((const void *)ids[i]);
	}
	for (size_t i = 0; i < n && n_slots; i++) {
		const struct slot *s = &slots[slot_of(ids[i], n_slots)];
		if (s->id == ids[i]) { /* else it is further on, and is waited for */
			__builtin_prefetch(s->method);
			__builtin_prefetch((const char *)s->method + 64);
			__builtin_prefetch(s->method + 1);
		}
	}
	for (size_t i = 0; i < n; i++)
		ret[i] = find(ids[i], version_of(ids[i]));
}

static int by_bci(const void *a, const void *b)
{
	const struct method_line *x = a, *y = b;
	return x->bci < y->bci ? -1 : x->bci > y->bci;
}

struct answers { /* what the VM said; its memory */
	char *class_signature, *source, *name, *descriptor;
	jvmtiLineNumberEntry *lines;
	jint n_lines;
};

static void ask(jvmtiEnv *ti, jmethodID id, struct answers *a)
{
	jclass class = NULL;
	JNIEnv *jni = NULL;

	if ((*ti)->GetMethodName(ti, id, &a->name, &a->descriptor, NULL) != JVMTI_ERROR_NONE)
		a->name = a->descriptor = NULL;
	if ((*ti)->GetLineNumberTable(ti, id, &a->n_lines, &a->lines) != JVMTI_ERROR_NONE) {
		a->n_lines = 0;
		a->lines = NULL;
	}
	if ((*ti)->GetMethodDeclaringClass(ti, id, &class) != JVMTI_ERROR_NONE || !class)
		return;
	if ((*ti)->GetClassSignature(ti, class, &a->class_signature, NULL) != JVMTI_ERROR_NONE)
		a->class_signature = NULL;
	if ((*ti)->GetSourceFileName(ti, class, &a->source) != JVMTI_ERROR_NONE)
		a->source = NULL;
	/* The event has no local frame of its own: without this every class would stay referenced by this thread. */
	if ((*java_vm)->GetEnv(java_vm, (void **)&jni, JNI_VERSION_1_6) == JNI_OK && jni)
		(*jni)->DeleteLocalRef(jni, class);
}

static void answers_done(jvmtiEnv *ti, struct answers *a)
{
	void *memory[] = { a->class_signature, a->source, a->name, a->descriptor, a->lines };
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (memory[i])
			(*ti)->Deallocate(ti, memory[i]);
}

static struct opagent_text text_of(const char *s, size_t n)
{
	return (struct opagent_text){ .s = s, .len = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX) };
}

/* The one text of a file's name. */
static struct opagent_text *file_text(const char *class, const char *source)
{
	char *name = name_of_file(class, source);
	size_t n = name ? strlen(name) : 0;
	struct file **bucket, *f = NULL;

	if (name) {
		bucket = &files[util_hash_bytes(name, n) % (sizeof(files) / sizeof(files[0]))];
		for (f = *bucket; f && (f->text.len != n || memcmp(f->text.s, name, n)); f = f->next)
			;
		if (!f && (f = take(sizeof(*f) + n + 1))) {
			*f = (struct file){ *bucket, text_of(memcpy(f + 1, name, n + 1), n) };
			*bucket = f;
		}
	}
	free(name);
	return f ? &f->text : NULL;
}

static bool is_linker(const char *class, const char *name)
{
	return !strcmp(class, "Ljava/lang/invoke/MethodHandle;") && (!strncmp(name, "linkTo", 6) || !strncmp(name, "invokeBasic", 11));
}

static void lines_take(struct method_line *to, const struct answers *a, size_t n)
{
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		to[i].bci = (int32_t)a->lines[i].start_location;
		to[i].line = a->lines[i].line_number > 0 ? (uint32_t)a->lines[i].line_number : 0;
		if (i && to[i].bci < to[i - 1].bci)
			sorted = false;
	}
	if (!sorted)
		qsort(to, n, sizeof(*to), by_bci);
}

static struct method *method_of_answers(jmethodID id, const struct answers *a)
{
	const char *class = a->class_signature ? a->class_signature : "L?;";
	const char *name = a->name ? a->name : "?", *desc = a->descriptor ? a->descriptor : "";
	size_t n_lines = a->n_lines > 0 ? (size_t)a->n_lines : 0;
	char *pretty = name_of_method(class, name, desc);
	size_t pretty_n = pretty ? strlen(pretty) : 0, desc_n = strlen(desc);
	size_t bytes = sizeof(struct method) + n_lines * sizeof(struct method_line) + pretty_n + desc_n + 2;
	struct method *m = pretty ? take(bytes) : NULL;
	struct method_line *lines;
	char *s;

	if (m) {
		lines = (void *)(m + 1);
		lines_take(lines, a, n_lines);
		s = memcpy(lines + n_lines, pretty, pretty_n + 1);
		*m = (struct method){ .id = id, .n_lines = (uint32_t)n_lines, .lines = lines, .name = text_of(s, pretty_n),
				      .linker = is_linker(class, name),
				      .file = a->source && *a->source ? file_text(class, a->source) : NULL };
		m->descriptor = text_of(memcpy(s + pretty_n + 1, desc, desc_n + 1), desc_n);
	}
	free(pretty);
	return m;
}

static struct method *get_new(jvmtiEnv *ti, jmethodID id)
{
	uintptr_t version = version_of(id);
	struct answers a = { 0 };
	struct method *known, *m;

	ask(ti, id, &a);
	pthread_mutex_lock(&lock);
	known = find(id, version); /* another thread may have been faster */
	if (!known) {
		m = n_methods < n_slots / 2 || grow() ? method_of_answers(id, &a) : NULL;
		if (m) {
			m->version = version;
			put(slots, n_slots, m);
			n_methods++;
		}
		known = m;
	}
	pthread_mutex_unlock(&lock);
	answers_done(ti, &a);
	return known;
}

void methods_get(jvmtiEnv *ti, size_t n, const jmethodID *ids, struct method **ret)
{
	pthread_mutex_lock(&lock);
	find_all(n, ids, ret);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n; i++)
		if (!ret[i])
			ret[i] = get_new(ti, ids[i]);
}

uint32_t method_line_at(const struct method *m, int32_t bci)
{
	uint32_t lo = 0, hi = m->n_lines;

	while (lo < hi) { /* the last entry at or before bci */
		uint32_t mid = lo + (hi - lo) / 2;
		if (m->lines[mid].bci <= bci)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Before the first entry (bci -1: the entry of the method) its first line is the nearest that is known. */
	if (lo == 0)
		return m->n_lines ? m->lines[0].line : 0;
	return m->lines[lo - 1].line;
}
