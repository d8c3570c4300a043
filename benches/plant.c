/* A server whose cost is planted: a reply of 1 KB to whatever is asked, and TURNS of work before it.
 *
 * Measured side of benches/calibrate, a process of its own, in another language than bakeoff. One thread, epoll,
 * HTTP/1.1 over connections that stay. A turn is a multiplication that waits for the one before: nothing can be done
 * beside it, and a neighbour on the same physical core hardly slows it down. The clock of the machine is read around
 * the work of each request. At its end (SIGTERM) the server prints the requests, and their number times the median
 * of these times. That is the truth: it has the processor's frequency of the moment in it, and neither interrupts nor
 * what a host takes away.
 *
 *     plant PORT TURNS
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BODY = 1024, EVENTS = 256, TRIALS = 200, TRIAL = 20000, KEPT = 1 << 18 };

static volatile uint64_t sink = 1;

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

static double took_ns[KEPT]; /* the latest; those before are overwritten */
static long requests;
static volatile sig_atomic_t ended;

static void end(int signal) {
  (void)signal;
  ended = 1;
}

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
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

static int tell(double reading) {
  long kept = requests < KEPT ? requests : KEPT;
  qsort(took_ns, (size_t)kept, sizeof *took_ns, order);
  double median = kept ? took_ns[kept / 2] - reading : 0;
  fprintf(stderr, "requests: %ld\nburned: %.0f ns\n", requests, median > 0 ? median * (double)requests : 0);
  return 0;
}

/* Requests have no bodies: each ends with an empty line. */
static int requests_in(const char *text, ssize_t length) {
  int found = 0;
  for (ssize_t i = 0; i + 3 < length; i++) found += memcmp(text + i, "\r\n\r\n", 4) == 0;
  return found;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "plant PORT TURNS\n"), 2;
  long turns = atol(argv[2]);
  fprintf(stderr, "turn: %.5f ns\n", ns_of_turn());
  static char reply[BODY + 128];
  int head = sprintf(reply, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY);
  memset(reply + head, 'x', BODY);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 512)) return perror("plant"), 1;
  int queue = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
  epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event);
  double reading = reading_ns();
  signal(SIGTERM, end);
  while (!ended) {
    int ready = epoll_wait(queue, events, EVENTS, -1);
    for (int i = 0; i < ready; i++) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (client < 0) continue;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        event = (struct epoll_event){.events = EPOLLIN, .data.fd = client};
        epoll_ctl(queue, EPOLL_CTL_ADD, client, &event);
        continue;
      }
      char text[4096];
      ssize_t length = read(fd, text, sizeof text);
      if (length <= 0) {
        close(fd);
        continue;
      }
      for (int left = requests_in(text, length); left > 0; left--) {
        double before = now_ns();
        work(turns);
        took_ns[requests++ % KEPT] = now_ns() - before;
        if (write(fd, reply, (size_t)head + BODY) < 0) {
          close(fd);
          break;
        }
      }
    }
  }
  return tell(reading);
}
