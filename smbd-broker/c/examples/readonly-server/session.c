/* NEGOTIATE, SESSION_SETUP, TREE_CONNECT: everybody is a guest, and there is one share. */
#include "server.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

/* 3.3.5.4. Not 3.1.1: its clients want the answers of a session signed, for which a guest has no key. */
static const uint16_t dialects[] = {0x0302, 0x0300};

static bool offers(const uint8_t *offered, size_t count, uint16_t dialect) {
  for (size_t i = 0; i < count; i++) {
    if (get16(offered + 2 * i) == dialect) return true;
  }
  return false;
}

uint32_t negotiate(struct request *request) {
  struct connection *connection = request->connection;
  const uint8_t *fixed = body(request, 36);
  if (!fixed || get16(fixed) != 36 || connection->dialect) return (uint32_t)STATUS_INVALID_PARAMETER;
  size_t count = get16(fixed + 2);
  const uint8_t *offered = part(request, HEADER_LENGTH + 36, 2 * count);
  if (!offered) return (uint32_t)STATUS_INVALID_PARAMETER;
  for (size_t i = 0; !connection->dialect && i < sizeof dialects / sizeof *dialects; i++) {
    if (offers(offered, count, dialects[i])) connection->dialect = dialects[i];
  }
  if (!connection->dialect) return (uint32_t)STATUS_NOT_SUPPORTED;

  uint8_t *answer = request->answer; /* 2.2.4 */
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  put16(answer, 65);
  put16(answer + 2, 1); /* SIGNING_ENABLED */
  put16(answer + 4, connection->dialect);
  memcpy(answer + 8, "smbd-broker-c\0\0", 16);
  put32(answer + 24, 4); /* LARGE_MTU */
  put32(answer + 28, TRANSACT_MAX);
  put32(answer + 32, connection->read_max);
  put32(answer + 36, TRANSACT_MAX);
  put64(answer + 40, ((uint64_t)now.tv_sec + 11644473600) * 10000000);
  put16(answer + 56, HEADER_LENGTH + 64); /* No token: clients begin with NTLM as it is. */
  request->answer_length = 64;
  return STATUS_SUCCESS;
}

static const uint8_t signature[] = "NTLMSSP";
static const uint8_t ntlm_oid[] = {0x2B, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 10};

/* CHALLENGE_MESSAGE (MS-NLMP 2.2.1.2), with as little as clients take. Nobody's answer to it is looked at. */
static size_t challenge(uint8_t *to) {
  static const uint8_t target[] = {2, 0, 8, 0, 'S', 0, 'M', 0, 'B', 0, 'D', 0, 1, 0, 8, 0, 'S', 0, 'M', 0, 'B', 0, 'D', 0, 0, 0, 0, 0};
  const size_t fixed = 56, name = 8;
  memcpy(to, signature, 8);
  put32(to + 8, 2);
  put16(to + 12, name), put16(to + 14, name), put32(to + 16, fixed);
  /* UNICODE, REQUEST_TARGET, SIGN, NTLM, ALWAYS_SIGN, TARGET_TYPE_SERVER, EXTENDED_SESSIONSECURITY, TARGET_INFO, 128, 56 */
  put32(to + 20, 0xA08A8215);
  if (getrandom(to + 24, 8, GRND_NONBLOCK) != 8) memset(to + 24, 0x5A, 8);
  put16(to + 40, sizeof target), put16(to + 42, sizeof target), put32(to + 44, fixed + name);
  memcpy(to + fixed, target + 4, name);
  memcpy(to + fixed + name, target, sizeof target);
  return fixed + name + sizeof target;
}

/* The same in SPNEGO, for clients that begin with it (RFC 4178 4.2.2): accept-incomplete, NTLM, the token. */
static size_t wrapped_challenge(uint8_t *to) {
  const size_t before = 27, token = challenge(to + before);
  const uint8_t head[] = {
      0xA1, (uint8_t)(token + 25), 0x30, (uint8_t)(token + 23), 0xA0, 3, 10, 1, 1, 0xA1, 12, 6, sizeof ntlm_oid,
  };
  memcpy(to, head, sizeof head);
  memcpy(to + sizeof head, ntlm_oid, sizeof ntlm_oid);
  to[23] = 0xA2, to[24] = (uint8_t)(token + 2), to[25] = 4, to[26] = (uint8_t)token;
  return before + token;
}

/* NegTokenResp with accept-completed. */
static const uint8_t wrapped_success[] = {0xA1, 7, 0x30, 5, 0xA0, 3, 10, 1, 0};

static void put_token(struct request *request, const uint8_t *token, size_t length) {
  memcpy(request->answer + 8, token, length);
  put16(request->answer + 4, HEADER_LENGTH + 8);
  put16(request->answer + 6, (uint16_t)length);
  request->answer_length = 8 + length;
}

/* The second and last one has AUTHENTICATE_MESSAGE, whatever is in it. */
uint32_t session_setup(struct request *request) {
  struct connection *connection = request->connection;
  const uint8_t *fixed = body(request, 24);
  if (!fixed || get16(fixed) != 25 || !connection->dialect) return (uint32_t)STATUS_INVALID_PARAMETER;
  if (fixed[2] & 1) return (uint32_t)STATUS_NOT_SUPPORTED; /* SESSION_BINDING */
  size_t length = get16(fixed + 14);
  const uint8_t *token = part(request, get16(fixed + 12), length);
  const uint8_t *ntlm = token ? memmem(token, length, signature, sizeof signature) : NULL;
  if (!ntlm || length - (size_t)(ntlm - token) < 12) return (uint32_t)STATUS_INVALID_PARAMETER;
  bool is_wrapped = ntlm != token;
  uint32_t type = get32(ntlm + 8);
  put16(request->answer, 9);
  if (type == 1) { /* NEGOTIATE_MESSAGE */
    uint8_t answer[256] = {0};
    close_all(connection);
    connection->is_known = connection->has_tree = false;
    do {
      if (getrandom(&connection->session_id, 8, 0) != 8) return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    } while (connection->session_id == 0);
    request->answer_session_id = connection->session_id;
    put_token(request, answer, is_wrapped ? wrapped_challenge(answer) : challenge(answer));
    return (uint32_t)STATUS_MORE_PROCESSING_REQUIRED;
  }
  if (type != 3 || connection->is_known) return (uint32_t)STATUS_INVALID_PARAMETER;
  if (connection->session_id == 0 || get64(request->message + 40) != connection->session_id) {
    return (uint32_t)STATUS_USER_SESSION_DELETED;
  }
  connection->is_known = true;
  put16(request->answer + 2, 1); /* IS_GUEST */
  put_token(request, wrapped_success, is_wrapped ? sizeof wrapped_success : 0);
  return STATUS_SUCCESS;
}

uint32_t logoff(struct request *request) {
  struct connection *connection = request->connection;
  close_all(connection);
  connection->is_known = connection->has_tree = false;
  put16(request->answer, 4);
  request->answer_length = 4;
  return STATUS_SUCCESS;
}

uint32_t tree_connect(struct request *request) {
  const uint8_t *fixed = body(request, 8);
  char path[NAME_LENGTH_MAX];
  if (!fixed || get16(fixed) != 9) return (uint32_t)STATUS_INVALID_PARAMETER;
  size_t length = get16(fixed + 6);
  const uint8_t *name = part(request, get16(fixed + 4), length);
  if (!name || !name_from_wire(name, length, path, sizeof path)) return (uint32_t)STATUS_INVALID_PARAMETER;
  const char *last = strrchr(path, '\\');
  if (strcasecmp(last ? last + 1 : path, request->connection->server->share) != 0) return (uint32_t)STATUS_BAD_NETWORK_NAME;
  request->connection->has_tree = true;
  put16(request->answer, 16);
  put16(request->answer + 2, 1); /* a disk; ShareFlags and Capabilities 0 */
  put32(request->answer + 12, 0x001200A9); /* MaximalAccess: read and execute */
  request->answer_length = 16;
  return STATUS_SUCCESS;
}

uint32_t tree_disconnect(struct request *request) {
  close_all(request->connection);
  request->connection->has_tree = false;
  put16(request->answer, 4);
  request->answer_length = 4;
  return STATUS_SUCCESS;
}
