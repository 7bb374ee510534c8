/* conversation.c - the messages of a chat. */
#include "conversation.h"
#include "output.h"
#include "report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

bool conversation_add(conversation *c, const char *role, const char *content)
{
    if (c->n == c->capacity) {
        const int32_t capacity = c->capacity ? 2 * c->capacity : 16;
        sumi_message *larger = realloc(c->messages, (size_t)capacity * sizeof *larger);
        if (!larger) return false;
        c->messages = larger;
        c->capacity = capacity;
    }
    char *copy = strdup(content);
    if (!copy) return false;
    c->messages[c->n].role = role;
    c->messages[c->n].content = copy;
    c->n++;
    return true;
}

void conversation_truncate(conversation *c, int32_t n)
{
    while (c->n > n) free((char *)c->messages[--c->n].content);
}

bool conversation_ends_with(const conversation *c, const char *role)
{
    return c->n > 0 && !strcmp(c->messages[c->n - 1].role, role);
}

void conversation_free(conversation *c)
{
    conversation_truncate(c, 0);
    free(c->messages);
    *c = (conversation){ 0 };
}

int conversation_save(const conversation *c, const char *path)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < c->n; i++) {
        json_t *message = json_pack("{s:s, s:s}", "role", c->messages[i].role, "content", c->messages[i].content);
        if (json_array_append_new(array, message)) {
            json_decref(array);
            return report_failure("%s: message %d is not UTF-8, which JSON needs", path, i + 1);
        }
    }
    staged_file file;
    int status = staged_file_begin(&file, path);
    if (!status) {
        const bool failed = json_dumpf(array, file.stream, JSON_INDENT(2)) != 0;
        fputc('\n', file.stream);
        if (failed) {
            staged_file_discard(&file);
            status = report_failure("%s: cannot write", path);
        } else {
            status = staged_file_commit(&file);
        }
    }
    json_decref(array);
    return status;
}
