/* Generation: against a loop of single steps in the test, whose greedy text is the expected one. */
#include "engine_fixture.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

static const char prompt_text[] = "Once upon a time there was a little";

enum { N_REFERENCE = 40, MAX_PIECES = 4096, MAX_TEXT = 16384 };

/* ---- What a callback saw ------------------------------------------------------------------------------------- */

typedef struct listener {
    char text[MAX_TEXT];
    size_t n_bytes;
    size_t piece_ends[MAX_PIECES]; /* in text, of pieces that are not empty */
    int32_t n_pieces;
    int32_t n_wanted; /* pieces before saying no; 0: all */
    bool refuse_empty;
} listener;

static bool listen(void *user, const char *text, size_t n_bytes)
{
    listener *l = user;
    if (n_bytes == 0) return !l->refuse_empty;
    assert_true(l->n_bytes + n_bytes < MAX_TEXT && l->n_pieces < MAX_PIECES);
    memcpy(l->text + l->n_bytes, text, n_bytes);
    l->n_bytes += n_bytes;
    l->text[l->n_bytes] = 0;
    l->piece_ends[l->n_pieces++] = l->n_bytes;
    return l->n_pieces != l->n_wanted;
}

/* ---- The expected text ------------------------------------------------------------------------------------------
 */

typedef struct story {
    engine e;
    int32_t prompt[64], n_prompt;
    int32_t tokens[N_REFERENCE];   /* the greedy continuation */
    char text[MAX_TEXT];           /* of tokens */
    size_t text_ends[N_REFERENCE]; /* of each token, in text */
} story;

static void read_tokens(const engine *e, const char *text, int32_t *tokens, int32_t max, int32_t *n)
{
    sumi_token_list list;
    sumi_error err;
    if (sumi_tokenize(e->model, text, strlen(text), false, &list, &err)) fail_msg("%s", err.message);
    assert_true(list.n > 0 && list.n <= max);
    memcpy(tokens, list.ids, (size_t)list.n * sizeof *tokens);
    *n = (int32_t)list.n;
    sumi_token_list_free(&list);
}

/* Step by step, with nothing of the generator. */
static int setup(void **state)
{
    story *t = new_array(1, sizeof *t);
    t->e = engine_open(DEMO_MODEL);
    read_tokens(&t->e, prompt_text, t->prompt, 64, &t->n_prompt);
    sumi_session *s = session_open(&t->e, 128, false);
    eval(s, t->prompt, t->n_prompt, SUMI_LOGITS_LAST);
    for (int32_t i = 0; i < N_REFERENCE; i++) {
        t->tokens[i] = argmax(sumi_session_logits(s, 0), t->e.vocab);
        eval(s, t->tokens + i, 1, SUMI_LOGITS_LAST);
        char *text;
        size_t n_bytes;
        assert_int_equal(sumi_detokenize(t->e.model, t->tokens, i + 1, false, &text, &n_bytes, NULL), SUMI_OK);
        assert_true(n_bytes < MAX_TEXT);
        memcpy(t->text, text, n_bytes + 1);
        t->text_ends[i] = n_bytes;
        free(text);
    }
    sumi_session_free(s);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    story *t = *state;
    engine_close(&t->e);
    free(t);
    return 0;
}

static sumi_sampler *sampler_open(const engine *e, const sumi_sampling *sampling)
{
    sumi_sampler *sampler;
    sumi_error err;
    if (sumi_sampler_new(&sampler, sampling, e->vocab, &err)) fail_msg("%s", err.message);
    return sampler;
}

static sumi_sampling greedy(void)
{
    sumi_sampling sampling = sumi_sampling_defaults();
    sampling.temperature = 0;
    sampling.repeat_penalty = 1;
    return sampling;
}

/* Generate with a sampler of its own; fails the test on an error. */
static sumi_generate_result generate_with(const engine *e, sumi_session *s, const sumi_sampling *sampling,
                                          const int32_t *prompt, int32_t n_prompt, sumi_generate_options options,
                                          listener *l)
{
    const int32_t n_wanted = l->n_wanted;
    *l = (listener){ .n_wanted = n_wanted, .refuse_empty = l->refuse_empty };
    options.on_text = listen;
    options.user = l;
    sumi_sampler *sampler = sampler_open(e, sampling);
    sumi_generate_result result;
    sumi_error err;
    if (sumi_generate(s, sampler, prompt, n_prompt, &options, &result, &err)) fail_msg("%s", err.message);
    sumi_sampler_free(sampler);
    assert_int_equal(result.n_prompt_tokens, n_prompt);
    assert_true(result.prompt_seconds >= 0 && result.generate_seconds >= 0);
    return result;
}

static sumi_generate_result tell(const story *t, sumi_session *s, sumi_generate_options options, listener *l)
{
    const sumi_sampling sampling = greedy();
    return generate_with(&t->e, s, &sampling, t->prompt, t->n_prompt, options, l);
}

static sumi_generate_options up_to(int32_t max_new_tokens)
{
    sumi_generate_options options = sumi_generate_defaults();
    options.max_new_tokens = max_new_tokens;
    return options;
}

/* The first n_tokens of the session: the prompt, then the reference. */
static void assert_history(const story *t, const sumi_session *s)
{
    const int32_t n = sumi_session_n_tokens(s) - t->n_prompt;
    assert_in_range(n, 0, N_REFERENCE);
    assert_memory_equal(sumi_session_tokens(s), t->prompt, (size_t)t->n_prompt * sizeof(int32_t));
    assert_memory_equal(sumi_session_tokens(s) + t->n_prompt, t->tokens, (size_t)n * sizeof(int32_t));
}

/* ---- Length, reuse ----------------------------------------------------------------------------------------------
 */

static void test_text_is_that_of_single_steps(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, up_to(N_REFERENCE), &l);
    assert_int_equal(r.finish, SUMI_FINISH_LENGTH);
    assert_int_equal(r.n_new_tokens, N_REFERENCE);
    assert_int_equal(r.n_cached_tokens, 0);
    assert_string_equal(l.text, t->text);
    assert_true(l.n_pieces > N_REFERENCE / 2); /* as it comes, not at the end */
    assert_history(t, s);
    sumi_session_free(s);
}

static void test_no_new_tokens_and_no_callback(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, up_to(0), &l);
    assert_int_equal(r.finish, SUMI_FINISH_LENGTH);
    assert_int_equal(r.n_new_tokens, 0);
    assert_int_equal(l.n_bytes, 0);
    assert_int_equal(sumi_session_n_tokens(s), t->n_prompt);

    const sumi_generate_options silent = up_to(3);
    const sumi_sampling sampling = greedy();
    sumi_sampler *sampler = sampler_open(&t->e, &sampling);
    assert_int_equal(sumi_generate(s, sampler, t->prompt, t->n_prompt, &silent, NULL, NULL), SUMI_OK);
    assert_history(t, s);
    sumi_sampler_free(sampler);
    sumi_session_free(s);
}

static void test_cached_prefix_changes_nothing_but_the_work(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    listener l = { 0 };
    tell(t, s, up_to(N_REFERENCE), &l);
    sumi_generate_result r = tell(t, s, up_to(N_REFERENCE), &l); /* the same prompt again */
    assert_int_equal(r.n_cached_tokens, t->n_prompt - 1);
    assert_string_equal(l.text, t->text);

    int32_t longer[64 + 20]; /* the prompt and what was generated: a conversation going on */
    memcpy(longer, t->prompt, (size_t)t->n_prompt * sizeof *longer);
    memcpy(longer + t->n_prompt, t->tokens, 20 * sizeof *longer);
    const sumi_sampling sampling = greedy();
    r = generate_with(&t->e, s, &sampling, longer, t->n_prompt + 20, up_to(N_REFERENCE - 20), &l);
    assert_int_equal(r.n_cached_tokens, t->n_prompt + 19);
    assert_string_equal(l.text, t->text + t->text_ends[19]);

    longer[t->n_prompt] = (longer[t->n_prompt] + 1) % t->e.vocab; /* differs after the prompt */
    r = generate_with(&t->e, s, &sampling, longer, t->n_prompt + 20, up_to(5), &l);
    assert_int_equal(r.n_cached_tokens, t->n_prompt);
    r = tell(t, s, up_to(N_REFERENCE), &l);
    assert_string_equal(l.text, t->text);
    sumi_session_free(s);
}

static void test_ends_with_the_context(void **state)
{
    const story *t = *state;
    const int32_t room = 9;
    sumi_session *s = session_open(&t->e, t->n_prompt + room, false);
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, up_to(-1), &l);
    assert_int_equal(r.finish, SUMI_FINISH_LENGTH);
    assert_int_equal(r.n_new_tokens, room + 1); /* the last one need not fit: nothing follows it */
    assert_int_equal(l.n_bytes, t->text_ends[room]);
    assert_memory_equal(l.text, t->text, l.n_bytes);
    assert_int_equal(sumi_session_n_tokens(s), t->n_prompt + room);
    sumi_session_free(s);
}

static void test_refusals_leave_the_session_alone(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 16, false);
    eval(s, t->prompt, 3, SUMI_LOGITS_NONE);
    const sumi_sampling sampling = greedy();
    sumi_sampler *sampler = sampler_open(&t->e, &sampling);
    int32_t long_prompt[17];
    fill_tokens(long_prompt, 17, t->e.vocab, 2);
    sumi_generate_options options = up_to(1);
    sumi_error err;
    assert_int_equal(sumi_generate(s, sampler, long_prompt, 17, &options, NULL, &err), SUMI_ELIMIT);
    assert_non_null(strstr(err.message, "17"));
    assert_non_null(strstr(err.message, "16"));
    assert_int_equal(sumi_generate(s, sampler, long_prompt, 0, &options, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_generate(s, sampler, NULL, 3, &options, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_generate(s, NULL, long_prompt, 3, &options, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_generate(NULL, sampler, long_prompt, 3, &options, NULL, &err), SUMI_EINVAL);
    sumi_sampler *other; /* for another vocabulary: it would read past the logits */
    assert_int_equal(sumi_sampler_new(&other, &sampling, t->e.vocab + 1, NULL), SUMI_OK);
    assert_int_equal(sumi_generate(s, other, long_prompt, 3, &options, NULL, &err), SUMI_EINVAL);
    assert_non_null(strstr(err.message, "sampler is for"));
    sumi_sampler_free(other);
    static const char *const stops[] = { "fine", "" };
    options.stop = stops;
    options.n_stop = 2;
    assert_int_equal(sumi_generate(s, sampler, long_prompt, 3, &options, NULL, &err), SUMI_EINVAL);
    assert_int_equal(sumi_session_n_tokens(s), 3);
    assert_memory_equal(sumi_session_tokens(s), t->prompt, 3 * sizeof(int32_t));
    sumi_sampler_free(sampler);
    sumi_session_free(s);
}

/* ---- Stop strings ------------------------------------------------------------------------------------------------
 */

/* The text before the first place of `stop`, no piece of it beyond, and no token more than needed. */
static void check_stop(const story *t, sumi_session *s, const char *const *stop, int32_t n_stop, const char *found)
{
    const char *place = strstr(t->text, found);
    assert_non_null(place);
    const size_t n_kept = (size_t)(place - t->text);
    sumi_generate_options options = up_to(N_REFERENCE);
    options.stop = stop;
    options.n_stop = n_stop;
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, options, &l);
    assert_int_equal(r.finish, SUMI_FINISH_STOP);
    if (l.n_bytes != n_kept || memcmp(l.text, t->text, n_kept) != 0)
        fail_msg("stop \"%s\": \"%s\", expected the first %zu bytes of \"%s\"", found, l.text, n_kept, t->text);
    assert_in_range(r.n_new_tokens, 1, N_REFERENCE);
    assert_true(t->text_ends[r.n_new_tokens - 1] >= n_kept + strlen(found));
    if (r.n_new_tokens > 1) assert_true(t->text_ends[r.n_new_tokens - 2] < n_kept + strlen(found));
    assert_history(t, s);
}

/* Strings over every kind of border: from before the end of token i to after it, and over whole tokens. */
static void test_stop_strings_over_token_borders(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    static const struct {
        size_t before, after;
    } shapes[] = { { 1, 1 }, { 2, 3 }, { 3, 12 }, { 0, 1 } };
    for (int32_t i = 1; i < N_REFERENCE - 6; i += 11) {
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            char stop[32] = "";
            const size_t border = t->text_ends[i];
            memcpy(stop, t->text + border - shapes[k].before, shapes[k].before + shapes[k].after);
            const char *const stops[] = { stop };
            check_stop(t, s, stops, 1, stop);
        }
    }
    sumi_session_free(s);
}

static void test_the_first_of_several_stop_strings_wins(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    char early[16] = "", late[16] = "", almost[24] = "";
    memcpy(early, t->text + t->text_ends[9] - 2, 7);
    memcpy(late, t->text + t->text_ends[25] - 2, 7);
    memcpy(almost, t->text + t->text_ends[5], 12); /* begins like the text, long before, and goes on otherwise */
    almost[strlen(almost)] = '#';
    const char *const stops[] = { late, almost, early };
    check_stop(t, s, stops, 3, strstr(t->text, late) < strstr(t->text, early) ? late : early);
    sumi_session_free(s);
}

/* A stop string that contains another's beginning: when the longer one fails the shorter one still counts. */
static void test_a_stop_string_inside_a_failed_one(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    char outer[32] = "", inner[8] = "";
    memcpy(outer, t->text + t->text_ends[7] - 1, 14);
    memcpy(inner, outer + 4, 5);
    outer[strlen(outer)] = '#';
    const char *const stops[] = { outer, inner };
    check_stop(t, s, stops, 2, inner);
    sumi_session_free(s);
}

static void test_text_held_back_comes_in_the_end(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    char stop[16] = "";
    memcpy(stop, t->text + t->text_ends[N_REFERENCE - 1] - 4, 4);
    stop[strlen(stop)] = '#';
    const char *const stops[] = { stop };
    sumi_generate_options options = up_to(N_REFERENCE);
    options.stop = stops;
    options.n_stop = 1;
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, options, &l);
    assert_int_equal(r.finish, SUMI_FINISH_LENGTH);
    assert_string_equal(l.text, t->text);

    l.n_wanted = l.n_pieces; /* the caller may say no to the last piece, too */
    assert_int_equal(tell(t, s, options, &l).finish, SUMI_FINISH_CANCELLED);
    assert_string_equal(l.text, t->text);
    sumi_session_free(s);
}

/* Text is held back only while it can still become a stop string: with one that begins with a byte the text does
 * not have, pieces are those of a generation without it. */
static void test_text_is_not_held_back_needlessly(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    listener plain = { 0 }, watched = { 0 };
    tell(t, s, up_to(N_REFERENCE), &plain);
    static const char *const stops[] = { "\x01 a very long stop string that never comes" };
    sumi_generate_options options = up_to(N_REFERENCE);
    options.stop = stops;
    options.n_stop = 1;
    tell(t, s, options, &watched);
    assert_int_equal(watched.n_pieces, plain.n_pieces);
    assert_memory_equal(watched.piece_ends, plain.piece_ends, (size_t)plain.n_pieces * sizeof *plain.piece_ends);
    sumi_session_free(s);
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------
 */

static void test_callback_cancels_and_the_session_goes_on(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    static const int32_t counts[] = { 1, 2, 7 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        listener l = { .n_wanted = counts[i] };
        const sumi_generate_result r = tell(t, s, up_to(N_REFERENCE), &l);
        assert_int_equal(r.finish, SUMI_FINISH_CANCELLED);
        assert_int_equal(l.n_pieces, counts[i]);
        assert_memory_equal(l.text, t->text, l.n_bytes);
        assert_in_range(r.n_new_tokens, counts[i], N_REFERENCE - 1);
        assert_history(t, s);
    }
    listener l = { 0 };
    const sumi_generate_result r = tell(t, s, up_to(N_REFERENCE), &l);
    assert_int_equal(r.n_cached_tokens, t->n_prompt - 1);
    assert_string_equal(l.text, t->text);
    sumi_session_free(s);
}

static void test_callback_cancels_between_chunks_of_a_long_prompt(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    int32_t prompt[400];
    fill_tokens(prompt, 400, e.vocab, 6);
    const sumi_sampling sampling = greedy();
    listener expected = { 0 }, l = { .refuse_empty = true };
    generate_with(&e, s, &sampling, prompt, 400, up_to(10), &expected);
    truncate_to(s, 0);
    sumi_generate_result r = generate_with(&e, s, &sampling, prompt, 400, up_to(10), &l);
    assert_int_equal(r.finish, SUMI_FINISH_CANCELLED);
    assert_int_equal(r.n_new_tokens, 0);
    assert_int_equal(l.n_bytes, 0);
    const int32_t n_done = sumi_session_n_tokens(s);
    assert_in_range(n_done, 1, 399);
    assert_memory_equal(sumi_session_tokens(s), prompt, (size_t)n_done * sizeof *prompt);
    l.refuse_empty = false;
    r = generate_with(&e, s, &sampling, prompt, 400, up_to(10), &l);
    assert_int_equal(r.n_cached_tokens, n_done); /* what was done is not done again */
    assert_string_equal(l.text, expected.text);
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- The end of a text
 * --------------------------------------------------------------------------------------------- */

enum { TINY_EOG = 324 };

/* A token after which the tiny model ends its text. */
static int32_t find_last_word(const engine *e, sumi_session *s)
{
    for (int32_t token = 0; token < e->vocab * e->vocab; token++) {
        const int32_t text[] = { token / e->vocab, token % e->vocab };
        truncate_to(s, 0);
        eval(s, text, 2, SUMI_LOGITS_LAST);
        if (argmax(sumi_session_logits(s, 0), e->vocab) == TINY_EOG) return token;
    }
    fail_msg("the tiny model never ends a text");
    return 0;
}

static void test_end_of_generation_token(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    const int32_t pair = find_last_word(&e, s), prompt[] = { pair / e.vocab, pair % e.vocab };
    const sumi_sampling sampling = greedy();
    sumi_generate_options options = up_to(5);
    listener l = { 0 };
    sumi_generate_result r = generate_with(&e, s, &sampling, prompt, 2, options, &l);
    assert_int_equal(r.finish, SUMI_FINISH_EOG);
    assert_int_equal(r.n_new_tokens, 1);
    assert_int_equal(l.n_bytes, 0);

    options.ignore_eog = true;
    r = generate_with(&e, s, &sampling, prompt, 2, options, &l);
    assert_int_equal(r.finish, SUMI_FINISH_LENGTH);
    assert_int_equal(r.n_new_tokens, 5);
    const size_t n_plain = l.n_bytes;
    options.special = true; /* the same, with the text of the end token */
    generate_with(&e, s, &sampling, prompt, 2, options, &l);
    assert_true(l.n_bytes > n_plain);
    char *end;
    size_t n_end;
    const int32_t eog = TINY_EOG;
    assert_int_equal(sumi_detokenize(e.model, &eog, 1, true, &end, &n_end, NULL), SUMI_OK);
    assert_true(n_end > 0);
    assert_memory_equal(l.text, end, n_end);
    free(end);
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- Characters
 * ------------------------------------------------------------------------------------------------------ */

/* Bytes of the well-formed character at p (Unicode standard, table 3-7), 0 if there is none. */
static size_t character_bytes(const unsigned char *p, size_t n)
{
    const size_t length = p[0] < 0x80                   ? 1
                          : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
                          : (p[0] & 0xF0) == 0xE0       ? 3
                          : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                                        : 0;
    if (length == 0 || length > n) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
        (p[0] == 0xF4 && p[1] > 0x8F))
        return 0;
    return length;
}

/* A model with random weights draws random bytes. */
static void test_pieces_are_whole_characters(void **state)
{
    (void)state;
    engine e = engine_open(TINY_MODEL);
    sumi_session *s = session_open(&e, 0, false);
    sumi_sampling sampling = sumi_sampling_defaults();
    sampling.top_k = 0;
    sampling.top_p = 1;
    sampling.min_p = 0;
    sampling.temperature = 4;
    sampling.seed = 3;
    sumi_generate_options options = up_to(500);
    options.ignore_eog = true;
    const int32_t prompt[] = { 1 };
    listener l = { 0 };
    generate_with(&e, s, &sampling, prompt, 1, options, &l);
    size_t at = 0;
    int32_t n_replaced = 0, n_long = 0;
    for (int32_t i = 0; i < l.n_pieces; i++) {
        while (at < l.piece_ends[i]) {
            const size_t n = character_bytes((const unsigned char *)l.text + at, l.piece_ends[i] - at);
            if (n == 0) fail_msg("piece %d breaks a character at byte %zu", i, at);
            n_long += n > 1;
            n_replaced += n == 3 && memcmp(l.text + at, "\xEF\xBF\xBD", 3) == 0;
            at += n;
        }
    }
    assert_true(n_long > 0 && n_replaced > 0); /* or this test has tested nothing */
    sumi_session_free(s);
    engine_close(&e);
}

/* ---- Sampling -----------------------------------------------------------------------------------------------------
 */

static void test_penalties_know_prompt_and_generated_tokens(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    sumi_sampling sampling = greedy();
    sampling.presence_penalty = 1000;
    sampling.penalty_last_n = -1;
    sumi_generate_options options = up_to(N_REFERENCE);
    options.ignore_eog = true;
    listener l = { 0 };
    generate_with(&t->e, s, &sampling, t->prompt, t->n_prompt, options, &l);
    const int32_t *tokens = sumi_session_tokens(s);
    const int32_t n = sumi_session_n_tokens(s);
    assert_true(n >= t->n_prompt + N_REFERENCE - 1);
    for (int32_t i = t->n_prompt; i < n; i++)
        for (int32_t j = 0; j < i; j++)
            if (tokens[i] == tokens[j]) fail_msg("token %d came at %d and again at %d", tokens[i], j, i);
    sumi_session_free(s);
}

static void test_one_seed_gives_one_text(void **state)
{
    const story *t = *state;
    sumi_session *s = session_open(&t->e, 128, false);
    sumi_sampling sampling = sumi_sampling_defaults();
    sampling.seed = 17;
    listener first = { 0 }, second = { 0 }, other = { 0 };
    generate_with(&t->e, s, &sampling, t->prompt, t->n_prompt, up_to(30), &first);
    generate_with(&t->e, s, &sampling, t->prompt, t->n_prompt, up_to(30), &second);
    sampling.seed = 18;
    generate_with(&t->e, s, &sampling, t->prompt, t->n_prompt, up_to(30), &other);
    assert_string_equal(first.text, second.text);
    assert_string_not_equal(first.text, other.text);
    sumi_session_free(s);
}

/* A model whose numbers go bad in one place: an error that names the layer, and no token. */
static void test_bad_numbers_are_an_error(void **state)
{
    (void)state;
    static const char path[] = "engine_generate_bad.gguf";
    sumi_file_info *info;
    sumi_error err;
    if (sumi_file_info_open(&info, TINY_MODEL, &err)) fail_msg("%s", err.message);
    sumi_tensor_info norm = { 0 };
    for (int64_t i = 0; i < sumi_file_info_n_tensors(info); i++) {
        assert_int_equal(sumi_file_info_tensor(info, i, &norm, NULL), SUMI_OK);
        if (strcmp(norm.name, "blk.1.ffn_norm.weight") == 0) break;
    }
    assert_string_equal(norm.name, "blk.1.ffn_norm.weight");
    assert_string_equal(norm.type_name, "F32");
    const size_t n_bytes = (size_t)sumi_file_info_size_bytes(info);
    char *bytes = new_array(n_bytes, 1);
    FILE *f = fopen(TINY_MODEL, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, n_bytes, f), n_bytes);
    fclose(f);
    const float nan = NAN;
    for (size_t i = 0; i < (size_t)norm.dims[0]; i++)
        memcpy(bytes + norm.offset_bytes + i * sizeof nan, &nan, sizeof nan);
    sumi_file_info_close(info);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
    free(bytes);

    engine e = engine_open(path);
    const int32_t prompt[] = { 4, 5 };
    for (int32_t exact = 0; exact < 2; exact++) {
        sumi_session *s = session_open(&e, 64, exact);
        const sumi_sampling sampling = greedy();
        sumi_sampler *sampler = sampler_open(&e, &sampling);
        const sumi_generate_options options = up_to(3);
        sumi_generate_result r;
        assert_int_equal(sumi_generate(s, sampler, prompt, 2, &options, &r, &err), SUMI_ENUMERIC);
        if (!strstr(err.message, "layer 1")) fail_msg("%s", err.message);
        int32_t next[2];
        assert_int_equal(sumi_session_verify(s, prompt, 2, next, &err), SUMI_ENUMERIC);
        sumi_sampler_free(sampler);
        sumi_session_free(s);
    }
    engine_close(&e);
    unlink(path);
}

/* ---- Threads ------------------------------------------------------------------------------------------------------
 */

typedef struct teller {
    const story *story;
    sumi_session *session;
    listener listener;
    sumi_status status;
} teller;

static bool listen_quietly(void *user, const char *text, size_t n_bytes) /* no assertions outside the main thread */
{
    listener *l = user;
    if (l->n_bytes + n_bytes >= MAX_TEXT) return false;
    memcpy(l->text + l->n_bytes, text, n_bytes);
    l->n_bytes += n_bytes;
    return true;
}

static void *run_teller(void *argument)
{
    teller *me = argument;
    const sumi_sampling sampling = greedy();
    sumi_sampler *sampler;
    me->status = sumi_sampler_new(&sampler, &sampling, me->story->e.vocab, NULL);
    if (me->status) return NULL;
    sumi_generate_options options = up_to(N_REFERENCE);
    options.on_text = listen_quietly;
    options.user = &me->listener;
    me->status = sumi_generate(me->session, sampler, me->story->prompt, me->story->n_prompt, &options, NULL, NULL);
    sumi_sampler_free(sampler);
    return NULL;
}

static void test_sessions_in_two_threads_do_not_meet(void **state)
{
    const story *t = *state;
    enum { N_TELLERS = 2 };
    teller *tellers = new_array(N_TELLERS, sizeof *tellers);
    pthread_t threads[N_TELLERS];
    for (int32_t i = 0; i < N_TELLERS; i++) {
        tellers[i] = (teller){ .story = t, .session = session_open(&t->e, 128, false) };
        assert_int_equal(pthread_create(&threads[i], NULL, run_teller, &tellers[i]), 0);
    }
    for (int32_t i = 0; i < N_TELLERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(tellers[i].status, SUMI_OK);
        assert_string_equal(tellers[i].listener.text, t->text);
        sumi_session_free(tellers[i].session);
    }
    free(tellers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_that_of_single_steps),
        cmocka_unit_test(test_no_new_tokens_and_no_callback),
        cmocka_unit_test(test_cached_prefix_changes_nothing_but_the_work),
        cmocka_unit_test(test_ends_with_the_context),
        cmocka_unit_test(test_refusals_leave_the_session_alone),
        cmocka_unit_test(test_stop_strings_over_token_borders),
        cmocka_unit_test(test_the_first_of_several_stop_strings_wins),
        cmocka_unit_test(test_a_stop_string_inside_a_failed_one),
        cmocka_unit_test(test_text_held_back_comes_in_the_end),
        cmocka_unit_test(test_text_is_not_held_back_needlessly),
        cmocka_unit_test(test_callback_cancels_and_the_session_goes_on),
        cmocka_unit_test(test_callback_cancels_between_chunks_of_a_long_prompt),
        cmocka_unit_test(test_end_of_generation_token),
        cmocka_unit_test(test_pieces_are_whole_characters),
        cmocka_unit_test(test_penalties_know_prompt_and_generated_tokens),
        cmocka_unit_test(test_one_seed_gives_one_text),
        cmocka_unit_test(test_bad_numbers_are_an_error),
        cmocka_unit_test(test_sessions_in_two_threads_do_not_meet),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
