/* info_text.c - `sumi info` for people. */
#include "info.h"
#include "output.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 6, SHOWN_STRING_BYTES = 72 };

/* ---- Numbers and values ----------------------------------------------------------------------------- */

static void print_count(FILE *out, double n)
{
    if (n >= 1e9)
        fprintf(out, "%.2f B", n / 1e9);
    else if (n >= 1e6)
        fprintf(out, "%.2f M", n / 1e6);
    else
        fprintf(out, "%.0f", n);
}

static void print_bytes(FILE *out, uint64_t n_bytes)
{
    const double n = (double)n_bytes;
    if (n >= 1 << 30)
        fprintf(out, "%.2f GiB", n / (1 << 30));
    else if (n >= 1 << 20)
        fprintf(out, "%.2f MiB", n / (1 << 20));
    else
        fprintf(out, "%.2f KiB", n / (1 << 10));
}

/* Names come from the file: one that holds control characters must not steer the terminal. */
static void print_name(FILE *out, const char *name)
{
    for (; *name; name++) fputc((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name, out);
}

static void print_json(FILE *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    fputs(text ? text : "?", out);
    free(text);
}

static void print_string(FILE *out, const json_t *value)
{
    size_t n_bytes = json_string_length(value);
    if (n_bytes <= SHOWN_STRING_BYTES) {
        print_json(out, value);
        return;
    }
    const char *text = json_string_value(value);
    n_bytes = SHOWN_STRING_BYTES;
    while (n_bytes > 0 && ((unsigned char)text[n_bytes] & 0xc0) == 0x80) n_bytes--; /* not inside a character */
    json_t *head = json_stringn(text, n_bytes);
    print_json(out, head);
    json_decref(head);
    fprintf(out, "... (%zu bytes)", json_string_length(value));
}

static void print_value(FILE *out, const json_t *value)
{
    if (json_is_string(value)) {
        print_string(out, value);
    } else if (json_is_array(value)) {
        const size_t n = json_array_size(value);
        fputc('[', out);
        for (size_t i = 0; i < n && i < SHOWN_ELEMENTS; i++) {
            if (i > 0) fputs(", ", out);
            print_value(out, json_array_get(value, i));
        }
        fprintf(out, n > SHOWN_ELEMENTS ? ", ...] (%zu)" : "]", n);
    } else {
        print_json(out, value);
    }
}

/* ---- Sections --------------------------------------------------------------------------------------- */

static void print_types(FILE *out, const file_summary *s)
{
    for (int32_t i = 0; i < s->n_types; i++) {
        const type_share *t = &s->types[i];
        fprintf(out, "%-14s%s: ", i == 0 ? "weights" : "", t->name);
        print_count(out, (double)t->n_weights);
        fprintf(out, " (%.1f%%) in %" PRId64 " tensors, ", 100.0 * (double)t->n_weights / (double)s->n_params,
                t->n_tensors);
        if (t->n_bytes > 0)
            print_bytes(out, t->n_bytes);
        else
            fputs("unknown size", out);
        fputc('\n', out);
    }
}

static void print_hyper_parameters(FILE *out, const file_summary *s)
{
    static const struct {
        const char *label, *key;
    } rows[] = {
        { "layers", "block_count" },
        { "hidden", "embedding_length" },
        { "ffn", "feed_forward_length" },
        { "heads", "attention.head_count" },
        { "kv heads", "attention.head_count_kv" },
        { "head dim", "attention.key_length" },
        { "context", "context_length" },
        { "rope base", "rope.freq_base" },
        { "norm eps", "attention.layer_norm_rms_epsilon" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const json_t *value = file_summary_arch_key(s, rows[i].key);
        if (!value) continue;
        fprintf(out, "%-14s", rows[i].label);
        print_value(out, value);
        fputc('\n', out);
    }
}

static void print_tokenizer(FILE *out, const file_summary *s)
{
    const char *model = file_summary_text(s, "tokenizer.ggml.model", NULL);
    if (!model) return;
    fprintf(out, "%-14s", "tokenizer");
    print_name(out, model);
    fputs(", split as ", out);
    print_name(out, file_summary_text(s, "tokenizer.ggml.pre", "default"));
    fprintf(out, ", %zu tokens, %zu merges", json_array_size(file_summary_key(s, "tokenizer.ggml.tokens")),
            json_array_size(file_summary_key(s, "tokenizer.ggml.merges")));
    static const char *const ids[] = { "bos", "eos", "padding" };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char key[64];
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ids[i]);
        const json_t *id = file_summary_key(s, key);
        if (json_is_integer(id)) fprintf(out, ", %s %" JSON_INTEGER_FORMAT, ids[i], json_integer_value(id));
    }
    fprintf(out, ", %s\n",
            file_summary_key(s, "tokenizer.chat_template") ? "with a chat template" : "no chat template");
}

static void print_keys(FILE *out, const file_summary *s)
{
    const char *key;
    json_t *value;
    fprintf(out, "\n%zu keys:\n", json_object_size(s->keys));
    json_object_foreach(s->keys, key, value)
    {
        fputs("  ", out);
        print_name(out, key);
        fputs(" = ", out);
        print_value(out, value);
        fputc('\n', out);
    }
}

static int print_tensors(FILE *out, const file_summary *s)
{
    const int64_t n = sumi_file_info_n_tensors(s->file);
    fprintf(out, "\n%" PRId64 " tensors:\n", n);
    for (int64_t i = 0; i < n; i++) {
        sumi_tensor_info t;
        sumi_error err;
        if (sumi_file_info_tensor(s->file, i, &t, &err)) return report_error(&err);
        char dims[96] = "";
        for (int32_t d = 0, used = 0; d < t.n_dims; d++)
            used += snprintf(dims + used, sizeof dims - (size_t)used, d ? " x %" PRId64 : "%" PRId64, t.dims[d]);
        fprintf(out, "  %-8s %18s %12" PRIu64 " bytes at %-12" PRIu64 " ", t.type_name, dims, t.n_bytes,
                t.offset_bytes);
        print_name(out, t.name);
        fputc('\n', out);
    }
    return STATUS_OK;
}

int info_print_text(const file_summary *s, bool with_tensors)
{
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    FILE *out = text.stream;
    fprintf(out, "%-14s%s\n%-14sGGUF version %u, ", "file", s->path, "format", sumi_file_info_version(s->file));
    print_bytes(out, sumi_file_info_size_bytes(s->file));
    fprintf(out, "\n%-14s", "architecture");
    print_name(out, file_summary_text(s, "general.architecture", "(not named)"));
    fprintf(out, "\n%-14s", "name");
    print_name(out, file_summary_text(s, "general.name", "(not named)"));
    fprintf(out, "\n%-14s", "parameters");
    print_count(out, (double)s->n_params);
    fputc('\n', out);
    print_types(out, s);
    print_hyper_parameters(out, s);
    print_tokenizer(out, s);
    print_keys(out, s);
    const int status = with_tensors ? print_tensors(out, s) : STATUS_OK;
    if (!status) return whole_output_print(&text);
    whole_output_discard(&text);
    return status;
}
