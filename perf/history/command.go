package history

import (
	"regexp"
	"slices"
	"strings"
)

// Command returns the words of the command that measures some series of matrix, conform or perf again, without the
// program and the bench: it makes their runs and perhaps a few more. It returns nil when the names do not tell, in
// particular when they are of several commands.
func Command(series []string) []string {
	var command string
	var who, what []string
	for i, name := range series {
		words := strings.Split(name, " ")
		if !telling(words) || i > 0 && words[0] != command {
			return nil
		}
		command, who, what = words[0], append(who, words[1]), append(what, words[2])
	}
	who, what = distinct(who), distinct(what)
	switch command {
	case "matrix":
		return []string{"matrix", "--impl", strings.Join(who, ","), "--links", strings.Join(what, ",")}
	case "conform":
		for i := range what {
			what[i] = regexp.QuoteMeta(what[i])
		}
		return []string{"conform", "--impl", strings.Join(who, ","), "--focus", " (" + strings.Join(what, "|") + ")$"}
	case "perf":
		return []string{"perf", "--target", strings.Join(who, ",")}
	}
	return nil
}

// telling reports whether the words of a series' name say which run it is of: "matrix IMPL LINK NUMBER",
// "conform IMPL SCENARIO verdict" and "perf CLAIM TITLE", where number and title may have several words.
func telling(words []string) bool {
	switch words[0] {
	case "matrix":
		return len(words) >= 4
	case "conform":
		return len(words) == 4
	case "perf":
		return len(words) >= 3
	}
	return false
}

// distinct sorts words, and leaves each once.
func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
