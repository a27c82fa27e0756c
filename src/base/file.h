/* SPDX-License-Identifier: Apache-2.0
 * file.h - files as mappings in, and as whole files or nothing out. Implemented in os_linux.c (what
 * differs between systems) and file.c. */
#ifndef BASE_FILE_H
#define BASE_FILE_H
#include "guard.h"

typedef struct Mapping { /* read-only view of a whole file */
    const uint8_t *p;
    size_t n;
} Mapping;
/* An empty file maps to n = 0. A git-lfs pointer, which stands where a file was not fetched, is an
 * error (file_is_here): it is never what was meant. */
bool file_map(const char *path, Mapping *, Err *);
bool file_is_here(const char *path, Mapping *, Err *); /* unmaps it if not */
void file_unmap(Mapping *);
/* Of a mapping: bytes that were read. They need not stay in memory, and are read again where they are looked at. */
void file_forget(const void *, size_t);
bool file_read(Arena *, const char *path, size_t limit, Str *out, Err *); /* terminated copy */
bool file_is(const char *path);   /* exists and is a regular file */
bool file_same(const char *, const char *); /* both exist and are one file: by links or by name */
/* Whether a file to be written is no file that is read ("-": stdin); NULL is neither. Asked before
 * anything is written. */
bool file_apart(const char *out, const char *in, Err *);
uint64_t file_size(const char *path); /* 0: not there */
bool file_empty(const char *path); /* a regular file without a byte */
bool dir_is(const char *path);
bool dir_make_parents(const char *path, Err *); /* of a file to be; no name behind /: none */
/* Of a file's path: bytes of the part that is a folder already. And the folders behind it, removed as far as they are
 * empty: what dir_make_parents made for a file that did not come. */
size_t dir_there(const char *path);
void dir_remove_empty(const char *path, size_t there);
const char *path_join(Arena *, const char *dir, Str name); /* absolute names win */
Str path_name(const char *path);  /* last component */
const char *path_dir(Arena *, const char *path); /* "." when there is none */
const char *path_real(Arena *, const char *path); /* absolute, no links; itself if not there */
bool path_stays_inside(Str relative); /* not absolute, no "..", no NUL */
const char *path_self(Arena *, Err *); /* this very executable */

/* A file that appears under its name only when complete. It stays where it was opened; if a guarded
 * call is abandoned, it is aborted. */
typedef struct FileWriter {
    GuardHold hold;
    int fd;
    uint64_t written;
    const char *path;       /* where it will be */
    const char *temporary;  /* its name until then; NULL: none yet */
    char *spare;            /* pattern for such a name */
    bool stream;            /* no regular file: written in place */
    bool copy;              /* not synced: complete or absent, but perhaps not yet on disk */
} FileWriter;
void writer_guard(FileWriter *); /* for those that open it */
bool writer_open(FileWriter *, Arena *, const char *path, int mode, Err *); /* mode: 0644, 0755; less the umask */
/* One that never gets a name: what was added is mapped instead of committed. */
bool writer_open_memory(FileWriter *, Err *);
bool writer_map(FileWriter *, Mapping *, Err *);
bool writer_add(FileWriter *, const void *, size_t, Err *);
bool writer_align(FileWriter *, size_t to, Err *);  /* zeros up to the next multiple */
bool writer_commit(FileWriter *, Err *);            /* sync, rename; on failure nothing is left */
void writer_abort(FileWriter *);                    /* nothing is left */
bool file_write(Arena *, const char *path, Str bytes, Err *); /* open, add, commit */
/* The same without a sync, for data that could be made again. */
bool file_write_copy(Arena *, const char *path, Str bytes, Err *);

#endif
