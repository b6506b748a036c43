package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Beyond these sizes a reader needs a reason, which is a row of the table with sizeHeader.
const (
	mostMethods = 30 // of a type
	mostFiles   = 20 // of a package, tests not counted

	sizeHeader = "Larger than the rest | Size | Why"
)

// Oversized returns the differences between a document and sizes, the result of Sizes: a package of more than mostFiles
// source files or a type of more than mostMethods methods without a row with its size and a reason, and a row with
// another size or a smaller subject.
func Oversized(md string, sizes map[string]string) (found []string) {
	stated := map[string]string{}
	for _, cells := range tables(md)[sizeHeader] {
		if name := strings.Trim(cells[0], "`"); cells[2] == "" {
			found = append(found, fmt.Sprintf("row %s gives no reason for its size", name))
		} else {
			stated[name] = cells[1]
		}
	}
	for name, size := range sizes {
		if stated[name] != size {
			found = append(found,
				fmt.Sprintf("%s has %s: split it, or say why in the table %q", name, size, sizeHeader))
		}
	}
	for name := range stated {
		if sizes[name] == "" {
			found = append(found, fmt.Sprintf("row %s is no longer large: delete it", name))
		}
	}
	slices.Sort(found)
	return found
}

// Sizes returns the large packages and types: "dir" with its source files, and "dir.Type" with its methods, such as "32
// methods".
func Sizes(tree fs.FS, pkgs []Package) (map[string]string, error) {
	sizes := map[string]string{}
	for _, p := range pkgs {
		files, methods, err := measure(tree, p.Dir)
		if err != nil {
			return nil, err
		}
		if files > mostFiles {
			sizes[p.Dir] = fmt.Sprintf("%d files", files)
		}
		for name, n := range methods {
			if n > mostMethods {
				sizes[p.Dir+"."+name] = fmt.Sprintf("%d methods", n)
			}
		}
	}
	return sizes, nil
}

// measure counts the source files of a package, and the methods of its types.
func measure(tree fs.FS, dir string) (files int, methods map[string]int, err error) {
	methods = map[string]int{}
	names, err := fs.Glob(tree, path.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return 0, nil, fmt.Errorf("arch: %w", err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return 0, nil, fmt.Errorf("arch: %w", err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	return files, methods, err
}

// receiver is the name of the type in a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr: // of a generic type
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
