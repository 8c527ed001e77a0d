/* One message: its commands, their answers, credits. */
#include "server.h"

#include <string.h>

static uint32_t echo(struct request *request) {
  put16(request->answer, 4);
  request->answer_length = 4;
  return STATUS_SUCCESS;
}

static uint32_t not_supported(struct request *request) {
  (void)request;
  return (uint32_t)STATUS_NOT_SUPPORTED;
}

static uint32_t write_protected(struct request *request) {
  (void)request;
  return (uint32_t)STATUS_MEDIA_WRITE_PROTECTED;
}

/* What it needs: a session, and a tree connect too. */
enum needs { NOTHING, SESSION, TREE };

static const struct {
  uint32_t (*handle)(struct request *);
  enum needs needs;
} commands[COMMANDS] = {
    [NEGOTIATE] = {negotiate, NOTHING},
    [SESSION_SETUP] = {session_setup, NOTHING},
    [LOGOFF] = {logoff, SESSION},
    [TREE_CONNECT] = {tree_connect, SESSION},
    [TREE_DISCONNECT] = {tree_disconnect, TREE},
    [CREATE] = {create, TREE},
    [CLOSE] = {close_file, TREE},
    [FLUSH] = {echo, TREE},
    [READ] = {read_file, TREE},
    [WRITE] = {write_protected, TREE},
    [LOCK] = {not_supported, TREE},
    [IOCTL] = {not_supported, SESSION},
    [ECHO] = {echo, NOTHING},
    [QUERY_DIRECTORY] = {query_directory, TREE},
    [CHANGE_NOTIFY] = {not_supported, TREE},
    [QUERY_INFO] = {query_info, TREE},
    [SET_INFO] = {write_protected, TREE},
    [OPLOCK_BREAK] = {not_supported, TREE},
};

/* Grants what the client asks for, up to CREDITS_MAX in all and at least as many as it needs to go on (3.3.1.2). */
static uint16_t grant(struct connection *connection, const uint8_t *request) {
  uint32_t charge = get16(request + 6) ? get16(request + 6) : 1, wanted = get16(request + 14);
  connection->credits -= charge < connection->credits ? charge : connection->credits;
  uint32_t room = CREDITS_MAX - connection->credits, granted = wanted < room ? wanted : room;
  if (connection->credits + granted == 0) granted = 1;
  connection->credits += granted;
  return (uint16_t)granted;
}

/* The header of an answer (2.2.1.2). */
void write_header(struct connection *connection, uint8_t *header, const uint8_t *request, uint32_t status) {
  uint16_t granted = grant(connection, request);
  memset(header, 0, HEADER_LENGTH);
  memcpy(header, "\xFESMB", 4);
  put16(header + 4, HEADER_LENGTH);
  put16(header + 6, get16(request + 6));
  put32(header + 8, status);
  put16(header + 12, get16(request + 12));
  put16(header + 14, granted);
  put32(header + 16, FLAG_RESPONSE | (get32(request + 16) & FLAG_RELATED));
  memcpy(header + 24, request + 24, 24); /* MessageId, TreeId, SessionId */
  if (get16(request + 12) == TREE_CONNECT) put32(header + 36, 1);
}

static uint32_t dispatch(struct request *request, uint32_t failed) {
  struct connection *connection = request->connection;
  const uint8_t *header = request->message;
  uint16_t command = get16(header + 12);
  bool is_related = get32(header + 16) & FLAG_RELATED;
  if (command >= COMMANDS || !commands[command].handle) return (uint32_t)STATUS_INVALID_PARAMETER;
  if (command != NEGOTIATE && !connection->dialect) return (uint32_t)STATUS_INVALID_PARAMETER;
  /* 3.3.5.2.7.2: what is related to a failed CREATE fails like it. */
  if (is_related && failed) return failed;
  enum needs needs = commands[command].needs;
  if (needs >= SESSION && (!connection->is_known || (!is_related && get64(header + 40) != connection->session_id))) {
    return (uint32_t)STATUS_USER_SESSION_DELETED;
  }
  if (needs == TREE && (!connection->has_tree || (!is_related && get32(header + 36) != 1))) {
    return (uint32_t)STATUS_NETWORK_NAME_DELETED;
  }
  return commands[command].handle(request);
}

/* Handles one command. Returns the bytes of its answer; 0 if there is none, or not yet. */
static size_t handle(struct request *request, uint8_t *answer, size_t room, uint32_t *failed) {
  if (get16(request->message + 12) == CANCEL) return 0;
  request->answer = answer + HEADER_LENGTH;
  request->room = room - HEADER_LENGTH;
  /* What a handler writes without asking is less than that. */
  memset(request->answer, 0, 512);
  uint32_t status = dispatch(request, *failed);
  if (status == STATUS_LATER) return 0;
  if (request->answer_length == 0) { /* 2.2.2 */
    memset(request->answer, 0, 9);
    put16(request->answer, 9);
    request->answer_length = 9;
  }
  write_header(request->connection, answer, request->message, status);
  if (request->answer_session_id) put64(answer + 40, request->answer_session_id);
  bool is_failure = status >= 0xC0000000 && status != (uint32_t)STATUS_MORE_PROCESSING_REQUIRED;
  *failed = is_failure && get16(request->message + 12) == CREATE ? status : *failed;
  return HEADER_LENGTH + request->answer_length;
}

/* The least room that a command is handled with: a header and what a handler writes without asking. */
#define ROOM_MIN (HEADER_LENGTH + 1024)

/* Handles a message and puts its answer where it waits to be sent. False if it is none, or has more commands than can be answered. */
bool handle_message(struct connection *connection, const uint8_t *message, size_t length) {
  uint8_t *last = NULL;
  uint32_t failed = STATUS_SUCCESS;
  uint64_t related_id = 0;
  size_t at = 0;
  bool is_first = true;
  for (size_t next = 1; next != 0; at += next) {
    const uint8_t *header = message + at;
    if (length - at < HEADER_LENGTH || memcmp(header, "\xFESMB", 4) != 0 || get16(header + 4) != HEADER_LENGTH) return false;
    if (get32(header + 16) & FLAG_RESPONSE) return false;
    next = get32(header + 20);
    if (next != 0 && (next % 8 != 0 || next < HEADER_LENGTH || next > length - at)) return false;
    size_t start = (connection->answer_length + 7) & ~(size_t)7;
    if (connection->answer_max < start + ROOM_MIN) return false;
    memset(connection->answer + connection->answer_length, 0, start - connection->answer_length);
    struct request request = {
        .connection = connection,
        .message = header,
        .length = next ? next : length - at,
        .is_single = is_first && next == 0,
        .related_id = related_id,
    };
    size_t written = handle(&request, connection->answer + start, connection->answer_max - start, &failed);
    is_first = false;
    related_id = request.related_id;
    if (written == 0) continue;
    if (last) put32(last + 20, (uint32_t)(connection->answer + start - last));
    last = connection->answer + start;
    connection->answer_length = start + written;
  }
  return true;
}
