/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/operator_hint.h"

/*
 * Set by the recipes. Messages then name a recipe, because its user does not have this program on
 * the path, and because a recipe does more than the program alone.
 */
#define BY_RECIPE "STEPWISE_BY_RECIPE"

static const char *program_name = "";
static const char *protocol_name = "";
static bool by_recipe;

void operator_hint_open(const struct stepwise_protocol *protocol, const char *program)
{
	program_name = program;
	protocol_name = protocol->name;
	by_recipe = getenv(BY_RECIPE) != NULL;
}

const char *operator_hint(const char *verb, const char *arguments)
{
	static char text[1024];
	const char *space = *arguments ? " " : "";

	if (!by_recipe)
		snprintf(text, sizeof(text), "%s %s%s%s", program_name, verb, space, arguments);
	else if (!strcmp(verb, "unload") || !strcmp(verb, "status")) /* both cover all protocols */
		snprintf(text, sizeof(text), "just %s%s%s", verb, space, arguments);
	else
		snprintf(text, sizeof(text), "just %s %s%s%s", verb, protocol_name, space,
			 arguments);
	return text;
}
