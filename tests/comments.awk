# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# comments: prints those that a new reader stumbles over. A comment is a
# sentence with a subject, so it begins with none of the words of HEAD; in .c
# and .h files "who" is a person, so the comment names one of PERSON.
#
# usage: awk -f comments.awk FILE...      fails if it printed something

BEGIN {
	END_OF_WORD = "([^A-Za-z0-9_]|$)"
	HEAD = "^(Of|Or|Nor|Else|Who|Whom|Whose|In which|By|To|As long as" \
		"|The same)" END_OF_WORD
	WHO = "(^|[^A-Za-z0-9_])[Ww]ho(ever|m)?" END_OF_WORD
	PERSON = "(administrator|operator|user|maintainer|author|somebody)s?" \
		END_OF_WORD
	# A string or character.
	STRING = "^\"([^\"\\\\]|\\\\.)*\"|^'([^'\\\\]|\\\\.)*'"
}

function report(line, what) {
	printf "%s:%d: %s\n", FILENAME, line, what
	bad = 1
}

# Adds a line, without its marks, to the comment. An empty one ends a paragraph.
function add(line) {
	sub(/^[ \t*]+/, "", line)
	if (line != "" && !in_paragraph && line ~ HEAD)
		report(FNR, "a comment begins: " substr(line, 1, 40))
	in_paragraph = line != ""
	if (text == "")
		first = FNR
	text = text " " line
}

# The comment has ended.
function end() {
	if (is_c && text ~ WHO && tolower(text) !~ PERSON)
		report(first, "who is no person:" substr(text, 1, 60))
	text = ""
	in_paragraph = 0
}

FNR == 1 {
	is_c = FILENAME ~ /\.[ch]$/
	in_block = 0
}

# Shell and Python: "#" after a blank. Lines of nothing else are one comment.
!is_c {
	is_whole = $0 ~ /^[ \t]*#/
	if (!is_whole || !was_whole)
		end()
	was_whole = is_whole
	if (match($0, /(^|[ \t])#+/))
		add(substr($0, RSTART + RLENGTH))
	next
}

# C: from one comment to the next, past strings.
{
	rest = $0
	if (in_block && rest == "")
		add("")
	if (!in_block && rest !~ /^[ \t]*\/\//)
		end()
	while (rest != "") {
		if (in_block) {
			close_at = index(rest, "*/")
			add(close_at ? substr(rest, 1, close_at - 1) : rest)
			if (!close_at)
				break
			end()
			in_block = 0
			rest = substr(rest, close_at + 2)
		}
		if (!match(rest, /["']|\/\*|\/\//))
			break
		opener = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART)
		if (opener == "//") {
			add(substr(rest, 3))
			break
		}
		if (opener == "/*") {
			rest = substr(rest, 3)
			in_block = 1
			if (rest == "" || rest == "*")
				break
		} else {
			if (!match(rest, STRING))
				break
			rest = substr(rest, RLENGTH + 1)
		}
	}
}

END {
	exit bad
}
