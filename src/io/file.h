// Files that appear whole or not at all, and the folders they live in.
//
// A FileWriter writes PATH.brim-tmp; file_commit syncs it, renames it to PATH and syncs the folder.
// The first failure is remembered: later writes do nothing, and file_commit or file_status tells.
#pragma once
#include "brim/brim.h"
#include <stdint.h>
#include <stdio.h>

#define FILE_TEMP_SUFFIX ".brim-tmp"

typedef struct FileWriter FileWriter;

/// Refuses a PATH that exists and is not a regular file (a folder, a device).
BrimResult file_create(const char *path, FileWriter **writer, BrimError *error);
void file_write(FileWriter *writer, const void *data, size_t bytes);
void file_print(FileWriter *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Bytes written so far.
uint64_t file_written(const FileWriter *writer);
/// BRIM_OK, or the first failure.
BrimResult file_status(const FileWriter *writer, BrimError *error);
/// Frees the writer whether it succeeds or not; on failure the temporary file is gone,
/// unless another process put its own there.
BrimResult file_commit(FileWriter **writer, BrimError *error);
/// Gives up: removes the temporary file. Accepts NULL and a writer that is NULL.
void file_abort(FileWriter **writer);

/// BRIM_ERROR_IO, for ENOMEM BRIM_ERROR_MEMORY, "cannot VERB 'PATH': reason: what to do" for an
/// errno.
BrimResult file_fail(BrimError *error, const char *verb, const char *path, int code);
/// All of `bytes`, through interrupts and partial writes; 0 or an errno.
int file_write_all(int descriptor, const void *data, size_t bytes);
/// Opens a regular file for reading and tells its size. *in is NULL on failure.
BrimResult file_open(const char *path, FILE **in, uint64_t *bytes, BrimError *error);

/// printf into new memory; NULL when out of memory. Release with free().
char *path_new(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Creates the folder and those above it.
BrimResult folder_make(const char *path, BrimError *error);
/// Makes renames and removals in the folder durable.
BrimResult folder_sync(const char *path, BrimError *error);
/// Calls `visit` for each entry but "." and ".."; stops when it returns false. False when the
/// folder cannot be read, with errno set.
bool folder_visit(const char *path, bool (*visit)(const char *name, void *context), void *context);
