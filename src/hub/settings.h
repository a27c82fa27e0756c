/* SPDX-License-Identifier: Apache-2.0
 * settings.h - what the environment says about the Hub, in the variables of huggingface_hub. */
#ifndef HUB_SETTINGS_H
#define HUB_SETTINGS_H
#include "net/url.h"

typedef struct HubSettings {
    const char *cache; /* HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub */
    Url endpoint;      /* HF_ENDPOINT; https://huggingface.co */
    const char *site;  /* the same as text, without a slash at the end */
    Str token;         /* HF_TOKEN, or the file in HF_TOKEN_PATH or HF_HOME/token; n 0: none */
    bool offline;      /* HF_HUB_OFFLINE */
    int seconds;       /* HF_HUB_DOWNLOAD_TIMEOUT; 10 */
} HubSettings;
bool hub_settings_read(Arena *, HubSettings *, Err *);

#endif
