/* SPDX-License-Identifier: Apache-2.0
 * shape.c - what graphs give and what of it a task keeps. */
#include "parts.h"

#define HIDDEN "hidden states"
#define LOGITS "logits"
const TaskShape shape_token_vectors = { PER_TOKEN, AXIS_HIDDEN, 3, HIDDEN,
                                        "[batch_size, seq_len, hidden_dim]" };
const TaskShape shape_text_vectors = { PER_TEXT, AXIS_HIDDEN, 2, HIDDEN, "[batch_size, hidden_dim]" };
const TaskShape shape_token_labels = { PER_TOKEN, AXIS_LABELS, 3, LOGITS,
                                       "[batch_size, seq_len, n_labels]" };
const TaskShape shape_text_labels = { PER_TEXT, AXIS_LABELS, 2, LOGITS, "[batch_size, n_labels]" };
const TaskShape shape_token_words = { PER_TOKEN, AXIS_WORDS, 3, LOGITS,
                                      "[batch_size, seq_len, vocab_size]" };
const TaskShape shape_text_words = { PER_TEXT, AXIS_WORDS, 2, LOGITS, "[batch_size, vocab_size]" };
const TaskShape shape_token_numbers = { PER_TOKEN, AXIS_SINGLE, 2, LOGITS, "[batch_size, seq_len]" };
const TaskShape shape_page_numbers = { PER_TOKEN, AXIS_PLACES, 2, LOGITS, "[batch_size, seq_len]" };
const TaskShape shape_choices = { PER_TEXT, AXIS_SINGLE, 2, LOGITS, "[batch_size, num_choices]" };

const TaskShape shape_query_labels = { PER_PART, AXIS_LABELS_OR_NONE, 3, LOGITS,
                                       "[batch_size, num_queries, n_labels + 1]" };
const TaskShape shape_label_maps = { PER_PART, AXIS_MAP, 4, LOGITS, "[batch_size, n_labels, height, width]" };

const TaskShape shape_patch_vectors = { PER_PART, AXIS_HIDDEN, 3, HIDDEN, "[batch_size, hidden_dim]" };

const TaskShape shape_window_speech = { PER_TEXT, AXIS_SINGLE, 2, LOGITS, "[batch_size, 1]" };
const TaskShape shape_frame_words = { PER_PART, AXIS_WORDS, 3, LOGITS, "[batch_size, frames, vocab_size]" };
const TaskShape shape_frame_vectors = { PER_PART, AXIS_HIDDEN, 3, HIDDEN, "[batch_size, frames, hidden_dim]" };

int64_t shape_labels(const TaskShape *shape, int rank, const int64_t *dim)
{
    if (rank < 1) return -1;
    switch (shape->last) {
    case AXIS_LABELS: return dim[rank - 1];
    case AXIS_LABELS_OR_NONE: return dim[rank - 1] - 1;
    case AXIS_MAP: return dim[0];
    default: return -1;
    }
}

/* Of convolutions, patches are the places of a map. */
bool task_fits_rank(const Task *task, int output, int rank)
{
    if (output == 1 && task->second_rank) return rank == task->second_rank;
    if (task->shape == &shape_patch_vectors && rank == 4) return true;
    return rank == task->shape->rank || (task->pooled && rank == task->pooled->rank);
}

const TaskShape *task_kept(const Task *task)
{
    return task->pooled ? task->pooled : task->shape;
}

TaskPool *task_own_pool(const Task *task)
{
    return task->pooled ? task->pool : NULL;
}

bool task_keeps_tokens(const Task *task)
{
    return task->shape->per == PER_TOKEN && !task->wants;
}

int task_labels(const Task *task, const ModelConfig *config)
{
    static const int64_t one[] = { 1, 1, 1 };
    return shape_labels(task->shape, COUNT(one), one) >= 0 && config->labels ? config->num_labels : 0;
}

int64_t task_width(const Task *task, const ModelConfig *config, size_t vocabulary)
{
    switch (task->shape->last) {
    case AXIS_LABELS: case AXIS_LABELS_OR_NONE: case AXIS_MAP: return config->num_labels;
    case AXIS_WORDS: return (int64_t)vocabulary;
    case AXIS_SINGLE: case AXIS_PLACES: return 1;
    case AXIS_HIDDEN: break;
    }
    return config_vector_size(config);
}
