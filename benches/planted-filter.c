/* A filter whose cost is planted: TURNS of work before each body that a server sends by sendfile().
 *
 * Measured side of benches/planted-filter, loaded into nginx by LD_PRELOAD. The clock of the machine is read around the
 * work of each reply; a worker that ends writes the median of the latest of these times, less what reading takes, into
 * the file PLANTED: that is the truth.
 */
#define _GNU_SOURCE
#include "plant.h"
#include <dlfcn.h>
#include <stdio.h>
#include <sys/sendfile.h>

static ssize_t (*real)(int, int, off_t *, size_t);
static long turns;
static const char *path;

/* For whoever chooses the number of turns. */
double turn_ns(void) { return ns_of_turn(); }

/* nginx clears its environment later. */
__attribute__((constructor)) static void begin(void) {
  const char *typed = getenv("TURNS");
  turns = typed ? atol(typed) : 0;
  path = getenv("PLANTED");
  path = path ? realpath(path, NULL) : NULL;
  real = (ssize_t(*)(int, int, off_t *, size_t))dlsym(RTLD_NEXT, "sendfile64");
}

__attribute__((destructor)) static void end(void) {
  if (!path || requests < 1000) return; /* the master, and trials */
  FILE *file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%ld %.1f\n", requests, median_ns() - reading_ns());
  fclose(file);
}

ssize_t sendfile64(int out, int in, off_t *offset, size_t count) {
  timed_work(turns);
  return real(out, in, offset, count);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count) { return sendfile64(out, in, offset, count); }
