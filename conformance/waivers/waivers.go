// Package waivers holds the waivers of the program: known deviations of widely available devices.
package waivers

import (
	"embed"
	"fmt"
	"io"
	"os"
	"strings"
)

//go:embed *.txt
var files embed.FS

// Read returns the waivers of a file or, for a name without a dot or a slash such as "rxe", the program's waivers of
// that name. The error names the file and the line.
func Read(name string) ([]Waiver, error) {
	var in io.ReadCloser
	var err error
	if strings.ContainsAny(name, "./") {
		in, err = os.Open(name)
	} else {
		in, err = files.Open(name + ".txt")
	}
	if err != nil {
		return nil, fmt.Errorf("waivers %s: want a file such as ./waivers.txt, or one of: %s", name,
			strings.Join(Names(), " "))
	}
	defer in.Close()
	list, err := parse(in)
	if err != nil {
		return nil, fmt.Errorf("waivers %s:%w", name, err)
	}
	return list, nil
}

// ReadAll returns the waivers of several files, as Read does of each.
func ReadAll(names []string) (all []Waiver, err error) {
	for _, name := range names {
		list, err := Read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Names returns the names of the waivers of the program.
func Names() (names []string) {
	entries, _ := files.ReadDir(".") // embedded
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}
