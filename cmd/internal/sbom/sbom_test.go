package sbom

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
)

func TestWrite(t *testing.T) {
	var texts [2]strings.Builder
	for i, file := range []string{os.Args[0], os.Args[0]} {
		if err := Write(&texts[i], file); err != nil {
			t.Fatal(err)
		}
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(strings.NewReader(texts[0].String()),
		cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if all := *bom.Components; all[0].Name != "std" || bom.Metadata.Component.Name == "" ||
		texts[0].String() != texts[1].String() { // Go records no modules in a test binary
		t.Error(texts[0].String())
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(&texts[1], text); err == nil || !strings.Contains(err.Error(), "want a program that Go has built") {
		t.Error(err)
	}
}

func TestBill(t *testing.T) {
	b := bill(
		&debug.BuildInfo{
			GoVersion: "go1.26.8",
			Path:      "example.org/m/cmd/gauntlet",
			Main:      debug.Module{Path: "example.org/m", Version: "(devel)"},
			Settings: []debug.BuildSetting{
				{Key: "-ldflags", Value: "-s -w -X " + build.ReleaseFlag + "1.2.3"},
				{Key: "vcs.time", Value: "2026-11-24T15:14:01Z"},
			},
			Deps: []*debug.Module{
				{Path: "a", Version: "v1", Replace: &debug.Module{Path: "b", Version: "v2", Sum: "h1:x"}},
			},
		},
	)
	m, all := b.Metadata, *b.Components
	if m.Component.Name != "gauntlet" || m.Component.Version != "1.2.3" || m.Timestamp != "2026-11-24T15:14:01Z" ||
		len(all) != 2 ||
		all[0].Version != "1.26.8" ||
		all[1].PackageURL != "pkg:golang/b@v2" {
		t.Errorf("%+v %+v", m, all)
	}
}
