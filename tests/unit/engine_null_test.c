/* Every public function with NULL where a pointer goes: a status or an empty answer, never a crash. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sumi.h"

static void free_functions_accept_null(void **state)
{
    (void)state;
    sumi_device_free(NULL);
    sumi_buffer_free(NULL);
    sumi_weight_free(NULL);
    sumi_encoder_free(NULL);
    sumi_file_info_close(NULL);
    sumi_model_free(NULL);
    sumi_session_free(NULL);
    sumi_sampler_free(NULL);
    sumi_token_list_free(NULL);
}

static void questions_about_nothing_have_an_answer(void **state)
{
    (void)state;
    assert_string_equal(sumi_device_description(NULL), "");
    assert_int_equal(sumi_device_n_threads(NULL), 0);
    assert_int_equal(sumi_buffer_size_bytes(NULL), 0);
    assert_int_equal(sumi_weight_n_rows(NULL), 0);
    assert_int_equal(sumi_weight_n_cols(NULL), 0);
    assert_int_equal(sumi_weight_size_bytes(NULL), 0);
    (void)sumi_weight_dtype(NULL);
    sumi_encoder_reset(NULL);
    assert_int_equal(sumi_file_info_version(NULL), 0);
    assert_int_equal(sumi_file_info_size_bytes(NULL), 0);
    assert_int_equal(sumi_file_info_n_keys(NULL), 0);
    assert_int_equal(sumi_file_info_n_tensors(NULL), 0);
    sumi_model_info info;
    sumi_model_get_info(NULL, &info);
    assert_int_equal(info.vocab, 0);
    sumi_model_get_info(NULL, NULL);
    assert_int_equal(sumi_session_n_tokens(NULL), 0);
    assert_int_equal(sumi_session_max_tokens(NULL), 0);
    assert_null(sumi_session_logits(NULL, 0));
    assert_null(sumi_session_tokens(NULL));
    assert_int_equal(sumi_sampler_seed(NULL), 0);
    sumi_sampler_accept(NULL, 1);
    assert_non_null(sumi_status_name((sumi_status)-1));
    assert_string_equal(sumi_dtype_name((sumi_dtype)1000), "?");
}

static void requests_with_null_are_refused(void **state)
{
    (void)state;
    sumi_device *device = NULL;
    sumi_buffer *buffer;
    sumi_weight *weight;
    sumi_encoder *encoder;
    sumi_file_info *file;
    sumi_model *model;
    sumi_session *session;
    sumi_sampler *sampler;
    sumi_token_list list = { 0 };
    const sumi_sampling sampling = sumi_sampling_defaults();
    const char *name;
    char *text;
    size_t n_bytes;
    int32_t token = 0;
    float x = 0;
    sumi_tensor_info tensor;
    sumi_perplexity perplexity;

    assert_int_equal(sumi_device_open(NULL, "cpu", NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_device_open(&device, NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_new(NULL, NULL, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_new(&buffer, NULL, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_write(NULL, 0, &x, 4, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_buffer_read(NULL, 0, &x, 4, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_weight_new(NULL, NULL, SUMI_F32, 1, NULL, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_weight_new(&weight, NULL, SUMI_F32, 1, NULL, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_encoder_new(NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_encoder_new(&encoder, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_submit(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_wait(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_embed(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_rmsnorm(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_matmul(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_qkv_rope_cache(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_attention(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_silu_mul(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_op_argmax(NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_open(NULL, "x", NULL), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_open(&file, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_key(NULL, 0, 0, &name, &text, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_file_info_tensor(NULL, 0, &tensor, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_model_load(NULL, "x", NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_model_load(&model, NULL, NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_model_load(&model, "x", NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_model_load_vocab(NULL, "x", NULL), SUMI_EINVAL);
    assert_int_equal(sumi_model_load_vocab(&model, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_tokenize(NULL, "x", 1, false, &list, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_detokenize(NULL, &token, 1, false, &text, &n_bytes, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_chat_tokens(NULL, NULL, 0, &list, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_new(NULL, NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_new(&session, NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_eval(NULL, &token, 1, SUMI_LOGITS_LAST, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_verify(NULL, &token, 1, &token, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_truncate(NULL, 0, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_session_read_kv(NULL, 0, 0, &x, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_sampler_new(NULL, &sampling, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_sampler_new(&sampler, NULL, 1, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_sampler_sample(NULL, &x, &token, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_generate(NULL, NULL, &token, 1, NULL, NULL, NULL), SUMI_EINVAL);
    assert_int_equal(sumi_perplexity_eval(NULL, &token, 1, 4, NULL, NULL, &perplexity, NULL), SUMI_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_functions_accept_null),
        cmocka_unit_test(questions_about_nothing_have_an_answer),
        cmocka_unit_test(requests_with_null_are_refused),
    };
    return cmocka_run_group_tests_name("null", tests, NULL, NULL);
}
