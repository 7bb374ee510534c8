/* conversation.h - the messages of a chat, owned. */
#ifndef SUMI_CLI_CONVERSATION_H
#define SUMI_CLI_CONVERSATION_H

#include "sumi.h"

typedef struct conversation {
    sumi_message *messages; /* roles are static, contents are owned */
    int32_t n, capacity;
} conversation;

/* Append a copy. role must be a static string. False when out of memory. */
bool conversation_add(conversation *c, const char *role, const char *content);

/* Keep the first n messages. */
void conversation_truncate(conversation *c, int32_t n);

/* Is the last message from `role`? */
bool conversation_ends_with(const conversation *c, const char *role);

/* Write the messages to a file as a JSON array of {"role", "content"}. Returns the exit status. */
int conversation_save(const conversation *c, const char *path);

void conversation_free(conversation *c);

#endif
