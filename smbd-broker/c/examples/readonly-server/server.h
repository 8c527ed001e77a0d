/* A read-only server of SMB2 over smbd-broker: what its parts know of each other.
 *
 *   main.c        arguments, brokers, connections, one loop over all of them
 *   message.c     one message: its commands, their answers, credits
 *   session.c     NEGOTIATE, SESSION_SETUP, TREE_CONNECT: everybody is a guest, and there is one share
 *   files.c       CREATE, CLOSE and READ, with data in messages and by RDMA
 *   query.c       QUERY_INFO and QUERY_DIRECTORY
 *   names.c       UTF-16 and paths
 *
 * Section numbers are those of MS-SMB2. Numbers on the wire are little endian and not aligned.
 */
#ifndef SERVER_H
#define SERVER_H

#define _GNU_SOURCE

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <smbd-broker.h>

#define CONNECTIONS_MAX 64
#define OPENS_MAX 128
#define READS_MAX 64
#define CREDITS_MAX 64
#define SLOTS_MAX 64

#define MESSAGE_MAX (128 * 1024)
#define READ_MAX (1024 * 1024)
#define TRANSACT_MAX (64 * 1024)
#define PATH_LENGTH_MAX 4096
#define NAME_LENGTH_MAX 1024

#define HEADER_LENGTH 64
#define DESCRIPTOR_LENGTH 16
#define DESCRIPTORS_LENGTH_MAX (4095 * DESCRIPTOR_LENGTH)

/* 2.2.1.2 */
enum command {
  NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT, CREATE, CLOSE, FLUSH, READ, WRITE, LOCK, IOCTL, CANCEL, ECHO,
  QUERY_DIRECTORY, CHANGE_NOTIFY, QUERY_INFO, SET_INFO, OPLOCK_BREAK, COMMANDS,
};

enum header_flags { FLAG_RESPONSE = 1, FLAG_RELATED = 4 };

/* MS-ERREF 2.3.1. The last one is none: the answer comes later. */
enum status {
  STATUS_SUCCESS = 0,
  STATUS_BUFFER_OVERFLOW = (int)0x80000005,
  STATUS_NO_MORE_FILES = (int)0x80000006,
  STATUS_INFO_LENGTH_MISMATCH = (int)0xC0000004,
  STATUS_INVALID_PARAMETER = (int)0xC000000D,
  STATUS_NO_SUCH_FILE = (int)0xC000000F,
  STATUS_END_OF_FILE = (int)0xC0000011,
  STATUS_MORE_PROCESSING_REQUIRED = (int)0xC0000016,
  STATUS_ACCESS_DENIED = (int)0xC0000022,
  STATUS_OBJECT_NAME_INVALID = (int)0xC0000033,
  STATUS_OBJECT_NAME_NOT_FOUND = (int)0xC0000034,
  STATUS_OBJECT_NAME_COLLISION = (int)0xC0000035,
  STATUS_OBJECT_PATH_NOT_FOUND = (int)0xC000003A,
  STATUS_INSUFFICIENT_RESOURCES = (int)0xC000009A,
  STATUS_MEDIA_WRITE_PROTECTED = (int)0xC00000A2,
  STATUS_FILE_IS_A_DIRECTORY = (int)0xC00000BA,
  STATUS_NOT_SUPPORTED = (int)0xC00000BB,
  STATUS_NETWORK_NAME_DELETED = (int)0xC00000C9,
  STATUS_BAD_NETWORK_NAME = (int)0xC00000CC,
  STATUS_NOT_A_DIRECTORY = (int)0xC0000103,
  STATUS_FILE_CLOSED = (int)0xC0000128,
  STATUS_IO_DEVICE_ERROR = (int)0xC0000185,
  STATUS_USER_SESSION_DELETED = (int)0xC0000203,
  STATUS_LATER = 1,
};

/* A file or folder that a client has open. */
struct open {
  uint64_t id; /* 0: the place is free */
  int fd;
  DIR *folder;
  bool is_at_end; /* of a folder that is listed */
  char name[NAME_LENGTH_MAX]; /* what is last in its path */
};

/* A READ whose data go by RDMA. Its answer comes when they are there. */
struct read {
  enum { READ_FREE, READ_WAITS, READ_MOVES, READ_ANSWERS } state;
  uint8_t header[HEADER_LENGTH];
  uint32_t status;
  uint64_t file_id;
  uint64_t offset;
  uint32_t length;
  uint32_t minimum;
  bool invalidates;
  uint32_t token;
  uint8_t *descriptors;
  size_t descriptors_length;
  uint64_t tag;
  struct iovec slots[SLOTS_MAX];
  int slots_count;
};

struct server {
  int broker;
  int root; /* the folder that is served */
  const char *share;
};

struct connection {
  const struct server *server;
  int fd;
  char peer[SMBD_BROKER_PEER_LENGTH];
  uint32_t read_max;
  uint32_t answer_max;
  uint16_t dialect; /* 0 until NEGOTIATE */
  uint64_t session_id;
  bool is_known; /* the client has logged in */
  bool has_tree;
  uint32_t credits;
  uint64_t next_id;
  uint64_t bytes_in_messages;
  uint64_t bytes_by_rdma;
  struct open opens[OPENS_MAX];
  struct read reads[READS_MAX];
  bool has_message; /* it has come, and waits for room for its answer */
  uint8_t *request;
  uint8_t *answer; /* waits to be sent if it has a length */
  size_t answer_length;
};

/* One command of a message, and its answer. */
struct request {
  struct connection *connection;
  const uint8_t *message; /* with the header, up to the next command */
  size_t length;
  bool is_single; /* the only command of its message */
  uint64_t related_id; /* the file of the command before, for all ones; 0 if there is none */
  uint8_t *answer; /* behind the header; cleared */
  size_t room;
  size_t answer_length;
  uint64_t answer_session_id;
};

/* message.c */
bool handle_message(struct connection *connection, const uint8_t *message, size_t length);
void write_header(struct connection *connection, uint8_t *header, const uint8_t *request, uint32_t status);

/* session.c */
uint32_t negotiate(struct request *request);
uint32_t session_setup(struct request *request);
uint32_t logoff(struct request *request);
uint32_t tree_connect(struct request *request);
uint32_t tree_disconnect(struct request *request);

/* files.c */
struct open *find_open(struct connection *connection, uint64_t id);
uint64_t file_id(const struct request *request, size_t at);
void close_all(struct connection *connection);
uint32_t create(struct request *request);
uint32_t close_file(struct request *request);
uint32_t read_file(struct request *request);
bool go_on_reading(struct connection *connection);
void read_is_done(struct connection *connection, const struct smbd_broker_event *event);

/* query.c */
uint32_t query_info(struct request *request);
uint32_t query_directory(struct request *request);
void put_times(uint8_t *to, const struct stat *about);
uint32_t attributes(const struct stat *about);

/* names.c */
bool name_from_wire(const uint8_t *utf16, size_t length, char *name, size_t room);
size_t name_to_wire(const char *name, uint8_t *utf16, size_t room);
bool path_from_name(const char *name, char *path, size_t room);

static inline uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t get32(const uint8_t *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static inline uint64_t get64(const uint8_t *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }

static inline void put16(uint8_t *at, uint16_t value) {
  at[0] = (uint8_t)value;
  at[1] = (uint8_t)(value >> 8);
}
static inline void put32(uint8_t *at, uint32_t value) {
  put16(at, (uint16_t)value);
  put16(at + 2, (uint16_t)(value >> 16));
}
static inline void put64(uint8_t *at, uint64_t value) {
  put32(at, (uint32_t)value);
  put32(at + 4, (uint32_t)(value >> 32));
}

/* The body of a request, if it has this many bytes. */
static inline const uint8_t *body(const struct request *request, size_t length) {
  return request->length >= HEADER_LENGTH + length ? request->message + HEADER_LENGTH : NULL;
}

/* A part of a request by its offset from the header; NULL if it is not inside. */
static inline const uint8_t *part(const struct request *request, size_t offset, size_t length) {
  if (offset < HEADER_LENGTH || offset > request->length || length > request->length - offset) return NULL;
  return request->message + offset;
}

/* Room for what can be long: what other commands of the message may need is kept. */
static inline size_t room_for_data(const struct request *request) { return request->is_single ? request->room : request->room / 2; }

#endif
