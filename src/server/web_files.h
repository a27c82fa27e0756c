/* SPDX-License-Identifier: Apache-2.0
 * web_files.h - the files of web/ that are inside the program, a row each: a symbol, the name under /ui/ and the
 * type of the content. web.S takes their bytes, web.c serves them; both read this list. */
WEB_FILE(index_html, "index.html", "text/html; charset=utf-8")
WEB_FILE(docs_html, "docs.html", "text/html; charset=utf-8")
WEB_FILE(base_css, "base.css", "text/css; charset=utf-8")
WEB_FILE(page_css, "page.css", "text/css; charset=utf-8")
WEB_FILE(page_js, "page.js", "text/javascript; charset=utf-8")
WEB_FILE(docs_js, "docs.js", "text/javascript; charset=utf-8")
WEB_FILE(icon_svg, "icon.svg", "image/svg+xml")
