package arch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSizes checks the source of the project against the sizes in the document.
func TestSizes(t *testing.T) {
	md, err := os.ReadFile(root + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := Read(os.DirFS(root), module)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := Sizes(os.DirFS(root), pkgs)
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range Oversized(string(md), sizes) {
		t.Error(complaint)
	}
}

// TestOversized breaks each limit of the table.
func TestOversized(t *testing.T) {
	tree := fstest.MapFS{"a/x_test.go": {Data: []byte("package a")}}
	for n := range mostFiles + 1 {
		tree[fmt.Sprintf("a/%d.go", n)] = &fstest.MapFile{Data: []byte("package a")}
	}
	text := "package b\ntype big[T any] struct{}\ntype small struct{}\nfunc (small) M() {}\n"
	for n := range mostMethods + 1 {
		text += fmt.Sprintf("func (b *big[T]) M%d() {}\n", n)
	}
	tree["b/b.go"] = &fstest.MapFile{Data: []byte(text)}
	sizes, err := Sizes(tree, []Package{{Dir: "a"}, {Dir: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	const head = "| Larger than the rest | Size | Why |\n|---|---|---|\n"
	whole := head + "| `a` | 21 files | a list |\n| `b.big` | 31 methods | an interface |\n"
	for _, c := range []struct {
		md   string
		want []string
	}{
		{whole, nil},
		{"", []string{`a has 21 files: split it, or say why`, `b.big has 31 methods: split it, or say why`}},
		{strings.Replace(whole, "31", "30", 1), []string{`b.big has 31 methods`}},
		{strings.Replace(whole, "a list", "", 1), []string{`a has 21 files`, "row a gives no reason"}},
		{whole + "| `b.small` | 1 methods | once more |\n", []string{"row b.small is no longer large: delete it"}},
	} {
		got := Oversized(c.md, sizes)
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}
