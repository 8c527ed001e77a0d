/* QUERY_INFO and QUERY_DIRECTORY. Structures are those of MS-FSCC. */
#include "server.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static uint64_t time_of(struct timespec time) {
  return ((uint64_t)time.tv_sec + 11644473600) * 10000000 + (uint64_t)time.tv_nsec / 100;
}

/* CreationTime, LastAccessTime, LastWriteTime, ChangeTime. */
void put_times(uint8_t *to, const struct stat *about) {
  uint64_t written = time_of(about->st_mtim), changed = time_of(about->st_ctim);
  put64(to, written < changed ? written : changed);
  put64(to + 8, time_of(about->st_atim));
  put64(to + 16, written);
  put64(to + 24, changed);
}

/* READONLY, and DIRECTORY. */
uint32_t attributes(const struct stat *about) { return S_ISDIR(about->st_mode) ? 0x11 : 0x01; }

static uint64_t size_of(const struct stat *about) { return S_ISDIR(about->st_mode) ? 0 : (uint64_t)about->st_size; }

static uint64_t allocation_of(const struct stat *about) { return (uint64_t)about->st_blocks * 512; }

/* --- one file ------------------------------------------------------------------------------------------------------- */

static void put_basic(uint8_t *to, const struct stat *about) {
  put_times(to, about);
  put32(to + 32, attributes(about));
}

static void put_standard(uint8_t *to, const struct stat *about) {
  put64(to, allocation_of(about));
  put64(to + 8, size_of(about));
  put32(to + 16, (uint32_t)about->st_nlink);
  to[21] = S_ISDIR(about->st_mode);
}

/* Returns the bytes of a class; 0 if it is not supported. There is room for 256 and a name. */
static size_t file_information(uint8_t class, uint8_t *to, const struct open *open, const struct stat *about) {
  switch (class) {
    case 4: put_basic(to, about); return 40;
    case 5: put_standard(to, about); return 24;
    case 6: put64(to, about->st_ino); return 8;
    case 7: return 4; /* no extended attributes */
    case 8: put32(to, 0x001200A9); return 4;
    case 14: return 8;
    case 16: return 4;
    case 17: return 4;
    case 18: { /* FileAllInformation */
      put_basic(to, about);
      put_standard(to + 40, about);
      put64(to + 64, about->st_ino);
      put32(to + 76, 0x001200A9);
      size_t length = name_to_wire(open->name, to + 100, 2 * NAME_LENGTH_MAX);
      put32(to + 96, (uint32_t)length);
      return 100 + (length ? length : 4); /* The root has no name, and clients of Linux want one byte. */
    }
    case 34:
      put_times(to, about);
      put64(to + 32, allocation_of(about));
      put64(to + 40, size_of(about));
      put32(to + 48, attributes(about));
      return 56;
    case 35: put32(to, attributes(about)); return 8;
    default: return 0;
  }
}

/* The same of the file system. */
static size_t system_information(uint8_t class, uint8_t *to, const struct connection *connection, const struct statvfs *about) {
  switch (class) {
    case 1: { /* FileFsVolumeInformation */
      size_t length = name_to_wire(connection->server->share, to + 18, 2 * NAME_LENGTH_MAX);
      put32(to + 8, (uint32_t)about->f_fsid);
      put32(to + 12, (uint32_t)length);
      return 18 + length;
    }
    case 3:
    case 7: { /* FileFsSizeInformation, FileFsFullSizeInformation */
      size_t at = class == 7 ? 24 : 16;
      put64(to, about->f_blocks);
      put64(to + 8, about->f_bavail);
      if (class == 7) put64(to + 16, about->f_bfree);
      put32(to + at, 1);
      put32(to + at + 4, (uint32_t)about->f_frsize);
      return at + 8;
    }
    case 4: /* a disk, READ_ONLY, MOUNTED */
      put32(to, 7);
      put32(to + 4, 0x22);
      return 8;
    case 5: { /* CASE_SENSITIVE_SEARCH, CASE_PRESERVED_NAMES, UNICODE_ON_DISK, READ_ONLY_VOLUME */
      size_t length = name_to_wire("smbd", to + 12, 64);
      put32(to, 0x00080007);
      put32(to + 4, 255);
      put32(to + 8, (uint32_t)length);
      return 12 + length;
    }
    case 11: /* FileFsSectorSizeInformation */
      for (size_t i = 0; i < 4; i++) put32(to + 4 * i, 512);
      return 28;
    default: return 0;
  }
}

/* What is longer than the client wants is cut, and it is told (3.3.5.20.1). */
static uint32_t put_output(struct request *request, const uint8_t *output, size_t length, size_t wanted) {
  size_t room = room_for_data(request) - 8;
  if (wanted < room) room = wanted;
  bool is_cut = length > room;
  if (is_cut) length = room;
  put16(request->answer, 9);
  put16(request->answer + 2, HEADER_LENGTH + 8);
  put32(request->answer + 4, (uint32_t)length);
  if (output) memcpy(request->answer + 8, output, length);
  request->answer_length = 8 + length;
  return is_cut ? (uint32_t)STATUS_BUFFER_OVERFLOW : (uint32_t)STATUS_SUCCESS;
}

uint32_t query_info(struct request *request) {
  const uint8_t *fixed = body(request, 40);
  if (!fixed || get16(fixed) != 41) return (uint32_t)STATUS_INVALID_PARAMETER;
  struct open *open = find_open(request->connection, file_id(request, 24));
  if (!open) return (uint32_t)STATUS_FILE_CLOSED;
  uint8_t output[256 + 2 * NAME_LENGTH_MAX] = {0};
  struct stat about;
  struct statvfs system;
  size_t length = 0;
  if (fixed[2] == 1 && fstat(open->fd, &about) == 0) {
    length = file_information(fixed[3], output, open, &about);
  } else if (fixed[2] == 2 && fstatvfs(open->fd, &system) == 0) {
    length = system_information(fixed[3], output, request->connection, &system);
  }
  if (length == 0) return (uint32_t)STATUS_NOT_SUPPORTED;
  return put_output(request, output, length, get32(fixed + 4));
}

/* --- what is in a folder ---------------------------------------------------------------------------------------------- */

/* Where the name is in an entry of a class; 0 if it is not supported. */
static size_t name_at(uint8_t class) {
  switch (class) {
    case 1: return 64; /* FileDirectoryInformation */
    case 2: return 68; /* FileFullDirectoryInformation */
    case 3: return 94; /* FileBothDirectoryInformation */
    case 37: return 104; /* FileIdBothDirectoryInformation */
    case 38: return 80; /* FileIdFullDirectoryInformation */
    default: return 0;
  }
}

/* Writes an entry. Returns its bytes; 0 if it does not fit. */
static size_t put_entry(uint8_t class, uint8_t *to, size_t room, const char *name, const struct stat *about) {
  size_t at = name_at(class);
  if (room < at) return 0;
  size_t length = name_to_wire(name, to + at, room - at);
  if (length == 0) return 0;
  memset(to, 0, at);
  put_times(to + 8, about);
  put64(to + 40, size_of(about));
  put64(to + 48, allocation_of(about));
  put32(to + 56, attributes(about));
  put32(to + 60, (uint32_t)length);
  if (class == 37) put64(to + 96, about->st_ino);
  if (class == 38) put64(to + 72, about->st_ino);
  return at + length;
}

/* Whether clients are shown it: files and folders whose names they can say. */
static bool is_shown(const struct open *open, const char *name, const char *pattern, struct stat *about) {
  uint8_t wire[2 * NAME_LENGTH_MAX];
  bool is_itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
  if (strcmp(pattern, "*") != 0 && fnmatch(pattern, name, FNM_NOESCAPE) != 0) return false;
  /* What is above the folder is nobody's business. */
  if (fstatat(open->fd, is_itself ? "." : name, about, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return (S_ISREG(about->st_mode) || S_ISDIR(about->st_mode)) && !strchr(name, '\\') && name_to_wire(name, wire, sizeof wire) > 0;
}

uint32_t query_directory(struct request *request) {
  const uint8_t *fixed = body(request, 32);
  char pattern[NAME_LENGTH_MAX];
  if (!fixed || get16(fixed) != 33) return (uint32_t)STATUS_INVALID_PARAMETER;
  struct open *open = find_open(request->connection, file_id(request, 8));
  if (!open) return (uint32_t)STATUS_FILE_CLOSED;
  size_t length = get16(fixed + 26), wanted = get32(fixed + 28);
  const uint8_t *wire = part(request, get16(fixed + 24), length);
  if (!open->folder || !wire || !name_from_wire(wire, length, pattern, sizeof pattern)) return (uint32_t)STATUS_INVALID_PARAMETER;
  uint8_t class = fixed[2], flags = fixed[3];
  if (!name_at(class)) return (uint32_t)STATUS_NOT_SUPPORTED;
  bool begins = flags & 0x11; /* RESTART_SCANS, REOPEN */
  if (begins) rewinddir(open->folder), open->is_at_end = false;
  if (open->is_at_end) return (uint32_t)STATUS_NO_MORE_FILES;

  size_t room = room_for_data(request) - 8, at = 0, end = 0, last = 0;
  if (wanted < room) room = wanted;
  uint8_t *output = request->answer + 8;
  bool is_full = false;
  while (!is_full) {
    long here = telldir(open->folder);
    struct dirent *entry = readdir(open->folder);
    struct stat about;
    if (!entry) {
      open->is_at_end = true;
      break;
    }
    if (!is_shown(open, entry->d_name, pattern, &about)) continue;
    size_t written = at < room ? put_entry(class, output + at, room - at, entry->d_name, &about) : 0;
    if (written == 0) {
      seekdir(open->folder, here);
      if (end == 0) return (uint32_t)STATUS_INFO_LENGTH_MISMATCH;
      break;
    }
    memset(output + end, 0, at - end);
    if (end) put32(output + last, (uint32_t)(at - last));
    last = at;
    end = at + written;
    at = (end + 7) & ~(size_t)7;
    is_full = flags & 2; /* RETURN_SINGLE_ENTRY */
  }
  if (end == 0) return strcmp(pattern, "*") == 0 ? (uint32_t)STATUS_NO_MORE_FILES : (uint32_t)STATUS_NO_SUCH_FILE;
  return put_output(request, NULL, end, room);
}
