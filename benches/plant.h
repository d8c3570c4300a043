/* Work whose cost is planted, and the clock around it: of plant.c and planted-filter.c.
 *
 * A turn is a multiplication that waits for the one before: nothing can be done beside it, and a neighbour on the same
 * physical core hardly slows it down.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { TRIALS = 200, TRIAL = 20000, KEPT = 1 << 18 };

static volatile uint64_t sink = 1;
static double took_ns[KEPT]; /* the latest; those before are overwritten */
static long requests;

static void work(long turns) {
  uint64_t x = sink;
  for (long i = 0; i < turns; i++) {
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

/* The work of one request. */
static void timed_work(long turns) {
  double before = now_ns();
  work(turns);
  took_ns[requests++ % KEPT] = now_ns() - before;
}

static double ns_of_turn(void) {
  double quickest = 1e18;
  for (int i = 0; i < TRIALS; i++) {
    double before = now_ns();
    work(TRIAL);
    double took = now_ns() - before;
    quickest = took < quickest ? took : quickest;
  }
  return quickest / TRIAL;
}

/* What reading the clock twice takes, with nothing in between. */
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

/* The median of the times that are kept, which it sorts; 0 of none. */
static double median_ns(void) {
  long kept = requests < KEPT ? requests : KEPT;
  qsort(took_ns, (size_t)kept, sizeof *took_ns, order);
  return kept ? took_ns[kept / 2] : 0;
}
