/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Java agent: tells libopagent what code HotSpot made. Loaded at the start (-agentpath:…, Agent_OnLoad) or into a
 * running VM (Agent_OnAttach), on JDK 8 and later. See README.md beside this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agents/jvmti/agent.h"

static struct options options;
static struct opagent *out;
static unsigned int running; /* callbacks under way */
static bool closing;
static bool loaded;          /* this library serves the VM already */
static bool late;            /* attached: code that exists already has lines at safepoints only */
static pthread_t replayer;   /* the thread that has GenerateEvents repeat what exists */
static bool replay;
static bool attached;        /* not there from the VM's start on */

static void log_line(const char *what, int err)
{
	char line[512];
	int fd, n;

	if (!options.log)
		return;
	n = snprintf(line, sizeof(line), "libjvmti_oprofile[%ld]: %s%s%s\n", (long)getpid(), what, err ? ": " : "",
		     err ? strerror(err < 0 ? -err : err) : "");
	fd = open(options.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	if (n > (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 1;
	if (write(fd, line, (size_t)n) < 0)
		n = 0;
	close(fd);
}

static uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Callbacks may run while the VM ends and Agent_OnUnload closes: whoever comes later does nothing. */
static bool enter(void)
{
	__atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&closing, __ATOMIC_SEQ_CST))
		return true;
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void leave(void)
{
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

static bool replaying_here(void)
{
	return __atomic_load_n(&replay, __ATOMIC_ACQUIRE) && pthread_equal(pthread_self(), replayer);
}

/* The rows that hold for every method of HotSpot on x86-64: at entry, and once its frame stands. */
static void add_unwind(struct opagent_region *r, const struct vm_blob *b, struct opagent_unwind_row row[2])
{
#ifdef __x86_64__
	if (b->frame_words < 2 || b->frame_complete <= 0 || (uint64_t)b->frame_complete >= r->code_size)
		return;
	row[0] = (struct opagent_unwind_row){ .offset = 0, .cfa_offset = 8, .cfa_reg = 7, .ra_offset = -8 };
	row[1] = (struct opagent_unwind_row){ .offset = (uint32_t)b->frame_complete, .cfa_offset = b->frame_words * 8,
					      .cfa_reg = 7, .ra_offset = -8, .fp_offset = -16 };
	r->unwind = row;
	r->n_unwind = 2;
#else
	(void)r;
	(void)b;
	(void)row;
#endif
}

/*
 * The linkers of method handles (invokeBasic, linkToStatic and so on, one for each descriptor) have all one jmethodID, that of
 * the first: what JVMTI tells of it is the name of another. The VM's structures have the right one. NULL: not one of those, or unknown.
 */
static char *linker_name(const struct method *m, uint64_t addr, struct vm_name *real)
{
	static const char class[] = "java.lang.invoke.MethodHandle.";
	const char *name = m->name + sizeof(class) - 1;

	if (strncmp(m->name, class, sizeof(class) - 1) || (strncmp(name, "linkTo", 6) && strncmp(name, "invokeBasic", 11)))
		return NULL;
	return vm_method_name(addr, real) ? name_of_method("Ljava/lang/invoke/MethodHandle;", real->name, real->signature) : NULL;
}

static void post_gone(uint64_t addr, uint64_t now, uint32_t late_us)
{
	opagent_unload_late(out, addr, now, late_us);
}

static void JNICALL on_load(jvmtiEnv *ti, jmethodID id, jint size, const void *addr, jint n_map, const jvmtiAddrLocationMap *map,
			    const void *compile_info)
{
	struct opagent_region r = { .size = sizeof(r), .time_ns = now_ns(), .tier = -1, .kind = OPAGENT_METHOD };
	struct opagent_unwind_row unwind[2];
	const struct method *m;
	struct tables *t = NULL;
	struct vm_blob blob;
	struct vm_name real;
	char *linker;
	bool again = replaying_here(), seen;

	if (size <= 0 || !addr || !enter())
		return;
	live_look(r.time_ns, post_gone);
	methods_enter();
	m = methods_get(ti, id);
	if (m) {
		r.addr = (uintptr_t)addr;
		r.code_size = (uint64_t)size;
		r.code = addr;
		linker = linker_name(m, r.addr, &real);
		r.name = linker ? linker : m->name;
		r.source_file = m->file;
		r.descriptor = linker ? real.signature : m->descriptor;
		seen = vm_method(&blob, r.addr, r.code_size);
		if (seen) {
			r.code_size = blob.end - r.addr;
			r.tier = blob.tier;
			if (blob.osr_bci >= 0) {
				r.osr_bci = blob.osr_bci;
				r.flags |= OPAGENT_OSR;
			}
			add_unwind(&r, &blob, unwind);
		}
		if (again)
			r.flags |= OPAGENT_SINCE_UNKNOWN | (late ? OPAGENT_SAFEPOINT_LINES : 0);
		t = tables_of_load(ti, &r, m, options.lines, n_map, map, compile_info);
		live_lock();
		if (live_load(r.addr, id, again, seen ? &blob : NULL, r.time_ns) == LIVE_POST)
			opagent_load(out, &r, NULL);
		live_unlock();
		tables_done(t);
		free(linker);
	}
	methods_leave();
	leave();
}

static void JNICALL on_unload(jvmtiEnv *ti, jmethodID id, const void *addr)
{
	uint64_t now = now_ns();
	uint32_t late_us;

	if (!enter())
		return;
	live_look(now, post_gone);
	live_lock();
	if (live_unload((uintptr_t)addr, id, now, &late_us) == LIVE_POST)
		opagent_unload_late(out, (uintptr_t)addr, now, late_us);
	live_unlock();
	leave();
}

static void post_piece(const struct opagent_region *like, const char *name, uint64_t addr, uint64_t end)
{
	struct opagent_region r = *like;

	if (addr >= end)
		return;
	r.name = name;
	r.addr = addr;
	r.code_size = end - addr;
	r.code = (const void *)(uintptr_t)addr;
	opagent_load(out, &r, NULL);
}

/* The interpreter comes as one region; its codelets (one for each bytecode and entry) are the better names. */
static void post_interpreter(const struct opagent_region *whole)
{
	enum { MAX = 600 };
	struct vm_codelet *c = calloc(MAX, sizeof(*c));
	uint64_t at = whole->addr, end = whole->addr + whole->code_size;
	size_t n = c ? vm_codelets(c, MAX, whole->addr, whole->code_size) : 0;
	char name[80];

	for (size_t i = 0; i < n; i++) {
		uint64_t from = c[i].addr < at ? at : c[i].addr, to = c[i].addr + c[i].size;
		if (to > end)
			to = end;
		post_piece(whole, "Interpreter", at, from < end ? from : end);
		snprintf(name, sizeof(name), "Interpreter: %s", c[i].name);
		post_piece(whole, name, from, to);
		at = to > at ? to : at;
	}
	post_piece(whole, "Interpreter", at, end);
	free(c);
}

static void JNICALL on_dynamic(jvmtiEnv *ti, const char *name, const void *addr, jint size)
{
	struct opagent_region r = { .size = sizeof(r), .time_ns = now_ns(), .tier = -1, .kind = OPAGENT_STUB };
	bool again = replaying_here();
	char copy[256];
	char *at;

	if (!name || size <= 0 || !addr || !enter())
		return;
	snprintf(copy, sizeof(copy), "%s", name);
	at = strstr(copy, "@0x"); /* "I2C/C2I adapters(0xbb)@0x00007f…": the address is no name */
	if (at)
		*at = 0;
	r.name = copy;
	r.addr = (uintptr_t)addr;
	r.code_size = (uint64_t)size;
	r.code = addr;
	if (again)
		r.flags |= OPAGENT_SINCE_UNKNOWN;
	if (!stubs_wanted(copy, r.addr, again, attached)) {
		leave();
		return;
	}
	if (strstr(copy, "adapters") || strstr(copy, "vtable stub") || strstr(copy, "itable stub"))
		r.kind = OPAGENT_TRAMPOLINE;
	if (!strcmp(copy, "Interpreter")) {
		r.kind = OPAGENT_INTERPRETER;
		post_interpreter(&r);
	} else {
		opagent_load(out, &r, NULL);
	}
	leave();
}

static void post_heap(const char *name, uint64_t addr, uint64_t size)
{
	opagent_heap(out, name, addr, size);
}

/* Has the VM tell again, in this thread, what exists. */
static jvmtiError repeat(jvmtiEnv *ti, jvmtiEvent event)
{
	jvmtiError err;

	replayer = pthread_self();
	__atomic_store_n(&replay, true, __ATOMIC_RELEASE);
	err = (*ti)->GenerateEvents(ti, event);
	__atomic_store_n(&replay, false, __ATOMIC_RELEASE);
	return err;
}

static void JNICALL on_vm_init(jvmtiEnv *ti, JNIEnv *jni, jthread thread)
{
	if (!enter())
		return;
	vm_heaps(post_heap);
	if (!attached) {
		repeat(ti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
		stubs_done(false);
	}
	leave();
}

static bool switch_on(jvmtiEnv *ti)
{
	static const jvmtiEvent events[] = { JVMTI_EVENT_VM_INIT, JVMTI_EVENT_COMPILED_METHOD_LOAD,
					     JVMTI_EVENT_COMPILED_METHOD_UNLOAD, JVMTI_EVENT_DYNAMIC_CODE_GENERATED };
	jvmtiCapabilities all, want;
	jvmtiEventCallbacks callbacks = {
		.VMInit = on_vm_init,
		.CompiledMethodLoad = on_load,
		.CompiledMethodUnload = on_unload,
		.DynamicCodeGenerated = on_dynamic,
	};
	jvmtiError err;

	memset(&want, 0, sizeof(want));
	if ((*ti)->GetPotentialCapabilities(ti, &all) != JVMTI_ERROR_NONE || !all.can_generate_compiled_method_load_events) {
		log_line("this VM does not tell about compiled methods", 0);
		return false;
	}
	want.can_generate_compiled_method_load_events = 1;
	want.can_get_line_numbers = all.can_get_line_numbers;
	want.can_get_source_file_name = all.can_get_source_file_name;
	err = (*ti)->AddCapabilities(ti, &want);
	if (err == JVMTI_ERROR_NONE)
		err = (*ti)->SetEventCallbacks(ti, &callbacks, sizeof(callbacks));
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && err == JVMTI_ERROR_NONE; i++)
		err = (*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, events[i], NULL);
	if (err != JVMTI_ERROR_NONE) {
		char text[64];
		snprintf(text, sizeof(text), "the VM refuses events (JVMTI error %d)", (int)err);
		log_line(text, 0);
		return false;
	}
	return true;
}

static int version_of(jvmtiEnv *ti)
{
	jint v = 0;
	if ((*ti)->GetVersionNumber(ti, &v) != JVMTI_ERROR_NONE)
		return 1000; /* newer than anything known */
	return (v & JVMTI_VERSION_MASK_MAJOR) >> JVMTI_VERSION_SHIFT_MAJOR;
}

/* Opens the instance and switches the events on. Whatever fails, the VM goes on as if we were not there. */
static jvmtiEnv *start(JavaVM *vm, char *text, bool is_attached)
{
	struct opagent_open_opts o = { .size = sizeof(o), .lag_us = HOTSPOT_LAG_US, .source = "hotspot" };
	jvmtiEnv *ti = NULL;
	int err;

	if (loaded) {
		log_line("loaded already; this time it does nothing", 0);
		return NULL;
	}
	options_parse(&options, text);
	if (!options.log && getenv("OPJIT_LOG"))
		options.log = strdup(getenv("OPJIT_LOG"));
	/* A VM that is attached to while it starts has no JVMTI until it is live. */
	for (unsigned int i = 0; (*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_1) != JNI_OK && is_attached && i < 500; i++) {
		ti = NULL;
		usleep(10000);
	}
	if (!ti) {
		log_line("this VM has no JVMTI", 0);
		return NULL;
	}
	o.dir = options.dir;
	o.log = options.log;
	o.max_bytes = options.max_bytes;
	err = opagent_open(&out, &o);
	if (err < 0) {
		if (err != -ESHUTDOWN) /* of that the library has told itself */
			log_line("no names will be told, the instance cannot be made", err);
		return NULL;
	}
	methods_init(vm, version_of(ti));
	vm_init(vm);
	attached = is_attached;
	if (!switch_on(ti)) {
		opagent_close(out);
		out = NULL;
		return NULL;
	}
	loaded = true;
	return ti;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *text, void *reserved)
{
	start(vm, text, false);
	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM *vm, char *text, void *reserved)
{
	jvmtiEnv *ti = start(vm, text, true);
	jvmtiError err;

	if (!ti)
		return loaded ? JNI_OK : JNI_ERR;
	late = vm_flag("DebugNonSafepoints") != 1;
	vm_heaps(post_heap);
	live_replay(true);
	err = repeat(ti, JVMTI_EVENT_DYNAMIC_CODE_GENERATED);
	if (err == JVMTI_ERROR_NONE)
		err = repeat(ti, JVMTI_EVENT_COMPILED_METHOD_LOAD);
	live_replay(false);
	stubs_done(true);
	if (err != JVMTI_ERROR_NONE)
		log_line("the VM does not repeat what it compiled before", 0);
	return JNI_OK;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
	__atomic_store_n(&closing, true, __ATOMIC_SEQ_CST);
	/* A callback that still runs keeps the instance open: the process ends anyway. */
	if (out && __atomic_load_n(&running, __ATOMIC_SEQ_CST) == 0)
		opagent_close(out);
}
