/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cbcount: a Java agent that wraps another one and sums the thread CPU time inside its callbacks for compiled code.
 *
 *	-agentpath:…/cbcount.so=/path/of/agent.so[=ITS OPTIONS]      wrapped
 *	-agentpath:…/cbcount.so                                      null agent: the same events are on, and nothing is done
 *
 * Writes one line to $CBCOUNT_OUT when the VM ends: "callbacks N ns T", the cost of the two clock reads taken off. How:
 * the wrapped agent gets a JavaVM whose GetEnv hands out environments with our SetEventCallbacks in their function table.
 */
#include <dlfcn.h>
#include <jvmti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct JNIInvokeInterface_ vm_table;
static JavaVM fake_vm = &vm_table, *real_vm;
static struct jvmtiInterface_1_ env_table;
static const struct jvmtiInterface_1_ *real_table;
static jvmtiEventCallbacks theirs;
static uint64_t total_ns, n_calls, clock_ns;
static void *inner;

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void account(uint64_t from)
{
	__atomic_add_fetch(&total_ns, cpu_ns() - from, __ATOMIC_RELAXED);
	__atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
}

static void JNICALL on_load(jvmtiEnv *ti, jmethodID id, jint size, const void *addr, jint n, const jvmtiAddrLocationMap *map,
			    const void *info)
{
	uint64_t from = cpu_ns();
	if (theirs.CompiledMethodLoad)
		theirs.CompiledMethodLoad(ti, id, size, addr, n, map, info);
	account(from);
}

static void JNICALL on_unload(jvmtiEnv *ti, jmethodID id, const void *addr)
{
	uint64_t from = cpu_ns();
	if (theirs.CompiledMethodUnload)
		theirs.CompiledMethodUnload(ti, id, addr);
	account(from);
}

static void JNICALL on_dynamic(jvmtiEnv *ti, const char *name, const void *addr, jint size)
{
	uint64_t from = cpu_ns();
	if (theirs.DynamicCodeGenerated)
		theirs.DynamicCodeGenerated(ti, name, addr, size);
	account(from);
}

static jvmtiError JNICALL set_callbacks(jvmtiEnv *ti, const jvmtiEventCallbacks *callbacks, jint size)
{
	jvmtiEventCallbacks ours;

	memset(&theirs, 0, sizeof(theirs));
	memcpy(&theirs, callbacks, (size_t)size < sizeof(theirs) ? (size_t)size : sizeof(theirs));
	ours = theirs;
	if (ours.CompiledMethodLoad)
		ours.CompiledMethodLoad = on_load;
	if (ours.CompiledMethodUnload)
		ours.CompiledMethodUnload = on_unload;
	if (ours.DynamicCodeGenerated)
		ours.DynamicCodeGenerated = on_dynamic;
	return real_table->SetEventCallbacks(ti, &ours, sizeof(ours));
}

static jint JNICALL get_env(JavaVM *vm, void **env, jint version)
{
	jint r = (*real_vm)->GetEnv(real_vm, env, version);
	if (r == JNI_OK && (version & JVMTI_VERSION_MASK_INTERFACE_TYPE) == JVMTI_VERSION_INTERFACE_JVMTI) {
		jvmtiEnv *ti = *env;
		real_table = *ti;
		env_table = **ti;
		env_table.SetEventCallbacks = set_callbacks;
		*ti = &env_table;
	}
	return r;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* The median: the lowest of many would leave a part of the clock's own time with the agent. */
static void calibrate(void)
{
	uint64_t took[1001];

	for (int i = 0; i < 1001; i++) {
		uint64_t a = cpu_ns();
		took[i] = cpu_ns() - a;
	}
	qsort(took, 1001, sizeof(took[0]), by_size);
	clock_ns = took[500];
}

static jint start_null(JavaVM *vm)
{
	static const jvmtiEvent events[] = { JVMTI_EVENT_COMPILED_METHOD_LOAD, JVMTI_EVENT_COMPILED_METHOD_UNLOAD,
					     JVMTI_EVENT_DYNAMIC_CODE_GENERATED };
	jvmtiEventCallbacks none = { .CompiledMethodLoad = on_load, .CompiledMethodUnload = on_unload, .DynamicCodeGenerated = on_dynamic };
	jvmtiCapabilities want;
	jvmtiEnv *ti;

	if ((*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_1) != JNI_OK)
		return JNI_ERR;
	memset(&want, 0, sizeof(want));
	want.can_generate_compiled_method_load_events = 1;
	(*ti)->AddCapabilities(ti, &want);
	(*ti)->SetEventCallbacks(ti, &none, sizeof(none));
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, events[i], NULL);
	return JNI_OK;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *text, void *reserved)
{
	jint (JNICALL *load)(JavaVM *, char *, void *);
	char *options, none[] = "";

	calibrate();
	real_vm = vm;
	vm_table = **vm;
	vm_table.GetEnv = get_env;
	if (!text || !*text)
		return start_null(vm);
	options = strchr(text, '=');
	if (options)
		*options++ = 0;
	inner = dlopen(text, RTLD_NOW | RTLD_LOCAL);
	if (!inner) {
		fprintf(stderr, "cbcount: %s\n", dlerror());
		return JNI_ERR;
	}
	load = (jint (JNICALL *)(JavaVM *, char *, void *))dlsym(inner, "Agent_OnLoad");
	return load ? load(&fake_vm, options ? options : none, reserved) : JNI_ERR;
}

JNIEXPORT void JNICALL Agent_OnUnload(JavaVM *vm)
{
	void (JNICALL *unload)(JavaVM *) = inner ? (void (JNICALL *)(JavaVM *))dlsym(inner, "Agent_OnUnload") : NULL;
	const char *to = getenv("CBCOUNT_OUT");
	FILE *f = to ? fopen(to, "w") : NULL;
	uint64_t clocks = n_calls * clock_ns;

	if (f) {
		fprintf(f, "callbacks %llu ns %llu\n", (unsigned long long)n_calls,
			(unsigned long long)(total_ns > clocks ? total_ns - clocks : 0));
		fclose(f);
	}
	if (unload)
		unload(&fake_vm);
}
