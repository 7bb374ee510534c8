/* Whole small text files of /proc and /sys, whose sizes stat does not tell. Private to the base layer. */
#ifndef SUMI_BASE_SMALL_FILE_H
#define SUMI_BASE_SMALL_FILE_H

/* The text, up to 64 KiB of it, of the file whose path the format gives; free() it. NULL if it cannot be read. */
__attribute__((format(printf, 1, 2))) char *sumi_small_file_read(const char *path_fmt, ...);

#endif
