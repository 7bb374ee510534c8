/* info.c - sumi info: what a model file holds, whether or not its model can be run. Reads the file into a
 * file_summary; info_text.c and info_json.c print it. */
#include "info.h"
#include "commands.h"
#include "model_open.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* ---- Keys ------------------------------------------------------------------------------------------- */

/* A value that JSON readers cannot hold as it is (an integer above 2^63) stays as its text. */
static json_t *parse_value(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!value) value = json_string(text);
    return value ? value : json_null();
}

static int read_keys(file_summary *s)
{
    s->keys = json_object();
    if (!s->keys) return report_no_memory();
    for (int64_t i = 0; i < sumi_file_info_n_keys(s->file); i++) {
        const char *name = NULL;
        char *text = NULL;
        sumi_error err;
        if (sumi_file_info_key(s->file, i, -1, &name, &text, &err)) return report_error(&err);
        json_t *value = parse_value(text);
        free(text);
        if (json_object_set_new(s->keys, name, value))
            return report_failure("%s: key %lld is not named in UTF-8", s->path, (long long)i);
    }
    return STATUS_OK;
}

const json_t *file_summary_key(const file_summary *s, const char *key) { return json_object_get(s->keys, key); }

const json_t *file_summary_arch_key(const file_summary *s, const char *name)
{
    char key[256];
    snprintf(key, sizeof key, "%s.%s", file_summary_text(s, "general.architecture", ""), name);
    return file_summary_key(s, key);
}

const char *file_summary_text(const file_summary *s, const char *key, const char *otherwise)
{
    const char *text = json_string_value(file_summary_key(s, key));
    return text ? text : otherwise;
}

/* ---- Tensors ---------------------------------------------------------------------------------------- */

static type_share *find_type(file_summary *s, const char *name)
{
    for (int32_t i = 0; i < s->n_types; i++)
        if (!strcmp(s->types[i].name, name)) return &s->types[i];
    if (s->n_types == INFO_MAX_TYPES) return NULL;
    s->types[s->n_types] = (type_share){ .name = name };
    return &s->types[s->n_types++];
}

static int by_weights(const void *a, const void *b)
{
    const int64_t n_a = ((const type_share *)a)->n_weights;
    const int64_t n_b = ((const type_share *)b)->n_weights;
    return (n_a < n_b) - (n_a > n_b);
}

static int read_tensors(file_summary *s)
{
    for (int64_t i = 0; i < sumi_file_info_n_tensors(s->file); i++) {
        sumi_tensor_info tensor;
        sumi_error err;
        if (sumi_file_info_tensor(s->file, i, &tensor, &err)) return report_error(&err);
        int64_t n_weights = 1;
        for (int32_t d = 0; d < tensor.n_dims; d++) n_weights *= tensor.dims[d]; /* the reader checked the product */
        type_share *type = find_type(s, tensor.type_name);
        if (!type) return report_failure("%s: more than %d tensor types", s->path, INFO_MAX_TYPES);
        type->n_tensors++;
        type->n_weights += n_weights;
        type->n_bytes += tensor.n_bytes;
        s->n_params += n_weights;
    }
    qsort(s->types, (size_t)s->n_types, sizeof s->types[0], by_weights);
    return STATUS_OK;
}

int file_summary_read(file_summary *s, const char *path)
{
    *s = (file_summary){ .path = path };
    sumi_error err;
    if (sumi_file_info_open(&s->file, path, &err)) return report_error(&err);
    const int status = read_keys(s);
    return status ? status : read_tensors(s);
}

void file_summary_free(file_summary *s)
{
    json_decref(s->keys);
    sumi_file_info_close(s->file);
    *s = (file_summary){ 0 };
}

/* ---- Command ---------------------------------------------------------------------------------------- */

typedef struct info_args {
    const char *path;
    bool json, tensors;
} info_args;

static const char about[] = "Prints what a GGUF file holds: architecture, sizes, weight types, tokenizer and keys.\n"
                            "Works on any GGUF file, also on models that sumi cannot run.\n";

static int parse(info_args *a, int argc, char **argv)
{
    const cli_option options[] = {
        model_path_option(&a->path),
        { .name = "--tensors", .type = OPTION_FLAG, .value = &a->tensors, .help = "list the tensors too" },
        { .name = "--json",
          .type = OPTION_FLAG,
          .value = &a->json,
          .help = "print everything, tensors included, as one JSON object" },
    };
    const option_group group = { "Options", options, sizeof options / sizeof options[0] };
    const option_set set = { "info", "[FILE] [options]", about, &group, 1, 1 };
    int n_operands = 0;
    const int status = options_parse(&set, argc, argv, &n_operands);
    if (status != OPTIONS_OK) return status;
    if (n_operands && a->path) return report_usage("info: %s and -m %s: give only one file", argv[0], a->path);
    if (n_operands) a->path = argv[0];
    return OPTIONS_OK;
}

int command_info(int argc, char **argv)
{
    info_args a = { 0 };
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;
    char *path = NULL;
    status = model_find(a.path, &path);
    if (status) return status;
    file_summary summary;
    status = file_summary_read(&summary, path);
    if (!status) status = a.json ? info_print_json(&summary) : info_print_text(&summary, a.tensors);
    file_summary_free(&summary);
    free(path);
    return status;
}
