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

#include "agents/jvmti/agent.h"

#define CACHE_BYTES ((size_t)64 << 20)
#define LAST_KNOWN_VERSION 25 /* the last JDK whose jmethodIDs are known to be pointers to a Method pointer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct method **buckets;
static size_t n_buckets, n_methods, n_bytes;
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

static size_t bucket_of(jmethodID id)
{
	uint64_t x = (uint64_t)(uintptr_t)id >> 3;
	x *= 0x9e3779b97f4a7c15ULL;
	return (size_t)(x >> 32) & (n_buckets - 1);
}

static void grow(void)
{
	size_t old_n = n_buckets, n = old_n ? old_n * 2 : 4096;
	struct method **old = buckets, **new = calloc(n, sizeof(*new));

	if (!new)
		return;
	buckets = new;
	n_buckets = n;
	for (size_t i = 0; i < old_n; i++) {
		for (struct method *m = old[i], *next; m; m = next) {
			size_t b = bucket_of(m->id);
			next = m->next;
			m->next = buckets[b];
			buckets[b] = m;
		}
	}
	free(old);
}

void methods_enter(void)
{
	pthread_mutex_lock(&lock);
	users++;
	pthread_mutex_unlock(&lock);
}

void methods_leave(void)
{
	pthread_mutex_lock(&lock);
	if (--users == 0 && n_bytes > CACHE_BYTES) { /* endless new classes: begin anew rather than grow for ever */
		for (size_t i = 0; i < n_buckets; i++) {
			for (struct method *m = buckets[i], *next; m; m = next) {
				next = m->next;
				free(m);
			}
			buckets[i] = NULL;
		}
		n_methods = n_bytes = 0;
	}
	pthread_mutex_unlock(&lock);
}

static const struct method *find(jmethodID id, uintptr_t version)
{
	if (!n_buckets)
		return NULL;
	for (const struct method *m = buckets[bucket_of(id)]; m; m = m->next)
		if (m->id == id && m->version == version)
			return m;
	return NULL;
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
	void *all[] = { a->class_signature, a->source, a->name, a->descriptor, a->lines };
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			(*ti)->Deallocate(ti, all[i]);
}

static struct method *method_of_answers(jmethodID id, const struct answers *a)
{
	const char *class = a->class_signature ? a->class_signature : "L?;";
	const char *name = a->name ? a->name : "?", *desc = a->descriptor ? a->descriptor : "";
	size_t n_lines = a->n_lines > 0 ? (size_t)a->n_lines : 0;
	char *pretty = name_of_method(class, name, desc);
	char *file = a->source && *a->source ? name_of_file(class, a->source) : NULL;
	size_t pretty_n = pretty ? strlen(pretty) + 1 : 0, file_n = file ? strlen(file) + 1 : 0;
	size_t desc_n = strlen(desc) + 1;
	size_t tables = sizeof(struct method) + n_lines * sizeof(struct method_line);
	struct method *m = pretty ? malloc(tables + pretty_n + file_n + desc_n) : NULL;
	char *s;

	if (m) {
		*m = (struct method){ .id = id, .n_lines = (uint32_t)n_lines };
		for (size_t i = 0; i < n_lines; i++) {
			m->lines[i].bci = (int32_t)a->lines[i].start_location;
			m->lines[i].line = a->lines[i].line_number > 0 ? (uint32_t)a->lines[i].line_number : 0;
		}
		qsort(m->lines, n_lines, sizeof(m->lines[0]), by_bci);
		s = (char *)m + tables;
		m->name = memcpy(s, pretty, pretty_n);
		s += pretty_n;
		if (file)
			m->file = memcpy(s, file, file_n);
		s += file_n;
		m->descriptor = memcpy(s, desc, desc_n);
		n_bytes += tables + pretty_n + file_n + desc_n;
	}
	free(pretty);
	free(file);
	return m;
}

const struct method *methods_get(jvmtiEnv *ti, jmethodID id)
{
	uintptr_t version = version_of(id);
	struct answers a = { 0 };
	const struct method *known;
	struct method *m;

	pthread_mutex_lock(&lock);
	known = find(id, version);
	pthread_mutex_unlock(&lock);
	if (known)
		return known;
	ask(ti, id, &a);
	pthread_mutex_lock(&lock);
	known = find(id, version); /* another thread may have been faster */
	if (!known) {
		if (n_methods >= n_buckets)
			grow();
		m = n_buckets ? method_of_answers(id, &a) : NULL;
		if (m) {
			m->version = version;
			m->next = buckets[bucket_of(id)];
			buckets[bucket_of(id)] = m;
			n_methods++;
		}
		known = m;
	}
	pthread_mutex_unlock(&lock);
	answers_done(ti, &a);
	return known;
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
