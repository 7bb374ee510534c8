/* line_input.c - libedit for people, getline for pipes. The history lives in $XDG_STATE_HOME/sumi/history. */
#include "line_input.h"
#include "terminal.h"

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 1000 };

struct line_input {
    EditLine *editor; /* NULL: not a terminal */
    History *history;
    const char *prompt;
    char *line; /* owned; its last newline is cut */
    size_t capacity_bytes;
    char history_path[PATH_MAX]; /* "": no place for a history */
};

/* ---- History ---------------------------------------------------------------------------------------- */

/* Create every folder of `path` up to its last slash. History is private: nobody else may enter. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* one that is there already is as good; a real failure shows when the file is saved */
        *slash = '/';
    }
}

static void find_history_path(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int n = 0;
    path[0] = '\0';
    if (state && state[0] == '/') /* the XDG base directory specification: relative paths are ignored */
        n = snprintf(path, PATH_MAX, "%s/sumi/history", state);
    else if (home && home[0] == '/')
        n = snprintf(path, PATH_MAX, "%s/.local/state/sumi/history", home);
    if (n >= PATH_MAX) path[0] = '\0';
}

static void load_history(line_input *in)
{
    HistEvent event;
    history(in->history, &event, H_SETSIZE, HISTORY_LINES);
    history(in->history, &event, H_SETUNIQUE, 1);
    find_history_path(in->history_path);
    if (in->history_path[0]) history(in->history, &event, H_LOAD, in->history_path);
}

static void save_history(line_input *in)
{
    HistEvent event;
    if (!in->history_path[0]) return;
    make_folders(in->history_path);
    history(in->history, &event, H_SAVE, in->history_path);
    chmod(in->history_path, 0600);
}

/* ---- Editing ---------------------------------------------------------------------------------------- */

static const char *editor_prompt(EditLine *editor)
{
    line_input *in = NULL;
    el_get(editor, EL_CLIENTDATA, &in);
    return in->prompt;
}

/* Read one character for libedit. Its own reader hides the first interrupted read; this one ends the line. */
static int read_character(EditLine *editor, wchar_t *character)
{
    (void)editor;
    mbstate_t state = { 0 };
    for (;;) {
        char byte;
        if (!terminal_wait_for_input()) return -1;
        const ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return (int)n;
        const size_t used = mbrtowc(character, &byte, 1, &state);
        if (used != (size_t)-2 && used != (size_t)-1) return 1;
        if (used == (size_t)-1) state = (mbstate_t){ 0 }; /* not UTF-8: drop what there was */
    }
}

static void close_editor(line_input *in)
{
    if (in->editor) el_end(in->editor);
    if (in->history) history_end(in->history);
    in->editor = NULL;
    in->history = NULL;
}

/* False when libedit cannot work here; plain lines do then. */
static bool open_editor(line_input *in)
{
    in->history = history_init();
    in->editor = el_init("sumi", stdin, stderr, stderr);
    if (!in->history || !in->editor) {
        close_editor(in);
        return false;
    }
    el_set(in->editor, EL_CLIENTDATA, in);
    el_set(in->editor, EL_PROMPT, editor_prompt);
    el_set(in->editor, EL_EDITOR, "emacs");
    el_set(in->editor, EL_HIST, history, in->history);
    el_set(in->editor, EL_GETCFN, read_character);
    load_history(in);
    return true;
}

line_input *line_input_new(const char *prompt)
{
    line_input *in = calloc(1, sizeof *in);
    if (!in) return NULL;
    in->prompt = prompt;
    if (isatty(STDIN_FILENO) && terminal_is_stderr()) open_editor(in);
    return in;
}

void line_input_free(line_input *in)
{
    if (!in) return;
    if (in->history) save_history(in);
    close_editor(in);
    free(in->line);
    free(in);
}

bool line_input_is_interactive(const line_input *in) { return in->editor != NULL; }

/* ---- Reading ---------------------------------------------------------------------------------------- */

static bool keep_line(line_input *in, const char *text, size_t n_bytes)
{
    if (n_bytes + 1 > in->capacity_bytes) {
        char *larger = realloc(in->line, n_bytes + 1);
        if (!larger) return false;
        in->line = larger;
        in->capacity_bytes = n_bytes + 1;
    }
    memcpy(in->line, text, n_bytes);
    in->line[n_bytes] = '\0';
    return true;
}

static line_result read_edited(line_input *in)
{
    int n = 0;
    const char *text = el_gets(in->editor, &n);
    if (interrupt_seen()) {
        el_reset(in->editor);
        return LINE_INTERRUPTED;
    }
    if (!text || n <= 0 || !keep_line(in, text, (size_t)n)) return LINE_END;
    HistEvent event;
    if (text[0] != '\n') history(in->history, &event, H_ENTER, text);
    return LINE_READ;
}

static line_result read_plain(line_input *in)
{
    const ssize_t n = getline(&in->line, &in->capacity_bytes, stdin);
    return n < 0 ? LINE_END : LINE_READ;
}

line_result line_input_read(line_input *in, const char **line)
{
    const line_result result = in->editor ? read_edited(in) : read_plain(in);
    if (result == LINE_READ) in->line[strcspn(in->line, "\r\n")] = '\0';
    *line = result == LINE_READ ? in->line : NULL;
    return result;
}
