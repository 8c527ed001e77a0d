/* UTF-16 and paths. */
#include "server.h"

#include <string.h>

/* Appends a character as UTF-8. */
static bool append(char *name, size_t room, size_t *at, uint32_t c) {
  uint8_t bytes[4];
  size_t count;
  if (c < 0x80) {
    bytes[0] = (uint8_t)c, count = 1;
  } else if (c < 0x800) {
    bytes[0] = (uint8_t)(0xC0 | c >> 6), count = 2;
  } else if (c < 0x10000) {
    bytes[0] = (uint8_t)(0xE0 | c >> 12), count = 3;
  } else {
    bytes[0] = (uint8_t)(0xF0 | c >> 18), count = 4;
  }
  for (size_t i = 1; i < count; i++) bytes[i] = (uint8_t)(0x80 | (c >> (6 * (count - 1 - i)) & 0x3F));
  if (room - *at <= count) return false;
  memcpy(name + *at, bytes, count);
  *at += count;
  return true;
}

/* UTF-16 becomes UTF-8 with an end. False if it is none, has a character 0, or does not fit. */
bool name_from_wire(const uint8_t *utf16, size_t length, char *name, size_t room) {
  size_t at = 0;
  if (room == 0 || length % 2 != 0) return false;
  for (size_t i = 0; i < length; i += 2) {
    uint32_t c = get16(utf16 + i);
    if (c >= 0xD800 && c < 0xE000) {
      if (c >= 0xDC00 || length - i < 4) return false;
      uint32_t low = get16(utf16 + (i += 2));
      if (low < 0xDC00 || low >= 0xE000) return false;
      c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
    }
    if (c == 0 || !append(name, room, &at, c)) return false;
  }
  name[at] = 0;
  return true;
}

/* UTF-8 becomes UTF-16. Returns its bytes; 0 if it is no UTF-8 or does not fit. */
size_t name_to_wire(const char *name, uint8_t *utf16, size_t room) {
  const uint8_t *from = (const uint8_t *)name;
  size_t at = 0;
  while (*from) {
    size_t count = *from < 0x80 ? 1 : *from >= 0xF0 ? 4 : *from >= 0xE0 ? 3 : *from >= 0xC0 ? 2 : 0;
    uint32_t c = count == 1 ? *from : count == 2 ? *from & 0x1F : count == 3 ? *from & 0x0F : *from & 0x07;
    if (count == 0) return 0;
    for (size_t i = 1; i < count; i++) {
      if ((from[i] & 0xC0) != 0x80) return 0;
      c = c << 6 | (from[i] & 0x3F);
    }
    from += count;
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
    if (room - at < (c < 0x10000 ? 2 : 4)) return 0;
    if (c < 0x10000) {
      put16(utf16 + at, (uint16_t)c), at += 2;
    } else {
      put16(utf16 + at, (uint16_t)(0xD800 + ((c - 0x10000) >> 10)));
      put16(utf16 + at + 2, (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF))), at += 4;
    }
  }
  return at;
}

/* A name as clients have it becomes a path from the root. False if it has parts that no file has (2.2.13). */
bool path_from_name(const char *name, char *path, size_t room) {
  size_t length = strlen(name);
  if (length == 0) {
    name = ".";
    length = 1;
  } else if (strchr(name, '/') || name[0] == '\\') {
    return false;
  }
  if (length >= room) return false;
  memcpy(path, name, length + 1);
  for (char *at = path; *at; at++) {
    if (*at == '\\') *at = '/';
  }
  /* That nothing leads out of the folder is for the system to see to: files.c. */
  return true;
}
