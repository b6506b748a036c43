// Package arch checks the source tree against the import rules of ARCHITECTURE.md.
//
// The document is the only place where the rules are written; Parse reads its five tables:
//
//	| Floor | Folders | Stands on |           top folders, from the roof to the ground
//	| Group | Packages |                      names for lists of packages
//	| Package | May import | Why |            imports within the module
//	| Package | Must not import | Why |       standard packages that are denied
//	| Module | Imported by | Why |            dependencies and who may use them
//
// An arrow between two top folders goes down: to a folder that the floor stands on, or to a package of the group
// "leaves".
//
// A pattern is a path ("harness/psn"), a path with one open element ("impls/*"), or a path and all below it
// ("impls/..."). Of the import rows that match a package the most specific one governs; of the denials all apply. Both
// directions are checked: a package without a row is an error, and so is a row without a package, unless the row is
// marked "(planned)", in which case a package is. Only import clauses are read, of all files whatever their build tags.
package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns every difference between the rules and the packages, sorted, one line each. Test files are judged by
// the module table only: they may import any package of the module and any standard package.
func (r *Rules) Check(pkgs []Package) []string {
	var found []string
	for _, p := range pkgs {
		if r.floorOf(p.Dir) == nil {
			found = append(found, fmt.Sprintf("%s: no floor has its top folder", p.Dir))
		}
		if r.governing(p.Dir) == nil {
			found = append(found, fmt.Sprintf("%s: no row of the import table covers it", p.Dir))
			continue
		}
		for _, i := range p.Imports {
			for _, complaint := range []string{r.judge(p.Dir, i), r.climbs(p.Dir, i)} {
				if complaint != "" {
					found = append(found, fmt.Sprintf("%s (%s): %s", p.Dir, i.File, complaint))
				}
			}
		}
	}
	found = append(found, r.idle(pkgs)...)
	found = append(found, r.empty(pkgs)...)
	slices.Sort(found)
	return slices.Compact(found)
}

// judge returns the fault of one import of the package in dir, or "".
func (r *Rules) judge(dir string, i Import) string {
	switch {
	case i.Within:
		if row := r.governing(dir); !i.Test && !matchAny(row.list, i.Path) {
			return fmt.Sprintf("imports %s, but its row allows %s", i.Path, enumerate(row.list))
		}
	case strings.Contains(firstElement(i.Path), "."):
		return r.judgeModule(dir, i)
	case !i.Test:
		for _, row := range r.denials {
			if match(row.pattern, dir) && matchAny(row.list, i.Path) {
				return fmt.Sprintf("imports %s, which is denied to %s", i.Path, row.pattern)
			}
		}
	}
	return ""
}

// judgeModule judges an import from another module.
func (r *Rules) judgeModule(dir string, i Import) string {
	row := r.module(i.Path)
	switch {
	case row == nil:
		return fmt.Sprintf("imports %s, a module without a row in the dependency table", i.Path)
	case matchAny(row.list, dir), i.Test && slices.Contains(row.list, tests):
		return ""
	}
	return fmt.Sprintf("imports %s, which is for %s only", i.Path, enumerate(row.list))
}

// governing returns the most specific import row that matches dir: an exact one, else the longest.
func (r *Rules) governing(dir string) *row {
	var best *row
	for n := range r.imports {
		row := &r.imports[n]
		if match(row.pattern, dir) && (best == nil || row.rank() > best.rank()) {
			best = row
		}
	}
	return best
}

// module returns the dependency row for an import path, the longest where modules nest.
func (r *Rules) module(path string) *row {
	var best *row
	for n := range r.modules {
		row := &r.modules[n]
		if match(row.pattern+"/...", path) && (best == nil || len(row.pattern) > len(best.pattern)) {
			best = row
		}
	}
	return best
}

// idle returns the rows that no package uses and the planned ones that a package uses.
func (r *Rules) idle(pkgs []Package) []string {
	used := map[*row]bool{}
	for _, p := range pkgs {
		used[r.governing(p.Dir)] = true
		for n := range r.denials {
			if match(r.denials[n].pattern, p.Dir) {
				used[&r.denials[n]] = true
			}
		}
		for _, i := range p.Imports {
			if !i.Within {
				used[r.module(i.Path)] = true
			}
		}
	}
	var found []string
	for _, rows := range [][]row{r.imports, r.denials, r.modules} {
		for n := range rows {
			switch row := &rows[n]; {
			case !used[row] && !row.planned:
				found = append(found,
					fmt.Sprintf("row %s matches nothing: delete it or mark it (planned)", row.pattern))
			case used[row] && row.planned:
				found = append(found,
					fmt.Sprintf("row %s is marked (planned) but exists: remove the mark", row.pattern))
			}
		}
	}
	return found
}

// enumerate prints a list of patterns for a message.
func enumerate(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
