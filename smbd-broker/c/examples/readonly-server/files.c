/* CREATE, CLOSE and READ, with data in messages and by RDMA. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct open *find_open(struct connection *connection, uint64_t id) {
  for (size_t i = 0; id != 0 && i < OPENS_MAX; i++) {
    if (connection->opens[i].id == id) return &connection->opens[i];
  }
  return NULL;
}

/* The FileId at this place of a body. All ones: the file of the command before (3.3.5.2.7.2). */
uint64_t file_id(const struct request *request, size_t at) {
  const uint8_t *field = request->message + HEADER_LENGTH + at;
  if (get64(field) == UINT64_MAX && get64(field + 8) == UINT64_MAX) return request->related_id;
  return get64(field) == get64(field + 8) ? get64(field) : 0;
}

static void close_open(struct open *open) {
  if (open->folder) {
    closedir(open->folder);
  } else {
    close(open->fd);
  }
  memset(open, 0, sizeof *open);
}

void close_all(struct connection *connection) {
  for (size_t i = 0; i < OPENS_MAX; i++) {
    if (connection->opens[i].id) close_open(&connection->opens[i]);
  }
}

static uint32_t status_of(int number) {
  switch (number) {
    case ENOENT: return (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND;
    case ENOTDIR: return (uint32_t)STATUS_OBJECT_PATH_NOT_FOUND;
    case ENAMETOOLONG: return (uint32_t)STATUS_OBJECT_NAME_INVALID;
    case EMFILE: case ENFILE: case ENOMEM: return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    default: return (uint32_t)STATUS_ACCESS_DENIED;
  }
}

/* Opens a path below the root. The system lets nothing lead out of it, and links are not followed. */
static int open_below(int root, const char *path) {
  struct open_how how = {
      .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* What writes: FILE_WRITE_DATA, APPEND, WRITE_EA, DELETE_CHILD, WRITE_ATTRIBUTES, DELETE, WRITE_DAC, WRITE_OWNER, GENERIC_ALL, GENERIC_WRITE. */
#define ACCESS_WRITES 0x500D0156u
enum disposition { SUPERSEDE, OPEN, CREATE_NEW, OPEN_IF, OVERWRITE, OVERWRITE_IF };
enum options { DIRECTORY_FILE = 0x1, NON_DIRECTORY_FILE = 0x40, DELETE_ON_CLOSE = 0x1000 };

/* Whether a file may be opened as is wanted. */
static uint32_t check(const uint8_t *fixed, bool exists, const struct stat *about) {
  uint32_t access = get32(fixed + 24), disposition = get32(fixed + 36), options = get32(fixed + 40);
  if (disposition > OVERWRITE_IF) return (uint32_t)STATUS_INVALID_PARAMETER;
  if (!exists) return (uint32_t)STATUS_MEDIA_WRITE_PROTECTED;
  if (disposition == CREATE_NEW) return (uint32_t)STATUS_OBJECT_NAME_COLLISION;
  if (disposition != OPEN && disposition != OPEN_IF) return (uint32_t)STATUS_MEDIA_WRITE_PROTECTED;
  if ((access & ACCESS_WRITES) || (options & DELETE_ON_CLOSE)) return (uint32_t)STATUS_MEDIA_WRITE_PROTECTED;
  if (!S_ISREG(about->st_mode) && !S_ISDIR(about->st_mode)) return (uint32_t)STATUS_ACCESS_DENIED;
  if (S_ISDIR(about->st_mode) && (options & NON_DIRECTORY_FILE)) return (uint32_t)STATUS_FILE_IS_A_DIRECTORY;
  if (!S_ISDIR(about->st_mode) && (options & DIRECTORY_FILE)) return (uint32_t)STATUS_NOT_A_DIRECTORY;
  return STATUS_SUCCESS;
}

/* Keeps a file as open. Its descriptor is taken in any case. */
static struct open *keep(struct connection *connection, int fd, bool is_folder, const char *name) {
  for (size_t i = 0; i < OPENS_MAX; i++) {
    struct open *open = &connection->opens[i];
    if (open->id) continue;
    open->fd = fd;
    open->folder = is_folder ? fdopendir(fd) : NULL;
    if (is_folder && !open->folder) break;
    open->id = ++connection->next_id;
    open->is_at_end = false;
    const char *last = strrchr(name, '\\');
    last = last ? last + 1 : name;
    memcpy(open->name, last, strlen(last) + 1);
    return open;
  }
  close(fd);
  return NULL;
}

uint32_t create(struct request *request) {
  struct connection *connection = request->connection;
  const uint8_t *fixed = body(request, 56);
  char name[NAME_LENGTH_MAX], path[PATH_LENGTH_MAX];
  request->related_id = 0;
  if (!fixed || get16(fixed) != 57) return (uint32_t)STATUS_INVALID_PARAMETER;
  size_t length = get16(fixed + 46);
  const uint8_t *wire = length ? part(request, get16(fixed + 44), length) : fixed;
  if (!wire) return (uint32_t)STATUS_INVALID_PARAMETER;
  if (!name_from_wire(wire, length, name, sizeof name) || !path_from_name(name, path, sizeof path)) {
    return (uint32_t)STATUS_OBJECT_NAME_INVALID;
  }
  int fd = open_below(connection->server->root, path);
  uint32_t disposition = get32(fixed + 36);
  if (fd < 0 && (errno != ENOENT || disposition == OPEN || disposition == OVERWRITE)) return status_of(errno);
  struct stat about = {0};
  if (fd >= 0 && fstat(fd, &about) != 0) {
    close(fd);
    return (uint32_t)STATUS_IO_DEVICE_ERROR;
  }
  uint32_t status = check(fixed, fd >= 0, &about);
  if (status != STATUS_SUCCESS) {
    if (fd >= 0) close(fd);
    return status;
  }
  struct open *open = keep(connection, fd, S_ISDIR(about.st_mode), name);
  if (!open) return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;

  uint8_t *answer = request->answer; /* 2.2.14 */
  put16(answer, 89);
  put32(answer + 4, 1); /* FILE_OPENED */
  put_times(answer + 8, &about);
  put64(answer + 40, (uint64_t)about.st_blocks * 512);
  put64(answer + 48, S_ISDIR(about.st_mode) ? 0 : (uint64_t)about.st_size);
  put32(answer + 56, attributes(&about));
  put64(answer + 64, open->id);
  put64(answer + 72, open->id);
  request->related_id = open->id;
  request->answer_length = 88;
  return STATUS_SUCCESS;
}

uint32_t close_file(struct request *request) {
  const uint8_t *fixed = body(request, 24);
  if (!fixed || get16(fixed) != 24) return (uint32_t)STATUS_INVALID_PARAMETER;
  struct open *open = find_open(request->connection, file_id(request, 8));
  if (!open) return (uint32_t)STATUS_FILE_CLOSED;
  struct stat about;
  uint8_t *answer = request->answer; /* 2.2.16 */
  put16(answer, 60);
  if ((get16(fixed + 2) & 1) && fstat(open->fd, &about) == 0) { /* POSTQUERY_ATTRIB */
    put16(answer + 2, 1);
    put_times(answer + 8, &about);
    put64(answer + 40, (uint64_t)about.st_blocks * 512);
    put64(answer + 48, S_ISDIR(about.st_mode) ? 0 : (uint64_t)about.st_size);
    put32(answer + 56, attributes(&about));
  }
  request->answer_length = 60;
  close_open(open);
  return STATUS_SUCCESS;
}

/* --- READ --------------------------------------------------------------------------------------------------------- */

enum channel { CHANNEL_NONE, CHANNEL_RDMA_V1, CHANNEL_RDMA_V1_INVALIDATE };

/* Reads until there is no more, or all. Returns how much, or a negative errno. */
static ssize_t read_into(int fd, const struct iovec *pieces, int count, uint64_t offset) {
  size_t done = 0;
  for (int i = 0; i < count; i++) {
    for (size_t at = 0; at < pieces[i].iov_len;) {
      ssize_t now = pread(fd, (uint8_t *)pieces[i].iov_base + at, pieces[i].iov_len - at, (off_t)(offset + done));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) return -errno;
      if (now == 0) return (ssize_t)done;
      at += (size_t)now, done += (size_t)now;
    }
  }
  return (ssize_t)done;
}

static uint32_t status_of_read(ssize_t done, uint32_t minimum) {
  if (done < 0) return (uint32_t)STATUS_IO_DEVICE_ERROR;
  return done == 0 || (size_t)done < minimum ? (uint32_t)STATUS_END_OF_FILE : STATUS_SUCCESS;
}

/* Data in the message. */
static uint32_t read_in_message(struct request *request, const struct open *open, const uint8_t *fixed) {
  size_t room = room_for_data(request) - 16, length = get32(fixed + 4);
  struct iovec piece = {request->answer + 16, length < room ? length : room};
  ssize_t done = read_into(open->fd, &piece, 1, get64(fixed + 8));
  uint32_t status = length == 0 ? (uint32_t)STATUS_SUCCESS : status_of_read(done, get32(fixed + 32));
  if (status != STATUS_SUCCESS) return status;
  request->connection->bytes_in_messages += (uint64_t)done;
  put16(request->answer, 17); /* 2.2.20 */
  request->answer[2] = HEADER_LENGTH + 16;
  put32(request->answer + 4, (uint32_t)done);
  request->answer_length = 16 + (size_t)done;
  return STATUS_SUCCESS;
}

/* Data by RDMA (3.3.5.12): the answer comes when they are there. */
static uint32_t read_by_rdma(struct request *request, uint64_t id, const uint8_t *fixed) {
  struct connection *connection = request->connection;
  size_t length = get16(fixed + 46);
  const uint8_t *descriptors = part(request, get16(fixed + 44), length);
  if (!descriptors || length == 0 || length % DESCRIPTOR_LENGTH != 0 || length > DESCRIPTORS_LENGTH_MAX) {
    return (uint32_t)STATUS_INVALID_PARAMETER;
  }
  uint64_t open_to_us = 0;
  for (size_t at = 0; at < length; at += DESCRIPTOR_LENGTH) open_to_us += get32(descriptors + at + 12);
  if (open_to_us < get32(fixed + 4)) return (uint32_t)STATUS_INVALID_PARAMETER;
  for (size_t i = 0; i < READS_MAX; i++) {
    struct read *read = &connection->reads[i];
    if (read->state != READ_FREE) continue;
    read->descriptors = malloc(length);
    if (!read->descriptors) break;
    memcpy(read->descriptors, descriptors, length);
    read->descriptors_length = length;
    memcpy(read->header, request->message, HEADER_LENGTH);
    read->file_id = id;
    read->offset = get64(fixed + 8);
    read->length = get32(fixed + 4);
    read->minimum = get32(fixed + 32);
    read->invalidates = get32(fixed + 36) == CHANNEL_RDMA_V1_INVALIDATE;
    read->token = get32(descriptors + 8);
    read->state = READ_WAITS;
    return STATUS_LATER;
  }
  return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
}

uint32_t read_file(struct request *request) {
  const uint8_t *fixed = body(request, 48);
  if (!fixed || get16(fixed) != 49) return (uint32_t)STATUS_INVALID_PARAMETER;
  uint64_t id = file_id(request, 16);
  struct open *open = find_open(request->connection, id);
  if (!open) return (uint32_t)STATUS_FILE_CLOSED;
  if (open->folder) return (uint32_t)STATUS_FILE_IS_A_DIRECTORY;
  if (get32(fixed + 4) > request->connection->read_max || get64(fixed + 8) > INT64_MAX - READ_MAX) {
    return (uint32_t)STATUS_INVALID_PARAMETER;
  }
  if (get32(fixed + 36) == CHANNEL_NONE || get32(fixed + 4) == 0) return read_in_message(request, open, fixed);
  if (get32(fixed + 36) > CHANNEL_RDMA_V1_INVALIDATE) return (uint32_t)STATUS_INVALID_PARAMETER;
  /* Its answer would have to wait with those around it. No client does that. */
  if (!request->is_single) return (uint32_t)STATUS_NOT_SUPPORTED;
  return read_by_rdma(request, id, fixed);
}

static void give_slots(struct connection *connection, struct read *read) {
  smbd_broker_give_slots(connection->server->broker, read->slots, (size_t)read->slots_count);
  read->slots_count = 0;
}

static bool answers(struct connection *connection, struct read *read, uint32_t status) {
  if (read->slots_count) give_slots(connection, read);
  read->status = status;
  read->state = READ_ANSWERS;
  return true;
}

/* Reads the file into slots and starts the transfer. False if that has to wait: for slots, or for another transfer. */
static bool start(struct connection *connection, struct read *read) {
  struct open *open = find_open(connection, read->file_id);
  if (!open) return answers(connection, read, (uint32_t)STATUS_FILE_CLOSED);
  int count = smbd_broker_take_slots(connection->server->broker, read->length, read->slots, SLOTS_MAX);
  if (count == -EAGAIN) return false;
  if (count < 0) return answers(connection, read, (uint32_t)STATUS_INSUFFICIENT_RESOURCES);
  read->slots_count = count;
  ssize_t done = read_into(open->fd, read->slots, count, read->offset);
  uint32_t status = status_of_read(done, read->minimum);
  if (status != STATUS_SUCCESS) return answers(connection, read, status);

  /* Only what was read is moved: a slot that is not full ends the list. */
  struct iovec moved[SLOTS_MAX];
  size_t left = (size_t)done, used = 0;
  for (; left > 0; used++) {
    moved[used] = read->slots[used];
    if (moved[used].iov_len > left) moved[used].iov_len = left;
    left -= moved[used].iov_len;
  }
  struct smbd_broker_rdma transfer = {
      .slots = moved,
      .slots_count = used,
      .descriptors = read->descriptors,
      .descriptors_length = read->descriptors_length,
  };
  int started = smbd_broker_rdma_write(connection->fd, &transfer, &read->tag);
  if (started == -EAGAIN) {
    give_slots(connection, read);
    return false;
  }
  if (started < 0) return answers(connection, read, (uint32_t)STATUS_IO_DEVICE_ERROR);
  read->length = (uint32_t)done;
  read->state = READ_MOVES;
  return true;
}

void read_is_done(struct connection *connection, const struct smbd_broker_event *event) {
  for (size_t i = 0; i < READS_MAX; i++) {
    struct read *read = &connection->reads[i];
    if (read->state == READ_MOVES && read->tag == event->tag) {
      connection->bytes_by_rdma += event->is_success ? read->length : 0;
      answers(connection, read, event->is_success ? (uint32_t)STATUS_SUCCESS : (uint32_t)STATUS_IO_DEVICE_ERROR);
      return;
    }
  }
}

/* Sends the answer of a READ by RDMA. It ends the client's registration, if that was asked for. False if it has to wait. */
static bool send_answer(struct connection *connection, struct read *read) {
  uint8_t answer[HEADER_LENGTH + 16] = {0};
  uint32_t credits = connection->credits;
  write_header(connection, answer, read->header, read->status);
  bool is_success = read->status == STATUS_SUCCESS;
  put16(answer + HEADER_LENGTH, is_success ? 17 : 9);
  if (is_success) put32(answer + HEADER_LENGTH + 8, read->length); /* DataRemaining: what was written by RDMA */
  struct iovec piece = {answer, is_success ? sizeof answer : HEADER_LENGTH + 9};
  struct smbd_broker_msghdr message = {
      .msg_iov = &piece,
      .msg_iovlen = 1,
      .msg_flags = read->invalidates ? SMBD_BROKER_REMOTE_INVALIDATE : 0,
      .remote_token = read->token,
  };
  if (smbd_broker_sendmsg(connection->fd, &message) == -EAGAIN) {
    connection->credits = credits;
    return false;
  }
  /* Another error is the end of the connection, of which the next event tells. */
  free(read->descriptors);
  memset(read, 0, sizeof *read);
  return true;
}

/* Starts and answers the READs that can go on. Whether one could. */
bool go_on_reading(struct connection *connection) {
  bool could = false;
  for (size_t i = 0; i < READS_MAX; i++) {
    struct read *read = &connection->reads[i];
    if (read->state == READ_WAITS && !start(connection, read)) continue;
    if (read->state == READ_ANSWERS && send_answer(connection, read)) could = true;
  }
  return could;
}
