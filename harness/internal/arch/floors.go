package arch

import (
	"fmt"
	"slices"
)

// floorHeader is the header of the table of floors.
const floorHeader = "Floor | Folders | Stands on"

// floor is a row of top folders. Folders of one floor do not import each other.
type floor struct {
	folders []string
	on      []string // folders of the floors below
}

// newFloors reads the rows of the table, the roof first. A folder stands on one floor, and a floor on lower ones, so
// that no table can be written in which an arrow points up.
func newFloors(rows [][]string) ([]floor, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("arch: no table with the header %q", floorHeader)
	}
	var floors []floor
	below := map[string]bool{}
	for _, cells := range slices.Backward(rows) {
		f := floor{items(cells[1], nil), items(cells[2], nil)}
		for _, folder := range f.on {
			if !below[folder] {
				return nil, fmt.Errorf(
					"arch: floor %s stands on %s, which is no folder of a floor below", cells[0], folder)
			}
		}
		for _, folder := range f.folders {
			if below[folder] {
				return nil, fmt.Errorf("arch: two floors have the folder %s", folder)
			}
			below[folder] = true
		}
		floors = append(floors, f)
	}
	slices.Reverse(floors)
	return floors, nil
}

// floorOf returns the floor of the top folder of a package; nil when there is none.
func (r *Rules) floorOf(dir string) *floor {
	for n := range r.floors {
		if slices.Contains(r.floors[n].folders, firstElement(dir)) {
			return &r.floors[n]
		}
	}
	return nil
}

// climbs returns the fault of an import of the package in dir as an arrow between two top folders, or "". A test may
// import from every floor.
func (r *Rules) climbs(dir string, i Import) string {
	from, to := firstElement(dir), firstElement(i.Path)
	f := r.floorOf(dir)
	if !i.Within || i.Test || from == to || f == nil || slices.Contains(f.on, to) || matchAny(r.leaves, i.Path) {
		return ""
	}
	return fmt.Sprintf("imports %s, but %s stands on %s", i.Path, from, enumerate(f.on))
}

// empty returns the folders of floors in which there is no package.
func (r *Rules) empty(pkgs []Package) (found []string) {
	for _, f := range r.floors {
		for _, folder := range f.folders {
			if !slices.ContainsFunc(pkgs, func(p Package) bool { return firstElement(p.Dir) == folder }) {
				found = append(found, fmt.Sprintf("floor folder %s has no package: delete it", folder))
			}
		}
	}
	return found
}
