package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/statement"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

const full = `# what main asks for
gate 1
impl exec:build/gbn gbn
bench netns sim
link relay
profile rc-gbn ./mine.txt
scenarios family:GBN && !random
links clean burst
targets PT-LW-05
waivers rxe known.txt
baseline main/gate.json
budget 7
seeds 5
margin 2%
`

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.gate")
	must(t, os.WriteFile(path, []byte(full), 0o644))
	f, err := ReadFile(path)
	must(t, err)
	dir := filepath.Dir(path)
	if f.Impl != "exec:"+dir+"/build/gbn" || f.Peer != "gbn" || f.Baseline != dir+"/main/gate.json" ||
		f.Scenarios != "family:GBN && !random" || f.Budget != 7*time.Minute || f.Seeds != 5 || f.Margin != 0.02 {
		t.Errorf("%+v", f)
	}
	if got := f.Files(); !slices.Equal(got, []string{dir + "/mine.txt", dir + "/known.txt", dir + "/main/gate.json"}) {
		t.Errorf("files %q", got)
	}
	f.Links = append(f.Links, "links/mine.txt")
	for link, want := range map[string]string{"clean": "clean", "mine": "links/mine.txt"} {
		if got := f.overLink("sim", "irn", link); got != "gauntlet matrix --impl irn+gbn --links "+want+" --bench sim" {
			t.Error(got)
		}
	}
	if got := f.Places(); !slices.Equal(got, []string{"sim", "netns"}) {
		t.Errorf("benches %q: virtual time comes first", got)
	}
}

func TestPlaces(t *testing.T) {
	for line, want := range map[string]string{"impl gbn": "sim", "impl gbn exec:x": "netns",
		"impl image:x gbn": "container", "device rxe": "lab"} {
		f, err := Parse(strings.NewReader("gate 1\n" + line))
		if must(t, err); !slices.Equal(f.Places(), []string{want}) {
			t.Errorf("%s: %q, want %s", line, f.Places(), want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `0: no statement; want "gate 1" first`,
		"impl gbn":                    `1: impl gbn: want "gate 1" as the first statement`,
		"gate 2\nimpl gbn":            "1: gate 2: this program reads version 1",
		"gate 1":                      "1: no subject; want a line such as: impl exec:build/transport",
		"gate 1\ngate 1":              "2: gate: given twice",
		"gate 1\nimpl a b c":          "2: impl a b c: want one implementation, or two",
		"gate 1\nimpl a,b":            "want one implementation; one file gates one",
		"gate 1\nimpl a\ndevice rxe":  "impl a and device rxe: name one of the two",
		"gate 1\nimpl a\nbudget 0":    "3: budget 0: want 1 to 1440",
		"gate 1\nimpl a\nseeds many":  "3: seeds many: want 1 to 1000",
		"gate 1\nimpl a\nmargin 200%": "outside 0 to 1",
		"gate 1\nimpl a\nlink tcp":    "want auto, netem, ebpf or relay",
		"gate 1\nimpl a\nprofile":     "3: profile: want a value behind it",
		"gate 1\nimpl a\nfoo \x1b[2J": "3: foo: unknown; want one of baseline bench",
		"gate 1\nimpl a\n#" + strings.Repeat("x", statement.MaxLine):               "line longer than 4096 bytes",
		"gate 1\nimpl a\n" + strings.Repeat("#\n", statement.MaxLines) + "seeds 1": "more than 1000 lines",
	} {
		_, err := Parse(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// Any file is either parsed or refused in one printable line.
func TestParseAnything(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom(strings.Fields(full+" \x1b 1e999 NaN -1 exec: / ..")), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			lines = append(lines, strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "words"), " "))
		}
		_, err := Parse(strings.NewReader("gate 1\nimpl gbn\n" + strings.Join(lines, "\n")))
		if err != nil && !quote.Clean(err.Error()) {
			t.Fatalf("%q", err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
