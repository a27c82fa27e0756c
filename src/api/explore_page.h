/* SPDX-License-Identifier: Apache-2.0
 * explore_page.h - what `explore` found, as one HTML file that needs nothing else: web/explore.html with the style,
 * the script and the JSON inside. The page of the server shows the same with the same files. */
#ifndef API_EXPLORE_PAGE_H
#define API_EXPLORE_PAGE_H
#include "base/base.h"

/* json: of Exploring. */
bool explore_page(Str json, Buf *html, Err *);

#endif
