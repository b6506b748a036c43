package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Package is a directory with Go files, and their imports.
type Package struct {
	Dir     string // path from the root of the module, with slashes
	Imports []Import
}

// Import is one import clause.
type Import struct {
	Path   string // as written; from the root of the module when Within
	File   string // base name of the file
	Within bool   // a package of this module
	Test   bool   // the file is a test
}

// Read returns the packages of a source tree in lexical order. It leaves out what the go command leaves out: testdata,
// vendor, directories whose name begins with a dot or an underscore, and modules within the module.
func Read(tree fs.FS, module string) ([]Package, error) {
	var pkgs []Package
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name != "." && outside(tree, name) {
			return fs.SkipDir
		}
		p, err := readPackage(tree, name, module)
		if p != nil {
			pkgs = append(pkgs, *p)
		}
		return err
	})
	return pkgs, err
}

// outside reports whether a directory is no part of the module.
func outside(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

// readPackage returns the package in dir, or nil when there are no Go files in it.
func readPackage(tree fs.FS, dir, module string) (*Package, error) {
	files, err := fs.Glob(tree, path.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	p := &Package{Dir: dir}
	for _, file := range files {
		imports, err := readImports(tree, file, module)
		if err != nil {
			return nil, fmt.Errorf("arch: %w", err)
		}
		p.Imports = append(p.Imports, imports...)
	}
	return p, nil
}

// readImports returns the import clauses of one file.
func readImports(tree fs.FS, file, module string) ([]Import, error) {
	src, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []Import
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		within, ok := strings.CutPrefix(name, module+"/")
		imports = append(imports, Import{Path: within, File: path.Base(file), Within: ok,
			Test: strings.HasSuffix(file, "_test.go")})
	}
	return imports, nil
}

// firstElement returns the part of an import path before the first slash; a dot in it marks a module from elsewhere.
func firstElement(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}
