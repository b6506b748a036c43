package arch

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	root   = "../../.."
	module = "github.com/rdma-gauntlet/gauntlet"
)

// TestTree checks the source of the project against its document.
func TestTree(t *testing.T) {
	md, err := os.ReadFile(root + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Parse(string(md))
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := Read(os.DirFS(root), module)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(pkgs, func(p Package) bool { return p.Dir == "harness/internal/arch" }) {
		t.Fatalf("read %d packages below %s and missed this one", len(pkgs), root)
	}
	for _, violation := range rules.Check(pkgs) {
		t.Error(violation)
	}
}

// healthy is a document that agrees with the source tree sources. Each case below breaks one thing.
const healthy = `
| Floor | Folders | Stands on |
|---|---|---|
| the program | ¤cmd¤ | ¤impls¤, ¤engine¤ |
| protocols | ¤impls¤ | ¤engine¤ |
| the ground | ¤engine¤, ¤psn¤, ¤vtime¤ | nothing |

| Group | Packages |
|---|---|
| leaves | ¤psn¤, ¤vtime¤ |

| Package | May import | Why |
|---|---|---|
| ¤psn¤, ¤vtime¤ | nothing | leaves |
| ¤engine¤ | leaves | the contract |
| ¤impls/*¤ | ¤engine¤, leaves | protocols |
| ¤impls/all¤ | ¤impls/*¤ | the list |
| ¤impls/internal/...¤ (planned) | leaves | shared parts |
| ¤cmd/...¤ | anything | the program |

| Package | Must not import | Why |
|---|---|---|
| ¤engine¤, ¤impls/...¤ | ¤time¤, ¤net/...¤ | pure |

| Module | Imported by | Why |
|---|---|---|
| ¤example.org/cmp¤ | tests | diffs |
| ¤example.org/net/v2¤ | ¤cmd/...¤ | sockets |
`

func sources() map[string]string {
	return map[string]string{
		"psn/psn.go":            `import "time"`,
		"psn/psn_test.go":       `import ("m/engine"; "example.org/cmp/sub")`,
		"vtime/vtime.go":        ``,
		"engine/engine.go":      `import ("fmt"; "m/psn"; "m/vtime")`,
		"engine/engine_test.go": `import "time"`,
		"impls/gbn/gbn.go":      `import ("m/engine"; "m/psn")`,
		"impls/all/all.go":      `import "m/impls/gbn"`,
		"cmd/g/main.go":         `import ("net"; "m/impls/all"; "example.org/net/v2")`,
		"testdata/x/x.go":       `import "m/nowhere"`,
		".tools/x.go":           `import "m/nowhere"`,
		"tools/go.mod":          `module tools`,
		"tools/x.go":            `import "m/nowhere"`,
	}
}

// TestCheck breaks the healthy case in every way that the rules cover; a checker that never complains fails here.
func TestCheck(t *testing.T) {
	tests := []struct {
		name     string
		file     string // file to add or replace
		imports  string
		old, new string // replacement in the document
		want     []string
	}{
		{name: "healthy"},
		{name: "leaf imports upwards", file: "vtime/vtime.go", imports: `import "m/engine"`,
			want: []string{"vtime (vtime.go): imports engine, but its row allows nothing",
				"vtime (vtime.go): imports engine, but vtime stands on nothing"}},
		{name: "an arrow that points up", file: "engine/up.go", imports: `import "m/impls/gbn"`,
			old: "| ¤engine¤ | leaves |", new: "| ¤engine¤ | ¤impls/gbn¤, leaves |",
			want: []string{"engine (up.go): imports impls/gbn, but engine stands on nothing"}},
		{name: "an arrow that points up, of a test", file: "engine/up_test.go", imports: `import "m/impls/gbn"`},
		{name: "an arrow to a folder that the floor does not stand on", file: "cmd/g/gbn.go",
			imports: `import "m/impls/gbn"`,
			old:     "| ¤cmd¤ | ¤impls¤, ¤engine¤ |", new: "| ¤cmd¤ | ¤engine¤ |",
			want: []string{"cmd/g (gbn.go): imports impls/gbn, but cmd stands on engine",
				"cmd/g (main.go): imports impls/all, but cmd stands on engine"}},
		{name: "a folder beside, on the same floor", file: "engine/beside.go", imports: `import "m/tool"`,
			old: "¤engine¤, ¤psn¤, ¤vtime¤ | nothing |", new: "¤engine¤, ¤psn¤, ¤vtime¤, ¤tool¤ | nothing |",
			want: []string{"engine (beside.go): imports tool, but engine stands on nothing",
				"engine (beside.go): imports tool, but its row allows psn, vtime",
				"floor folder tool has no package: delete it"}},
		{name: "a leaf that is none any more", old: "| leaves | ¤psn¤, ¤vtime¤ |", new: "| leaves | ¤vtime¤ |",
			want: []string{"engine (engine.go): imports psn, but engine stands on nothing",
				"engine (engine.go): imports psn, but its row allows vtime",
				"impls/gbn (gbn.go): imports psn, but impls stands on engine",
				"impls/gbn (gbn.go): imports psn, but its row allows engine, vtime"}},
		{name: "package without a floor", file: "tool/x.go",
			want: []string{"tool: no floor has its top folder", "tool: no row of the import table covers it"}},
		{name: "protocol imports a protocol", file: "impls/irn/irn.go", imports: `import "m/impls/gbn"`,
			want: []string{"impls/irn (irn.go): imports impls/gbn, but its row allows engine, psn, vtime"}},
		{name: "behind a build tag", file: "psn/psn_plan9.go", imports: `import _ "m/cmd/g"`,
			want: []string{"psn (psn_plan9.go): imports cmd/g, but its row allows nothing",
				"psn (psn_plan9.go): imports cmd/g, but psn stands on nothing"}},
		{name: "standard package", file: "impls/gbn/rto.go", imports: `import clock "time"`,
			want: []string{"impls/gbn (rto.go): imports time, which is denied to impls/..."}},
		{name: "standard package below a denied one", file: "engine/addr.go", imports: `import "net/netip"`,
			want: []string{"engine (addr.go): imports net/netip, which is denied to engine"}},
		{name: "unknown module", file: "cmd/g/log.go", imports: `import "example.org/log"`,
			want: []string{"cmd/g (log.go): imports example.org/log, a module without a row in the dependency table"}},
		{name: "module in the wrong package", file: "psn/net.go", imports: `import "example.org/net/v2/route"`,
			want: []string{"psn (net.go): imports example.org/net/v2/route, which is for cmd/... only"}},
		{name: "test module in code", file: "cmd/g/diff.go", imports: `import "example.org/cmp"`,
			want: []string{"cmd/g (diff.go): imports example.org/cmp, which is for tests only"}},
		{name: "code module in a test", file: "psn/net_test.go", imports: `import "example.org/net/v2"`,
			want: []string{"psn (net_test.go): imports example.org/net/v2, which is for cmd/... only"}},
		{name: "package without a row", file: "impls/gbn/deep/x.go",
			want: []string{"impls/gbn/deep: no row of the import table covers it"}},
		{name: "row without a package", old: "| ¤engine¤ | leaves |", new: "| ¤engine¤, ¤engine/enginetest¤ | leaves |",
			want: []string{"row engine/enginetest matches nothing: delete it or mark it (planned)"}},
		{name: "row in the shadow of others", old: "| ¤psn¤, ¤vtime¤ | nothing |",
			new:  "| ¤psn¤, ¤vtime¤, ¤impls/...¤ | nothing |",
			want: []string{"row impls/... matches nothing: delete it or mark it (planned)"}},
		{name: "denial without a package", old: "¤impls/...¤ | ¤time¤", new: "¤impls/...¤, ¤sim¤ | ¤time¤",
			want: []string{"row sim matches nothing: delete it or mark it (planned)"}},
		{name: "module without an import", file: "psn/psn_test.go",
			want: []string{"row example.org/cmp matches nothing: delete it or mark it (planned)"}},
		{name: "planned package that exists", file: "impls/internal/rtx/rtx.go",
			want: []string{"row impls/internal/... is marked (planned) but exists: remove the mark"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{}
			files := sources()
			if tt.file != "" {
				files[tt.file] = tt.imports
			}
			for name, imports := range files {
				tree[name] = &fstest.MapFile{Data: []byte("package p\n" + imports + "\n")}
			}
			if !strings.Contains(healthy, tt.old) {
				t.Fatalf("the document has no %q", tt.old)
			}
			rules, err := Parse(document(tt.old, tt.new))
			if err != nil {
				t.Fatal(err)
			}
			pkgs, err := Read(tree, "m")
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Check(pkgs); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestParse refuses documents that cannot be parsed.
func TestParse(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"no table", "| Module | Imported by | Why |", "| Module | Importers | Why |",
			`no table with the header "Module | Imported by | Why"`},
		{"no floors", "| Floor | Folders | Stands on |", "| Floor | Folders | Why |",
			`no table with the header "Floor | Folders | Stands on"`},
		{"floor on a floor above", "¤vtime¤ | nothing |", "¤vtime¤ | ¤impls¤ |",
			"floor the ground stands on impls, which is no folder of a floor below"},
		{"floor on itself", "| ¤impls¤ | ¤engine¤ |", "| ¤impls¤ | ¤impls¤ |",
			"floor protocols stands on impls, which is no folder of a floor below"},
		{"floor on what is no floor", "| ¤impls¤ | ¤engine¤ |", "| ¤impls¤ | ¤engin¤ |",
			"floor protocols stands on engin, which is no folder of a floor below"},
		{"folder on two floors", "| protocols | ¤impls¤ |", "| protocols | ¤impls¤, ¤psn¤ |",
			"two floors have the folder psn"},
		{"no reason", "| the contract |", "| |", "row `engine` gives no reason"},
		{"short row", " | the contract |", " |", "row `engine` gives no reason"},
		{"two rows", "| ¤engine¤ | leaves |", "| ¤engine¤, ¤psn¤ | leaves |", "two import rows for psn"},
		{"allowed package misspelt", "¤engine¤, leaves", "¤engin¤, leaves",
			"row impls/* names engin, which no import row covers"},
		{"importer misspelt", "| tests |", "| ¤test¤ |", "row example.org/cmp names test, which no import row covers"},
		{"group misspelt", "| ¤engine¤ | leaves |", "| ¤engine¤ | leafs |",
			"row engine names leafs, which no import row covers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(document(tt.old, tt.new))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReadRefusesBrokenSource(t *testing.T) {
	_, err := Read(fstest.MapFS{"a/a.go": {Data: []byte("pack age")}}, "m")
	if err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("got %v, want an error that names a/a.go", err)
	}
}

// document returns the healthy document after one replacement, with backquotes in place of ¤.
func document(from, to string) string {
	return strings.ReplaceAll(strings.Replace(healthy, from, to, 1), "¤", "`")
}

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/bc", false}, {"a/b", "a/b/c", false},
		{"a/*", "a/b", true}, {"a/*", "a", false}, {"a/*", "a/b/c", false}, {"a/*", "ab/c", false},
		{"a/...", "a", true}, {"a/...", "a/b/c", true}, {"a/...", "ab", false}, {"...", "a/b", true},
	}
	for _, tt := range tests {
		if got := match(tt.pattern, tt.path); got != tt.want {
			t.Errorf("match(%q, %q) = %v", tt.pattern, tt.path, got)
		}
	}
}
