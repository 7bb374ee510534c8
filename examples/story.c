/* Load a model, tokenize a prompt, print what follows. Usage: story MODEL.gguf "Once upon a time" */
#include <stdio.h>
#include <string.h>

#include "sumi.h"

static bool print_piece(void *user, const char *text, size_t n_bytes)
{
    (void)user;
    fwrite(text, 1, n_bytes, stdout);
    return fflush(stdout) == 0; /* a closed pipe ends the story */
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODEL.gguf PROMPT\n", argv[0]);
        return 2;
    }
    sumi_error err;
    sumi_device *device = NULL;
    sumi_model *model = NULL;
    sumi_session *session = NULL;
    sumi_sampler *sampler = NULL;
    sumi_token_list prompt = { 0 };
    sumi_model_info info;
    sumi_sampling sampling = sumi_sampling_defaults();
    sampling.seed = 11; /* the same story every time */
    sumi_generate_options options = sumi_generate_defaults();
    options.max_new_tokens = 200;
    options.on_text = print_piece;

    sumi_status st = sumi_device_open(&device, "cpu", NULL, &err);
    if (!st) st = sumi_model_load(&model, argv[1], device, NULL, &err);
    if (!st) st = sumi_session_new(&session, model, NULL, &err);
    if (!st) st = sumi_tokenize(model, argv[2], strlen(argv[2]), false, &prompt, &err);
    if (!st) {
        sumi_model_get_info(model, &info);
        st = sumi_sampler_new(&sampler, &sampling, info.vocab, &err);
    }
    if (!st) st = sumi_generate(session, sampler, prompt.ids, (int32_t)prompt.n, &options, NULL, &err);
    puts("");
    if (st) fprintf(stderr, "%s\n", err.message);

    sumi_token_list_free(&prompt);
    sumi_sampler_free(sampler);
    sumi_session_free(session);
    sumi_model_free(model);
    sumi_device_free(device);
    return st ? 1 : 0;
}
