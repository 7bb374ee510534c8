/* The public functions on text: tokens of a text, text of tokens, tokens of a conversation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "model/model.h"

void sumi_token_list_free(sumi_token_list *list)
{
    if (!list) return;
    free(list->ids);
    *list = (sumi_token_list){ 0 };
}

/* ---- Tokens of a text ------------------------------------------------------------------------------- */

sumi_status sumi_tokenize(const sumi_model *model, const char *text, size_t n_bytes, bool parse_special,
                          sumi_token_list *out, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "tokenize: out is NULL");
    *out = (sumi_token_list){ 0 };
    if (!model) return sumi_fail(err, SUMI_EINVAL, "tokenize: model is NULL");
    if (!text && n_bytes > 0) return sumi_fail(err, SUMI_EINVAL, "tokenize: text of %zu bytes is NULL", n_bytes);
    const sumi_encode_options options = { .parse_special = parse_special, .add_bos = true };
    return sumi_tokenizer_encode(model->tokenizer, text, n_bytes, &options, &out->ids, &out->n, err);
}

/* ---- Text of tokens --------------------------------------------------------------------------------- */

/* The output matrix may have more rows than there are tokens; such ids can be generated and stand for nothing. */
static int32_t n_vocab(const sumi_model *model)
{
    return model->device ? model->config.vocab : sumi_tokenizer_n_vocab(model->tokenizer);
}

/* Bytes of all tokens together; every id is checked. */
static sumi_status measure(const sumi_model *model, const int32_t *ids, int64_t n, bool special, uint64_t *n_bytes,
                           sumi_error *err)
{
    *n_bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= n_vocab(model))
            return sumi_fail(err, SUMI_EINVAL,
                             "detokenize: token %" PRId64 " of %" PRId64 ": id %" PRId32
                             " outside the vocabulary of %" PRId32,
                             i, n, ids[i], n_vocab(model));
        const sumi_str bytes = sumi_tokenizer_token_bytes(model->tokenizer, ids[i], special);
        if (!sumi_add_u64(*n_bytes, bytes.n_bytes, n_bytes) || *n_bytes >= SIZE_MAX)
            return sumi_fail(err, SUMI_ENOMEM, "detokenize: text of %" PRId64 " tokens has over 2^64 bytes", n);
    }
    return SUMI_OK;
}

static void copy_bytes(const sumi_model *model, const int32_t *ids, int64_t n, bool special, char *text)
{
    for (int64_t i = 0; i < n; i++) {
        const sumi_str bytes = sumi_tokenizer_token_bytes(model->tokenizer, ids[i], special);
        if (bytes.n_bytes > 0) memcpy(text, bytes.data, bytes.n_bytes);
        text += bytes.n_bytes;
    }
    *text = 0;
}

sumi_status sumi_detokenize(const sumi_model *model, const int32_t *ids, int64_t n, bool special, char **text,
                            size_t *n_bytes, sumi_error *err)
{
    if (text) *text = NULL;
    if (n_bytes) *n_bytes = 0;
    if (!model || !text || !n_bytes)
        return sumi_fail(err, SUMI_EINVAL, "detokenize: %s is NULL", !model ? "model" : !text ? "text" : "n_bytes");
    if (n < 0 || (!ids && n > 0))
        return sumi_fail(err, SUMI_EINVAL, "detokenize: %" PRId64 " tokens%s", n, ids ? "" : ", ids is NULL");
    uint64_t total;
    const sumi_status st = measure(model, ids, n, special, &total, err);
    if (st) return st;
    *text = malloc((size_t)total + 1);
    if (!*text) return sumi_fail(err, SUMI_ENOMEM, "detokenize: %" PRIu64 " bytes", total + 1);
    copy_bytes(model, ids, n, special, *text);
    *n_bytes = (size_t)total;
    return SUMI_OK;
}

/* ---- Conversations ---------------------------------------------------------------------------------- */

enum { SHOWN_TEMPLATE_BYTES = 80 };

static sumi_status check_template(const sumi_gguf *file, sumi_error *err)
{
    sumi_str template = { "", 0 };
    switch (sumi_template_kind(file)) {
    case SUMI_TEMPLATE_CHATML:
        return SUMI_OK;
    case SUMI_TEMPLATE_NONE:
        return sumi_fail(err, SUMI_EUNSUPPORTED, "%s: no chat template: the file has no key tokenizer.chat_template",
                         sumi_gguf_path(file));
    case SUMI_TEMPLATE_UNKNOWN:
        break;
    }
    const sumi_status st = sumi_gguf_get_string(file, "tokenizer.chat_template", true, &template, err);
    if (st) return sumi_fail_prefix(err, SUMI_EUNSUPPORTED, "chat template");
    return sumi_fail(
        err, SUMI_EUNSUPPORTED,
        "%s: chat template of %zu bytes, beginning \"%.*s\", is not plain ChatML, the only one supported",
        sumi_gguf_path(file), template.n_bytes,
        template.n_bytes < SHOWN_TEMPLATE_BYTES ? (int)template.n_bytes : SHOWN_TEMPLATE_BYTES, template.data);
}

sumi_status sumi_chat_tokens(const sumi_model *model, const sumi_message *messages, int32_t n_messages,
                             sumi_token_list *out, sumi_error *err)
{
    if (!out) return sumi_fail(err, SUMI_EINVAL, "chat: out is NULL");
    *out = (sumi_token_list){ 0 };
    if (!model) return sumi_fail(err, SUMI_EINVAL, "chat: model is NULL");
    if (n_messages < 0 || (!messages && n_messages > 0))
        return sumi_fail(err, SUMI_EINVAL, "chat: %" PRId32 " messages%s", n_messages,
                         messages ? "" : ", messages is NULL");
    const sumi_status st = check_template(model->file, err);
    if (st) return st;
    sumi_turn *turns = calloc((size_t)n_messages + 1, sizeof *turns); /* never of no bytes */
    if (!turns) return sumi_fail(err, SUMI_ENOMEM, "chat: %" PRId32 " messages", n_messages);
    for (int32_t i = 0; i < n_messages; i++) turns[i] = (sumi_turn){ messages[i].role, messages[i].content };
    const sumi_status encoded =
        sumi_chatml_encode(model->tokenizer, turns, n_messages, true, &out->ids, &out->n, err);
    free(turns);
    return encoded;
}
