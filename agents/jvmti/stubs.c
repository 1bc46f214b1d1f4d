/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The VM's code that belongs to no method. Of most of it an event tells when it is made; not so of the quick ways of JNI to
 * fields (jni_fast_GetIntField), of the signature handlers of native methods and of the inline caches' buffer, which
 * GenerateEvents lists alone. So it is asked once the VM is up, and what the events had told is left out of its answer.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agents/jvmti/agent.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *told; /* addresses; there are some hundreds */
static size_t n_told, room_told;
static bool closed;    /* who asks has asked */

/* Code is put together there, and never run; when it is free, others get the room. */
static bool is_scratch(const char *name)
{
	return !strcmp(name, "adapters") || !strncmp(name, "Compile::", 9) || strstr(name, "emporary") || strstr(name, "Temp ");
}

/* Stays for ever, and has an event, which may come late and knows more of it. */
static bool is_lasting(const char *name)
{
	return !strncmp(name, "I2C/C2I adapters", 16) || strstr(name, "table stub");
}

/* Those that are known: what else is listed may be a buffer, of any name, in which a compiler is at work. */
static bool has_no_event(const char *name)
{
	return !strncmp(name, "jni_fast_", 9) || !strcmp(name, "native signature handlers") || !strcmp(name, "InlineCacheBuffer");
}

static bool is_told(uint64_t addr)
{
	for (size_t i = 0; i < n_told; i++)
		if (told[i] == addr)
			return true;
	return false;
}

static void note(uint64_t addr)
{
	if (n_told == room_told) {
		size_t room = room_told ? room_told * 2 : 1024;
		uint64_t *more = realloc(told, room * sizeof(*more));
		if (!more)
			return;
		told = more;
		room_told = room;
	}
	told[n_told++] = addr;
}

bool stubs_wanted(const char *name, uint64_t addr, bool again, bool attached)
{
	bool wanted = again && !attached ? has_no_event(name) : !is_scratch(name);

	pthread_mutex_lock(&lock);
	if (wanted && (again || is_lasting(name)))
		wanted = !is_told(addr);
	if (wanted && !closed)
		note(addr);
	pthread_mutex_unlock(&lock);
	return wanted;
}

void stubs_done(bool attached)
{
	pthread_mutex_lock(&lock);
	if (!attached) { /* else events of what was repeated may be on their way */
		free(told);
		told = NULL;
		n_told = room_told = 0;
	}
	closed = true;
	pthread_mutex_unlock(&lock);
}
