package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// documents is the folder of the documents of a store: data about nights other than numbers, such as the runs before
// and after a change. They are stored like nights: named by their content, never changed, and merged by union.
const documents = "documents"

// kept matches the name of a document: its kind, and the first half of the SHA-256 of its content.
var kept = regexp.MustCompile(`^([a-z]+)-[0-9a-f]{32}\.json$`)

// Keep puts a document of a kind, a word in lower case, into a store and returns the path of its file.
func Keep(dir, kind string, text []byte) (path string, err error) {
	name := kind + "-" + hash(text) + ".json"
	if !kept.MatchString(name) || len(text) > maxFile {
		return "", fmt.Errorf(
			"store: a document %.40q of %d bytes: want a word and %d bytes at most",
			kind,
			len(text),
			maxFile,
		)
	}
	return put(filepath.Join(dir, documents), name, text)
}

// Document is a document of a store.
type Document struct {
	Path string // path of its file
	Kind string
	Text []byte
}

// Documents returns the documents in the order of their names, and the files that could not be read.
func Documents(dir string) (list []Document, skipped []Skipped, err error) {
	names, skipped, err := listDocuments(dir)
	for _, name := range names {
		path := filepath.Join(dir, documents, name)
		if text, why := intact(path); why == nil {
			list = append(list, Document{path, kept.FindStringSubmatch(name)[1], text})
		} else {
			skipped = append(skipped, Skipped{path, why.Error(), errors.Is(why, errDamaged)})
		}
	}
	return list, skipped, err
}

// listDocuments lists the names of the documents of a store, none if there is no folder, and the other files in the
// folder.
func listDocuments(dir string) (names []string, skipped []Skipped, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, documents))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("store: %w", err)
	case len(entries) > maxFiles:
		return nil, nil, fmt.Errorf("store: %s has more than %d documents; keep older years in another", dir, maxFiles)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name[0] == '.' || e.IsDir():
		case kept.MatchString(name):
			names = append(names, name)
		default:
			skipped = append(skipped, Skipped{filepath.Join(dir, documents, name), "not a document of a store", false})
		}
	}
	return names, skipped, nil
}
