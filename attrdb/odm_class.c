/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* odm_class: the object classes and their fields. */
#include "odm_class.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const struct odm_class classes[] = {
	{"PdDv", 1, false, {
		{"uniquetype", ODM_UNIQUE_SIZE, true},
		{"type", ODM_NAME_SIZE, true},
		{"class", ODM_NAME_SIZE, true},
		{"subclass", ODM_NAME_SIZE, true},
		{"prefix", ODM_NAME_SIZE, true},
		{"devid", ODM_NAME_SIZE, false},
		{"base", 0, false},
		{"has_vpd", 0, false},
		{"detectable", 0, false},
		{"chgstatus", 0, false},
		{"bus_ext", 0, false},
		{"inventory_only", 0, false},
		{"fru", 0, false},
		{"led", 0, false},
		{"setno", 0, false},
		{"msgno", 0, false},
		{"catalog", ODM_NAME_SIZE, false},
		{"DvDr", ODM_NAME_SIZE, false},
		{"Define", ODM_METHOD_SIZE, false},
		{"Configure", ODM_METHOD_SIZE, false},
		{"Change", ODM_METHOD_SIZE, false},
		{"Unconfigure", ODM_METHOD_SIZE, false},
		{"Undefine", ODM_METHOD_SIZE, false},
		{"Start", ODM_METHOD_SIZE, false},
		{"Stop", ODM_METHOD_SIZE, false},
		{0}}},
	{"PdAt", 2, false, {
		{"uniquetype", ODM_UNIQUE_SIZE, true},
		{"attribute", ODM_NAME_SIZE, true},
		{"deflt", ODM_VALUE_SIZE, true},
		{"values", ODM_VALUE_SIZE, true},
		{"width", ODM_NAME_SIZE, false},
		{"type", ODM_FLAG_SIZE, true},
		{"generic", ODM_FLAG_SIZE, false},
		{"rep", ODM_FLAG_SIZE, false},
		{"nls_index", 0, false},
		{0}}},
	{"PdAtXtd", 3, false, {
		{"uniquetype", ODM_UNIQUE_SIZE, true},
		{"attribute", ODM_NAME_SIZE, false},
		{"operation", ODM_NAME_SIZE, false},
		{"classification", ODM_FLAG_SIZE, false},
		{"sequence", ODM_NAME_SIZE, false},
		{"operation_value", ODM_VALUE_SIZE, false},
		{"description", ODM_VALUE_SIZE, false},
		{"list_cmd", ODM_VALUE_SIZE, false},
		{"list_values_cmd", ODM_VALUE_SIZE, false},
		{"change_cmd", ODM_VALUE_SIZE, false},
		{"help", ODM_VALUE_SIZE, false},
		{"nls_values", ODM_VALUE_SIZE, false},
		{0}}},
	{"PdMsg", 3, false, {
		{"catalog", ODM_NAME_SIZE, true},
		{"setno", 0, true},
		{"msgno", 0, true},
		{"text", ODM_VALUE_SIZE, true},
		{0}}},
	{"CuDv", 1, false, {
		{"name", ODM_NAME_SIZE, true},
		{"status", 0, true},
		{"chgstatus", 0, true},
		{"ddins", ODM_NAME_SIZE, false},
		{"location", ODM_LOCATION_SIZE, false},
		{"parent", ODM_NAME_SIZE, false},
		{"connwhere", ODM_LOCATION_SIZE, false},
		{"PdDvLn", ODM_UNIQUE_SIZE, true},
		{0}}},
	{"CuAt", 2, false, {
		{"name", ODM_NAME_SIZE, true},
		{"attribute", ODM_NAME_SIZE, true},
		{"value", ODM_VALUE_SIZE, true},
		{"type", ODM_FLAG_SIZE, true},
		{"generic", ODM_FLAG_SIZE, true},
		{"rep", ODM_FLAG_SIZE, true},
		{"nls_index", 0, false},
		{0}}},
	{"CuDep", 2, false, {
		{"name", ODM_NAME_SIZE, true},
		{"dependency", ODM_NAME_SIZE, true},
		{0}}},
	{"configured", 2, true, {
		{"name", ODM_NAME_SIZE, true},
		{"attribute", ODM_NAME_SIZE, true},
		{"value", ODM_VALUE_SIZE, true},
		{"running", ODM_VALUE_SIZE, true},
		{0}}},
	{"effective", 2, true, {
		{"name", ODM_NAME_SIZE, true},
		{"attribute", ODM_NAME_SIZE, true},
		{"value", ODM_VALUE_SIZE, true},
		{0}}},
	{"history", 1, true, {
		{"id", 0, true},
		{"time", 0, true},
		{"uid", 0, true},
		{"user", ODM_VALUE_SIZE, true},
		{"command", ODM_VALUE_SIZE, true},
		{"device", ODM_NAME_SIZE, true},
		{"attribute", ODM_NAME_SIZE, true},
		{"old", ODM_VALUE_SIZE, true},
		{"new", ODM_VALUE_SIZE, true},
		{0}}},
	{"sm_menu_opt", 2, false, {
		{"id", ODM_ID_SIZE, true},
		{"id_seq_num", ODM_NAME_SIZE, true},
		{"next_id", ODM_ID_SIZE, false},
		{"text", ODM_VALUE_SIZE, true},
		{"text_msg_file", ODM_VALUE_SIZE, false},
		{"text_msg_set", 0, false},
		{"text_msg_id", 0, false},
		{"next_type", ODM_NAME_SIZE, false},
		{"alias", ODM_NAME_SIZE, false},
		{"help_msg_id", ODM_NAME_SIZE, false},
		{"help_msg_loc", ODM_VALUE_SIZE, false},
		{"help_msg_base", ODM_VALUE_SIZE, false},
		{"help_msg_book", ODM_VALUE_SIZE, false},
		{0}}},
	{"sm_name_hdr", 1, false, {
		{"id", ODM_ID_SIZE, true},
		{"next_id", ODM_ID_SIZE, true},
		{"option_id", ODM_ID_SIZE, true},
		{"has_name_select", ODM_NAME_SIZE, false},
		{"name", ODM_VALUE_SIZE, true},
		{"name_msg_file", ODM_VALUE_SIZE, false},
		{"name_msg_set", 0, false},
		{"name_msg_id", 0, false},
		{"type", ODM_NAME_SIZE, false},
		{"ghost", ODM_NAME_SIZE, false},
		{"cmd_to_classify", ODM_VALUE_SIZE, false},
		{"cmd_to_classify_postfix", ODM_VALUE_SIZE, false},
		{"raw_field_name", ODM_ID_SIZE, false},
		{"cooked_field_name", ODM_ID_SIZE, false},
		{"next_type", ODM_NAME_SIZE, true},
		{"help_msg_id", ODM_NAME_SIZE, false},
		{"help_msg_loc", ODM_VALUE_SIZE, false},
		{"help_msg_base", ODM_VALUE_SIZE, false},
		{"help_msg_book", ODM_VALUE_SIZE, false},
		{0}}},
	{"sm_cmd_hdr", 1, false, {
		{"id", ODM_ID_SIZE, true},
		{"option_id", ODM_ID_SIZE, true},
		{"has_name_select", ODM_NAME_SIZE, false},
		{"name", ODM_VALUE_SIZE, true},
		{"name_msg_file", ODM_VALUE_SIZE, false},
		{"name_msg_set", 0, false},
		{"name_msg_id", 0, false},
		{"cmd_to_exec", ODM_VALUE_SIZE, true},
		{"ask", ODM_NAME_SIZE, false},
		{"exec_mode", ODM_NAME_SIZE, false},
		{"ghost", ODM_NAME_SIZE, false},
		{"cmd_to_discover", ODM_VALUE_SIZE, false},
		{"cmd_to_discover_postfix", ODM_VALUE_SIZE, false},
		{"name_size", 0, false},
		{"value_size", 0, false},
		{"help_msg_id", ODM_NAME_SIZE, false},
		{"help_msg_loc", ODM_VALUE_SIZE, false},
		{"help_msg_base", ODM_VALUE_SIZE, false},
		{"help_msg_book", ODM_VALUE_SIZE, false},
		{0}}},
	{"sm_cmd_opt", 2, false, {
		{"id", ODM_ID_SIZE, true},
		{"id_seq_num", ODM_NAME_SIZE, true},
		{"disc_field_name", ODM_ID_SIZE, false},
		{"name", ODM_VALUE_SIZE, true},
		{"name_msg_file", ODM_VALUE_SIZE, false},
		{"name_msg_set", 0, false},
		{"name_msg_id", 0, false},
		{"op_type", ODM_NAME_SIZE, false},
		{"entry_type", ODM_NAME_SIZE, false},
		{"entry_size", 0, false},
		{"required", ODM_NAME_SIZE, false},
		{"prefix", ODM_VALUE_SIZE, false},
		{"cmd_to_list_mode", ODM_NAME_SIZE, false},
		{"cmd_to_list", ODM_VALUE_SIZE, false},
		{"cmd_to_list_postfix", ODM_VALUE_SIZE, false},
		{"multi_select", ODM_NAME_SIZE, false},
		{"value_index", 0, false},
		{"disp_values", ODM_VALUE_SIZE, false},
		{"values_msg_file", ODM_VALUE_SIZE, false},
		{"values_msg_set", 0, false},
		{"values_msg_id", 0, false},
		{"aix_values", ODM_VALUE_SIZE, false},
		{"help_msg_id", ODM_NAME_SIZE, false},
		{"help_msg_loc", ODM_VALUE_SIZE, false},
		{"help_msg_base", ODM_VALUE_SIZE, false},
		{"help_msg_book", ODM_VALUE_SIZE, false},
		{0}}},
};
/* clang-format on */

const struct odm_class *odm_class_at(size_t i)
{
	return i < sizeof(classes) / sizeof(classes[0]) ? &classes[i] : NULL;
}

const struct odm_class *odm_class_find(const char *name)
{
	const struct odm_class *c;

	for (size_t i = 0; (c = odm_class_at(i)) != NULL; i++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const struct odm_field *odm_class_field(const struct odm_class *c,
					const char *name)
{
	for (const struct odm_field *f = c->fields; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

int odm_class_check(const struct odm_class *c, const struct stanza *s,
		    char *why, size_t size)
{
	for (unsigned i = 0; i < s->field_count; i++) {
		const struct stanza_field *given = &s->fields[i];
		const struct odm_field *f = odm_class_field(c, given->name);

		if (!f) {
			snprintf(why, size, "%s has no field %s", c->name,
				 given->name);
			return -EINVAL;
		}
		if ((f->size != 0) != (given->string != NULL)) {
			snprintf(why, size, "%s.%s must be a %s", c->name,
				 f->name, f->size ? "string" : "number");
			return -EINVAL;
		}
		if (f->size && strlen(given->string) >= f->size) {
			snprintf(why, size, "%s.%s is longer than %u bytes",
				 c->name, f->name, f->size - 1);
			return -EINVAL;
		}
	}
	for (const struct odm_field *f = c->fields; f->name; f++) {
		if (f->required && !stanza_find(s, f->name)) {
			snprintf(why, size, "%s.%s is missing", c->name,
				 f->name);
			return -EINVAL;
		}
	}
	return 0;
}
