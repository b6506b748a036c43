package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Rules are the import rules as the document states them.
type Rules struct {
	floors  []floor  // top folders, from the roof to the ground
	leaves  []string // packages that every floor may import
	imports []row    // packages, and what they may import within the module
	denials []row    // packages, and the standard packages they must not import
	modules []row    // dependencies, and the packages that may import them
}

// row is one line of a rule table for one pattern; a line that names several patterns becomes several rows.
type row struct {
	pattern string
	list    []string
	planned bool
}

// Words with a meaning of their own in the tables.
const (
	nothing = "nothing"  // an empty list
	all     = "anything" // every package of the module
	tests   = "tests"    // test files anywhere
	leaves  = "leaves"   // the group of packages without a floor of their own
	mark    = "(planned)"
)

// Parse reads the rule tables of a markdown document. It fails on a missing table, a row without a reason, a repeated
// pattern, a floor on a higher one, and an allowed package without a row, which is often a typing error.
func Parse(md string) (*Rules, error) {
	var r Rules
	found := tables(md)
	groups := map[string][]string{}
	for _, cells := range found["Group | Packages"] {
		groups[cells[0]] = items(cells[1], nil)
	}
	r.leaves = groups[leaves]
	var err error
	if r.floors, err = newFloors(found[floorHeader]); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		header string
		rows   *[]row
	}{
		{"Package | May import | Why", &r.imports},
		{"Package | Must not import | Why", &r.denials},
		{"Module | Imported by | Why", &r.modules},
	} {
		if len(found[t.header]) == 0 {
			return nil, fmt.Errorf("arch: no table with the header %q", t.header)
		}
		for _, cells := range found[t.header] {
			rows, err := newRows(cells, groups)
			if err != nil {
				return nil, err
			}
			*t.rows = append(*t.rows, rows...)
		}
	}
	return &r, r.consistent()
}

// newRows turns the three cells of a line into one row per pattern.
func newRows(cells []string, groups map[string][]string) ([]row, error) {
	if cells[2] == "" {
		return nil, fmt.Errorf("arch: row %s gives no reason", cells[0])
	}
	var rows []row
	for _, pattern := range items(cells[0], nil) {
		bare := strings.TrimSpace(strings.TrimSuffix(pattern, mark))
		rows = append(rows, row{
			pattern: strings.Trim(bare, "`"),
			list:    items(cells[1], groups),
			planned: bare != pattern,
		})
	}
	return rows, nil
}

// items splits a cell at its commas and replaces groups by their members.
func items(cell string, groups map[string][]string) []string {
	var list []string
	for item := range strings.SplitSeq(cell, ",") {
		item = strings.Trim(strings.TrimSpace(item), "`")
		switch members := groups[item]; {
		case members != nil:
			list = append(list, members...)
		case item == all:
			list = append(list, "...")
		case item != "" && item != nothing:
			list = append(list, item)
		}
	}
	return list
}

// consistent checks the tables against each other.
func (r *Rules) consistent() error {
	seen := map[string]bool{}
	for _, row := range r.imports {
		if seen[row.pattern] {
			return fmt.Errorf("arch: two import rows for %s", row.pattern)
		}
		seen[row.pattern] = true
	}
	for _, row := range slices.Concat(r.imports, r.modules) {
		for _, allowed := range row.list {
			if allowed != tests && !r.known(allowed) {
				return fmt.Errorf("arch: row %s names %s, which no import row covers", row.pattern, allowed)
			}
		}
	}
	return nil
}

// known reports whether an import row covers the packages of a pattern.
func (r *Rules) known(pattern string) bool {
	return slices.ContainsFunc(r.imports, func(row row) bool {
		return row.pattern == pattern || match(pattern, row.pattern) || match(row.pattern, pattern)
	})
}

// rank orders patterns that match the same path by how specific they are: an exact one is the longest, and of "a/*" and
// "a/..." the first is the narrower.
func (r *row) rank() int {
	return 2 * len(strings.TrimSuffix(r.pattern, "..."))
}

// match reports whether a pattern covers a path.
func match(pattern, path string) bool {
	if stem, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(path+"/", stem)
	}
	if stem, ok := strings.CutSuffix(pattern, "*"); ok {
		rest, below := strings.CutPrefix(path, stem)
		return below && rest != "" && !strings.Contains(rest, "/")
	}
	return pattern == path
}

// matchAny reports whether one of the patterns covers a path.
func matchAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return match(pattern, path) })
}
