/* SPDX-License-Identifier: Apache-2.0
 * pooling.h - what a request may say about a text's vector. How the vector is made is in head.h. */
#ifndef TASK_POOLING_H
#define TASK_POOLING_H

/* Ways of pooling; POOL_OWN: the model's. */
typedef enum {
    POOL_OWN, POOL_MEAN, POOL_CLS, POOL_MAX, POOL_LAST, POOL_WEIGHTED, POOL_SQRT, POOL_WAYS
} TaskPooling;
typedef enum { NORMALIZE_OWN, NORMALIZE_NO, NORMALIZE_YES } TaskNormalize;

typedef struct VectorHead VectorHead; /* head.h */

#endif
