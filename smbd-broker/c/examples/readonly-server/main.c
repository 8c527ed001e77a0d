/* A server of SMB2 that shares a folder, read only, with everybody, over SMB Direct. Its only library is libsmbd-broker: it needs no RDMA.
 *
 *   smbd-broker run --listen 10.9.0.1:445 --socket /run/smbd-broker/socket
 *   readonly-server /run/smbd-broker/socket share /srv/data
 *   mount -t cifs //10.9.0.1/share /mnt -o rdma,vers=3.0.2,sec=none,ro
 */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int signal) {
  (void)signal;
  is_over = 1;
}

static int complain(const char *what) {
  fprintf(stderr, "readonly-server: %s: %s\n", what, smbd_broker_strerror());
  return 1;
}

static struct connection *new_connection(const struct server *server, int fd, const struct smbd_broker_newcomer *newcomer) {
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return NULL;
  connection->request = malloc(MESSAGE_MAX);
  connection->answer = malloc(MESSAGE_MAX);
  if (!connection->request || !connection->answer) {
    free(connection->request);
    free(connection->answer);
    free(connection);
    return NULL;
  }
  connection->server = server;
  connection->fd = fd;
  connection->credits = 1;
  connection->answer_max = newcomer->max_fragmented_send_size < MESSAGE_MAX ? newcomer->max_fragmented_send_size : MESSAGE_MAX;
  connection->read_max = newcomer->max_read_write_size < READ_MAX ? newcomer->max_read_write_size : READ_MAX;
  memcpy(connection->peer, newcomer->peer, sizeof connection->peer);
  return connection;
}

static void free_connection(struct connection *connection) {
  close_all(connection);
  for (size_t i = 0; i < READS_MAX; i++) {
    struct read *read = &connection->reads[i];
    /* Slots of a transfer come back by themselves. */
    if (read->slots_count && read->state != READ_MOVES) {
      smbd_broker_give_slots(connection->server->broker, read->slots, (size_t)read->slots_count);
    }
    free(read->descriptors);
  }
  smbd_broker_close(connection->fd);
  free(connection->request);
  free(connection->answer);
  free(connection);
}

/* Sends the answer that waits. False if it has to wait on. */
static bool send_answer(struct connection *connection) {
  struct iovec piece = {connection->answer, connection->answer_length};
  struct smbd_broker_msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  if (smbd_broker_sendmsg(connection->fd, &message) == -EAGAIN) return false;
  connection->answer_length = 0;
  return true;
}

/* Takes a message that has come. False if the client is not to be talked to any more. */
static bool take_message(struct connection *connection) {
  struct iovec piece = {connection->request, MESSAGE_MAX};
  struct smbd_broker_msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  ssize_t length = smbd_broker_recvmsg(connection->fd, &message, 0);
  connection->has_message = false;
  /* Somebody else has answered NEGOTIATE, or the message is longer than anything that can be asked for here. */
  if (length < 0 || message.age != SMBD_BROKER_NEW) return false;
  return handle_message(connection, connection->request, (size_t)length);
}

/* Does all that can be done for a connection. False if it is over. */
static bool turn(struct connection *connection) {
  for (;;) {
    struct smbd_broker_event event;
    int happened = smbd_broker_event(connection->fd, &event, 0);
    if (happened < 0) {
      printf("client gone peer=%s in_messages=%llu by_rdma=%llu why=%s\n", connection->peer,
             (unsigned long long)connection->bytes_in_messages, (unsigned long long)connection->bytes_by_rdma, smbd_broker_strerror());
      return false;
    }
    bool could = happened == 1;
    if (happened == 1 && event.kind == SMBD_BROKER_MESSAGE) connection->has_message = true;
    if (happened == 1 && event.kind == SMBD_BROKER_RDMA_DONE) read_is_done(connection, &event);
    if (connection->answer_length && send_answer(connection)) could = true;
    if (connection->has_message && connection->answer_length == 0) {
      if (!take_message(connection)) return false;
      could = true;
    }
    if (go_on_reading(connection)) could = true;
    if (!could) return true;
  }
}

static int serve(const struct server *server) {
  static struct connection *connections[CONNECTIONS_MAX];
  struct pollfd waits[CONNECTIONS_MAX + 1];
  while (!is_over) {
    nfds_t count = 0;
    waits[count++] = (struct pollfd){.fd = server->broker, .events = POLLIN};
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
      if (!connections[i]) continue;
      if (!turn(connections[i])) {
        free_connection(connections[i]);
        connections[i] = NULL;
        continue;
      }
      waits[count++] = (struct pollfd){.fd = connections[i]->fd, .events = (short)smbd_broker_poll_events(connections[i]->fd)};
    }
    /* Slots that one connection gives back another may wait for, so nobody sleeps for long. */
    if (poll(waits, count, 100) < 0 && errno != EINTR) return complain("poll");
    struct smbd_broker_newcomer newcomer;
    int fd;
    while ((fd = smbd_broker_accept(server->broker, &newcomer, 0)) >= 0) {
      size_t i = 0;
      while (i < CONNECTIONS_MAX && connections[i]) i++;
      struct connection *connection = i < CONNECTIONS_MAX ? new_connection(server, fd, &newcomer) : NULL;
      printf("client %s peer=%s\n", connection ? "come" : "refused", newcomer.peer);
      if (connection) {
        connections[i] = connection;
      } else {
        smbd_broker_close(fd);
      }
    }
    if (fd != -EAGAIN) return complain("the broker");
  }
  for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
    if (connections[i]) free_connection(connections[i]);
  }
  return 0;
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: readonly-server SOCKET SHARE FOLDER\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct server server = {.share = arguments[2]};
  server.root = open(arguments[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (server.root < 0) {
    perror(arguments[3]);
    return 1;
  }
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  server.broker = smbd_broker_connect(arguments[1], "readonly-server");
  if (server.broker < 0) return complain(arguments[1]);
  int listening = smbd_broker_listen(server.broker, 1);
  if (listening < 0) return complain("listening");
  printf("attached share=%s\n", server.share);
  int status = serve(&server);
  smbd_broker_close(server.broker);
  close(server.root);
  if (status == 0) printf("ended\n");
  return status;
}
