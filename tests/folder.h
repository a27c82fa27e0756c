/* SPDX-License-Identifier: Apache-2.0
 * folder.h - a test's own folder goes with all that is in it. */
#ifndef FOLDER_H
#define FOLDER_H
#include <ftw.h>
#include <stdio.h>

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void remove_tree(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
