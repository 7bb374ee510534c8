/* commands.h - one function per command, one file per function. argv holds what follows the command's name; the
 * result is the exit status. */
#ifndef SUMI_CLI_COMMANDS_H
#define SUMI_CLI_COMMANDS_H

int command_run(int argc, char **argv);
int command_chat(int argc, char **argv);
int command_info(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_logits(int argc, char **argv);
int command_perplexity(int argc, char **argv);
int command_bench(int argc, char **argv);

#endif
