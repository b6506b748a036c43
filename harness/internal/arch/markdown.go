package arch

import "strings"

// tables returns the body rows of the tables of a markdown document, by header. The key is the header's cells joined by
// " | "; rows of tables with the same header are appended. A row with too few cells is padded.
func tables(md string) map[string][][]string {
	found := map[string][][]string{}
	lines := strings.Split(md, "\n")
	for n := 0; n+1 < len(lines); n++ {
		if !strings.HasPrefix(lines[n], "|") || !isRule(lines[n+1]) {
			continue
		}
		header := cells(lines[n])
		key := strings.Join(header, " | ")
		for n += 2; n < len(lines) && strings.HasPrefix(lines[n], "|"); n++ {
			row := cells(lines[n])
			for len(row) < len(header) {
				row = append(row, "")
			}
			found[key] = append(found[key], row)
		}
	}
	return found
}

// isRule reports the line of dashes between header and body.
func isRule(line string) bool {
	return strings.HasPrefix(line, "|") && strings.Trim(line, "|-: ") == "" && strings.Contains(line, "-")
}

// cells splits a table line at its bars.
func cells(line string) []string {
	parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for n := range parts {
		parts[n] = strings.TrimSpace(parts[n])
	}
	return parts
}
