/* decode(encode(x)) == x for any bytes, with the demonstration model's vocabulary. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer.h"

static sumi_gguf *file;
static sumi_tokenizer *tokenizer;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (sumi_gguf_open(&file, SUMI_MODELS "/sumi-tales-40m-q1_0.gguf", SUMI_Q2_AUTO, NULL)) abort();
    if (sumi_tokenizer_new(&tokenizer, file, NULL)) abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const sumi_encode_options options = { .parse_special = n_bytes % 2, .add_bos = true };
    int32_t *ids = NULL;
    int64_t n = 0;
    if (sumi_tokenizer_encode(tokenizer, (const char *)data, n_bytes, &options, &ids, &n, NULL)) abort();
    size_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const sumi_str bytes = sumi_tokenizer_token_bytes(tokenizer, ids[i], options.parse_special);
        if (bytes.n_bytes == 0 || bytes.n_bytes > n_bytes - at || memcmp(bytes.data, data + at, bytes.n_bytes))
            abort();
        at += bytes.n_bytes;
    }
    if (at != n_bytes) abort();
    free(ids);
    return 0;
}
