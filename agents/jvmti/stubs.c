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

void stubs_told(uint64_t addr)
{
	pthread_mutex_lock(&lock);
	if (!closed && n_told == room_told) {
		size_t room = room_told ? room_told * 2 : 1024;
		uint64_t *more = realloc(told, room * sizeof(*more));
		if (more) {
			told = more;
			room_told = room;
		}
	}
	if (!closed && n_told < room_told)
		told[n_told++] = addr;
	pthread_mutex_unlock(&lock);
}

void stubs_done(void)
{
	pthread_mutex_lock(&lock);
	free(told);
	told = NULL;
	n_told = room_told = 0;
	closed = true;
	pthread_mutex_unlock(&lock);
}

bool stubs_is_new(const char *name, uint64_t addr, bool attached)
{
	bool found = false;

	/* Their events may be on their way, and know which ones these are. */
	if (!attached && (!strncmp(name, "I2C/C2I adapters", 16) || strstr(name, "table stub")))
		return false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_told && !found; i++)
		found = told[i] == addr;
	pthread_mutex_unlock(&lock);
	return !found;
}

bool stubs_is_scratch(const char *name)
{
	return !strcmp(name, "adapters") || !strncmp(name, "Compile::", 9) || strstr(name, "emporary") || strstr(name, "Temp ");
}

bool stubs_is_changing(const char *name)
{
	return !strcmp(name, "native signature handlers") || !strcmp(name, "InlineCacheBuffer");
}
