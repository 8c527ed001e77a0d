/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * libsmbd-broker: servers of SMB that let smbd-broker do their RDMA. The manual is libsmbd-broker(3).
 *
 * All calls return a negative errno when they fail; smbd_broker_strerror says why. Made by cbindgen.
 */

#ifndef SMBD_BROKER_H
#define SMBD_BROKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

// A message has come: `smbd_broker_recvmsg` takes it.
#define SMBD_BROKER_MESSAGE 1

// Messages were handed to the transport: there is room for others.
#define SMBD_BROKER_SENT 2

// A transfer has ended. Its slots are the caller's again.
#define SMBD_BROKER_RDMA_DONE 3

// The message is the client's, and nobody has answered it.
#define SMBD_BROKER_NEW 0

// The message is the client's, and somebody else has taken it: it belongs to the hash of the past, and is not answered.
#define SMBD_BROKER_PAST_REQUEST 1

// The message was sent to the client by somebody else.
#define SMBD_BROKER_PAST_RESPONSE 2

// Of a message that is sent: `remote_token` is invalidated when it arrives.
#define SMBD_BROKER_REMOTE_INVALIDATE 1

// The most characters of a client's address, with the end.
#define SMBD_BROKER_PEER_LENGTH 128

// How connections are configured that come from now on. Names are those of the kernel's `smbdirect_socket_parameters`.
struct smbd_broker_socket_parameters {
  // ReceiveCreditMax.
  uint16_t recv_credit_max;
  // SendCreditTarget.
  uint16_t send_credit_target;
  // MaxSendSize, in bytes.
  uint32_t max_send_size;
  // MaxReceiveSize, in bytes.
  uint32_t max_recv_size;
  // MaxFragmentedSize, in bytes: the longest message that is received.
  uint32_t max_fragmented_recv_size;
  // MaxReadWriteSize, in bytes.
  uint32_t max_read_write_size;
  // KeepaliveInterval, in milliseconds.
  uint32_t keepalive_interval_msec;
};

// A connection that has come.
struct smbd_broker_newcomer {
  // Its number, which no other connection of the broker has.
  uint64_t connection;
  // Why it came here: 1 its session, 2 its client, 3 no rule matched.
  uint32_t rule;
  // Not 0: NEGOTIATE was answered. Request and response come first, as messages of the past.
  uint32_t is_negotiated;
  // The longest message that can be sent, in bytes.
  uint32_t max_fragmented_send_size;
  // The longest transfer, in bytes.
  uint32_t max_read_write_size;
  // The address of the client.
  char peer[SMBD_BROKER_PEER_LENGTH];
};

// What has happened on a connection.
struct smbd_broker_event {
  // `SMBD_BROKER_MESSAGE`, `SMBD_BROKER_SENT` or `SMBD_BROKER_RDMA_DONE`.
  uint32_t kind;
  // Of a message: `SMBD_BROKER_NEW`, `SMBD_BROKER_PAST_REQUEST` or `SMBD_BROKER_PAST_RESPONSE`.
  uint32_t age;
  // Of a message: its bytes.
  uint32_t length;
  // Of a transfer: not 0 if all bytes were moved.
  uint32_t is_success;
  // Of a transfer: its tag.
  uint64_t tag;
};

// A message that is sent or received.
struct smbd_broker_msghdr {
  // Its memory, in pieces.
  struct iovec *msg_iov;
  // How many pieces.
  size_t msg_iovlen;
  // Of a message that is sent: `SMBD_BROKER_REMOTE_INVALIDATE` or 0.
  uint32_t msg_flags;
  // Of a message that is sent: the token that is invalidated when it arrives.
  uint32_t remote_token;
  // Of a message that was received: as in an event.
  uint32_t age;
  // Of a message that was received, or does not fit into `msg_iov`: its bytes.
  uint32_t length;
};

// What is moved by RDMA: slots, one behind the other, and the client's memory.
struct smbd_broker_rdma {
  // The slots: each from its beginning on, as `smbd_broker_take_slots` has given it, with as many bytes as are to be moved.
  const struct iovec *slots;
  // How many slots, 1 to 64.
  size_t slots_count;
  // Where in the client's memory the bytes begin.
  uint64_t offset;
  // Buffer descriptors as they are in a request of SMB2 (MS-SMBD 2.2.3.1), 16 bytes each.
  const void *descriptors;
  // Bytes of all descriptors.
  size_t descriptors_length;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Becomes an owner of the broker that listens at `path`, with a name for its log. Returns the file descriptor of the broker: readable means
// that there may be a connection.
int smbd_broker_connect(const char *path, const char *name);

// Closes a broker or a connection. A connection ends with that, when what was ordered is done. The slots of a broker go with it and with
// the last of its connections. No other function may close these file descriptors.
int smbd_broker_close(int fd);

// Takes connections that no rule matches; with `is_on` 0 no more.
int smbd_broker_listen(int broker, int is_on);

// How connections are configured that come from now on. Only for who listens.
int smbd_broker_set_parameters(int broker, const struct smbd_broker_socket_parameters *parameters);

// Takes connections that bind this session; with `is_held` 0 no more.
int smbd_broker_set_session_id(int broker, uint64_t session_id, int is_held);

// Takes connections of the client with these 16 bytes as ClientGuid; with `is_held` 0 no more.
int smbd_broker_set_client_guid(int broker, const uint8_t *client_guid, int is_held);

// The next connection, in `timeout` milliseconds; less than 0 waits for ever. Returns its file descriptor; readable means that there may be
// events. `-EAGAIN`: none has come. `newcomer` may be NULL.
int smbd_broker_accept(int broker, struct smbd_broker_newcomer *newcomer, int timeout);

// Gives a connection away: its file descriptor, which this call returns, is the program's from now on, to be sent to another process or
// closed. What has come and was not read is still in it. `-EBUSY`: something was read and not taken, or a transfer is under way.
int smbd_broker_detach(int connection, struct smbd_broker_newcomer *newcomer);

// Takes over a connection that another process or another owner has given away. Returns its new file descriptor. `socket` stays the
// program's, which closes it.
int smbd_broker_attach(int broker, int socket, const struct smbd_broker_newcomer *newcomer);

// Why the last call of this thread that returned an error has failed: a text for people, valid until the next one fails.
const char *smbd_broker_strerror(void);

// What has happened next, in `timeout` milliseconds; less than 0 waits for ever. Returns 1, or 0 if nothing has. The end of the connection is
// an error: `-ECONNRESET` when the broker says why, `-ENOTCONN` when the broker is gone or another owner has it.
int smbd_broker_event(int connection, struct smbd_broker_event *event, int timeout);

// Takes the next message, in `timeout` milliseconds; less than 0 waits for ever. Returns its bytes. `-EAGAIN`: none has come. `-EMSGSIZE`: it
// does not fit; it stays, and `length` says how long it is.
ssize_t smbd_broker_recvmsg(int connection, struct smbd_broker_msghdr *msg, int timeout);

// Sends a message, one for each call. Returns its bytes. `-EAGAIN`: as many wait as may wait; an event `SMBD_BROKER_SENT` makes room.
ssize_t smbd_broker_sendmsg(int connection, const struct smbd_broker_msghdr *msg);

// Gives the broker what waits to be sent, in `timeout` milliseconds; less than 0 waits for ever. Returns 1, or 0 if it does not take all of it in
// time.
int smbd_broker_flush(int connection, int timeout);

// What to wait for with `poll`, when there are no more events: `POLLIN`, or `POLLIN | POLLOUT`.
int smbd_broker_poll_events(int connection);

// Ends the connection when what was ordered is done, in `within` milliseconds at most. Its end is told as an error of `smbd_broker_event`.
int smbd_broker_disconnect(int connection, uint32_t within);

// Takes slots for `length` bytes, at most `slots_max`, and says in `slots` where they are and how many bytes of each are needed. Returns how
// many. `-EAGAIN`: all are in use.
int smbd_broker_take_slots(int broker, size_t length, struct iovec *slots, size_t slots_max);

// Gives slots back. `-EBUSY`: a transfer has one of them; then none is given back.
int smbd_broker_give_slots(int broker, const struct iovec *slots, size_t slots_count);

// Reads the client's memory into slots. They are not the caller's until the event `SMBD_BROKER_RDMA_DONE` with this `tag`. `-EAGAIN`: as many
// transfers are under way as may be.
int smbd_broker_rdma_read(int connection, const struct smbd_broker_rdma *transfer, uint64_t *tag);

// Writes slots to the client's memory; else as `smbd_broker_rdma_read`.
int smbd_broker_rdma_write(int connection, const struct smbd_broker_rdma *transfer, uint64_t *tag);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SMBD_BROKER_H */
