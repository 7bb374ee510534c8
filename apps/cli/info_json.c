/* info_json.c - `sumi info --json`: everything in a file as one object. */
#include "info.h"
#include "output.h"
#include "report.h"

/* File names are bytes; one that is not UTF-8 cannot be a JSON string. */
static json_t *text_or_null(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_null();
}

static json_t *types_json(const file_summary *s)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < s->n_types; i++) {
        const type_share *t = &s->types[i];
        json_array_append_new(array, json_pack("{s:o, s:I, s:I, s:I}", "type", text_or_null(t->name), "n_tensors",
                                               (json_int_t)t->n_tensors, "n_params", (json_int_t)t->n_weights,
                                               "n_bytes", (json_int_t)t->n_bytes));
    }
    return array;
}

static json_t *tensor_json(const sumi_tensor_info *t)
{
    json_t *dims = json_array();
    for (int32_t d = 0; d < t->n_dims; d++) json_array_append_new(dims, json_integer(t->dims[d]));
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "name", text_or_null(t->name), "type", text_or_null(t->type_name),
                     "dims", dims, "offset_bytes", (json_int_t)t->offset_bytes, "n_bytes", (json_int_t)t->n_bytes);
}

/* NULL when out of memory or a tensor cannot be read, which file_summary_read has excluded. */
static json_t *tensors_json(const file_summary *s)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < sumi_file_info_n_tensors(s->file); i++) {
        sumi_tensor_info tensor;
        if (sumi_file_info_tensor(s->file, i, &tensor, NULL) || json_array_append_new(array, tensor_json(&tensor))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

int info_print_json(const file_summary *s)
{
    json_t *root =
        json_pack("{s:o, s:i, s:I, s:o, s:o, s:I, s:o, s:O, s:o}", "file", text_or_null(s->path), "gguf_version",
                  (int)sumi_file_info_version(s->file), "size_bytes", (json_int_t)sumi_file_info_size_bytes(s->file),
                  "architecture", text_or_null(file_summary_text(s, "general.architecture", "")), "name",
                  text_or_null(file_summary_text(s, "general.name", "")), "n_params", (json_int_t)s->n_params,
                  "types", types_json(s), "keys", s->keys, "tensors", tensors_json(s));
    /* Nine digits tell any two float32 apart, and float32 is what GGUF files hold. */
    return output_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}
