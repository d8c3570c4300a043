/* A filter whose cost is planted: TURNS of work before each body that a server sends by sendfile().
 *
 * Measured side of benches/planted-filter, loaded into nginx by LD_PRELOAD. A turn is a multiplication that waits for the
 * one before. The clock of the machine is read around the work of each reply; a worker that ends writes the median of
 * the latest of these times, less what reading takes, into the file PLANTED: that is the truth.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <time.h>

enum { KEPT = 1 << 17, TRIALS = 200, TRIAL = 20000 };

static volatile uint64_t sink = 1;
static ssize_t (*real)(int, int, off_t *, size_t);
static long turns, replies;
static const char *path;
static double took_ns[KEPT];

static void work(long count) {
  uint64_t x = sink;
  for (long i = 0; i < count; i++) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    __asm__ volatile("" : "+r"(x)); /* each turn is done, and in its order */
  }
  sink = x;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The quickest of many: for whoever chooses the number of turns. */
double ns_of_turn(void) {
  double quickest = 1e18;
  for (int i = 0; i < TRIALS; i++) {
    double before = now_ns();
    work(TRIAL);
    double took = now_ns() - before;
    quickest = took < quickest ? took : quickest;
  }
  return quickest / TRIAL;
}

static double reading_ns(void) {
  double least = 1e18;
  for (int i = 0; i < TRIALS; i++) {
    double before = now_ns(), took = now_ns() - before;
    least = took < least ? took : least;
  }
  return least;
}

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* nginx clears its environment later. */
__attribute__((constructor)) static void begin(void) {
  const char *typed = getenv("TURNS");
  turns = typed ? atol(typed) : 0;
  path = getenv("PLANTED");
  path = path ? realpath(path, NULL) : NULL;
  real = (ssize_t(*)(int, int, off_t *, size_t))dlsym(RTLD_NEXT, "sendfile64");
}

__attribute__((destructor)) static void end(void) {
  long kept = replies < KEPT ? replies : KEPT;
  if (!path || kept < 1000) return; /* the master, and trials */
  qsort(took_ns, (size_t)kept, sizeof *took_ns, order);
  FILE *file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%ld %.1f\n", replies, took_ns[kept / 2] - reading_ns());
  fclose(file);
}

ssize_t sendfile64(int out, int in, off_t *offset, size_t count) {
  double before = now_ns();
  work(turns);
  took_ns[replies++ % KEPT] = now_ns() - before;
  return real(out, in, offset, count);
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count) { return sendfile64(out, in, offset, count); }
