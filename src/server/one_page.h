/* SPDX-License-Identifier: Apache-2.0
 * one_page.h - one HTML page on this machine's own address, for the person who started the program: `explore`. One
 * connection at a time, GET / and nothing else. A request that names another host than this machine is refused, so
 * that no page of the web can read it under a name of its own (DNS rebinding). */
#ifndef SERVER_ONE_PAGE_H
#define SERVER_ONE_PAGE_H
#include "base/base.h"

typedef struct OnePage {
    Str html;
    int port;                    /* 0: any free one */
    /* Called once, when it can be asked for. */
    bool (*ready)(void *context, int port, Err *);
    void *context;
} OnePage;
/* Until *stop is not 0, which is looked at every 100 ms. */
bool one_page_serve(const OnePage *, const volatile int *stop, Err *);

#endif
