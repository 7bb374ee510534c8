/* tokenize.c - sumi tokenize: text to token ids, and ids to text. */
#include "commands.h"
#include "input.h"
#include "model_open.h"
#include "output.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

typedef struct tokenize_args {
    const char *model_path, *text, *text_path, *decode;
    bool special, json;
} tokenize_args;

static const char about[] = "Prints one line per token: its id, two spaces, and the bytes it stands for, with\n"
                            "\\n, \\t, \\r, \\\\ and \\xHH for what is not text. --decode prints the text of ids.\n";

static int parse(tokenize_args *a, int argc, char **argv)
{
    const cli_option options[] = {
        model_path_option(&a->model_path),
        { .name = "-f",
          .alias = "--file",
          .argument = "FILE",
          .type = OPTION_STRING,
          .value = &a->text_path,
          .help = "read the text from a file; - is stdin, also the default when something is piped in" },
        { .name = "--decode",
          .argument = "IDS",
          .type = OPTION_STRING,
          .value = &a->decode,
          .help = "print the text of these ids, 1,2,3" },
        { .name = "--special",
          .type = OPTION_FLAG,
          .value = &a->special,
          .help = "control tokens written in the text become their ids; with --decode they are shown" },
        { .name = "--json",
          .type = OPTION_FLAG,
          .value = &a->json,
          .help = "an array of ids; with --decode a string" },
    };
    const option_group group = { "Options", options, sizeof options / sizeof options[0] };
    const option_set set = { "tokenize", "[-m FILE] [TEXT | -f FILE | --decode IDS] [options]", about, &group, 1, 1 };
    int n_operands = 0;
    const int status = options_parse(&set, argc, argv, &n_operands);
    if (status != OPTIONS_OK) return status;
    if (n_operands) a->text = argv[0];
    if (a->decode && (a->text || a->text_path)) return report_usage("tokenize: --decode takes no text");
    return OPTIONS_OK;
}

/* Bytes in a valid UTF-8 character at `c`, 0 if there is none. n: bytes left. */
static size_t character_bytes(const unsigned char *c, size_t n)
{
    const size_t n_bytes = c[0] < 0x80   ? 1
                           : c[0] < 0xc2 ? 0
                           : c[0] < 0xe0 ? 2
                           : c[0] < 0xf0 ? 3
                           : c[0] < 0xf5 ? 4
                                         : 0;
    if (n_bytes > n) return 0;
    for (size_t i = 1; i < n_bytes; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0)) return 0; /* overlong; surrogate */
    if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90)) return 0; /* overlong; above U+10FFFF */
    return n_bytes;
}

static void print_escaped(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char *c = (const unsigned char *)text + i;
        const bool has_escape = *c && strchr("\n\t\r\\", *c);
        const size_t n_bytes = character_bytes(c, n - i);
        if (has_escape) {
            fprintf(out, "\\%c", *c == '\n' ? 'n' : *c == '\t' ? 't' : *c == '\r' ? 'r' : '\\');
            i++;
        } else if (n_bytes == 0 || *c < 0x20 || *c == 0x7f) {
            fprintf(out, "\\x%02x", *c);
            i++;
        } else {
            fwrite(c, 1, n_bytes, out);
            i += n_bytes;
        }
    }
}

static int print_tokens(const sumi_model *model, const sumi_token_list *tokens)
{
    whole_output text;
    if (!whole_output_begin(&text)) return report_no_memory();
    for (int64_t i = 0; i < tokens->n; i++) {
        char *piece = NULL;
        size_t n_bytes = 0;
        sumi_error err;
        if (sumi_detokenize(model, &tokens->ids[i], 1, true, &piece, &n_bytes, &err)) {
            whole_output_discard(&text);
            return report_error(&err);
        }
        fprintf(text.stream, "%d  ", tokens->ids[i]);
        print_escaped(text.stream, piece, n_bytes);
        fputc('\n', text.stream);
        free(piece);
    }
    return whole_output_print(&text);
}

static int print_ids(const sumi_token_list *tokens)
{
    json_t *array = json_array();
    for (int64_t i = 0; array && i < tokens->n; i++)
        if (json_array_append_new(array, json_integer(tokens->ids[i]))) {
            json_decref(array);
            array = NULL;
        }
    return output_json(array, 0);
}

static int encode(const tokenize_args *a, const sumi_model *model, const input_text *text)
{
    sumi_token_list tokens = { 0 };
    sumi_error err;
    if (sumi_tokenize(model, text->bytes, text->n_bytes, a->special, &tokens, &err)) return report_error(&err);
    const int status = a->json ? print_ids(&tokens) : print_tokens(model, &tokens);
    sumi_token_list_free(&tokens);
    return status;
}

static int decode(const tokenize_args *a, const sumi_model *model, const int_list *ids)
{
    char *text = NULL;
    size_t n_bytes = 0;
    sumi_error err;
    if (sumi_detokenize(model, ids->items, ids->n, a->special, &text, &n_bytes, &err)) return report_error(&err);
    int status;
    if (a->json) {
        json_t *string = json_stringn(text, n_bytes);
        status = string ? output_json(string, JSON_ENCODE_ANY)
                        : report_failure("tokenize: these ids are not whole UTF-8 text, which JSON needs");
    } else {
        status = output_status(output_write(text, n_bytes));
    }
    free(text);
    return status;
}

static int open_vocab(sumi_model **model, const char *given)
{
    char *path = NULL;
    const int status = model_find(given, &path);
    if (status) return status;
    sumi_error err;
    const sumi_status st = sumi_model_load_vocab(model, path, &err);
    free(path);
    return st ? report_error(&err) : STATUS_OK;
}

int command_tokenize(int argc, char **argv)
{
    tokenize_args a = { 0 };
    int status = parse(&a, argc, argv);
    if (status != OPTIONS_OK) return status;

    int_list ids = { 0 };
    input_text text = { 0 };
    if (a.decode) {
        status = int_list_parse(&ids, "tokenize", "--decode", a.decode, 0, INT32_MAX);
        if (status != OPTIONS_OK) return status;
    } else {
        status = input_read(&text, a.text, a.text_path, "tokenize", "give TEXT or -f FILE, or pipe it in");
        if (status) return status;
    }
    sumi_model *model = NULL;
    status = open_vocab(&model, a.model_path);
    if (!status) status = a.decode ? decode(&a, model, &ids) : encode(&a, model, &text);
    sumi_model_free(model);
    free(ids.items);
    input_free(&text);
    return status;
}
