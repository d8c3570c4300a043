/* A server whose cost is planted: a reply of 1 KB to whatever is asked, and TURNS of work before it.
 *
 * Measured side of benches/calibrate, a process of its own, in another language than bakeoff. One thread, epoll,
 * HTTP/1.1 over connections that stay. The clock of the machine is read around the work of each request. At its end
 * (SIGTERM) the server prints the requests, and their number times the median of these times. That is the truth: it has
 * the processor's frequency of the moment in it, and neither interrupts nor what a host takes away.
 *
 *     plant PORT TURNS
 */
#define _GNU_SOURCE
#include "plant.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY = 1024, EVENTS = 256 };

static volatile sig_atomic_t ended;

static void end(int signal) {
  (void)signal;
  ended = 1;
}

static int tell(double reading) {
  double median = median_ns() - reading;
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
        timed_work(turns);
        if (write(fd, reply, (size_t)head + BODY) < 0) {
          close(fd);
          break;
        }
      }
    }
  }
  return tell(reading);
}
