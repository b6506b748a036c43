// Package sbom writes a bill of materials of a Go program in the format of CycloneDX, from the information that the
// linker leaves in every binary. It depends on the binary alone, not on the time or the machine.
package sbom

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
)

// Write writes the bill of the program in a file; "" for the running program.
func Write(w io.Writer, file string) error {
	info, ok := debug.ReadBuildInfo()
	switch {
	case file != "":
		var err error
		if info, err = buildinfo.ReadFile(file); err != nil {
			return fmt.Errorf("sbom: %w; want a program that Go has built", err)
		}
	case !ok:
		return fmt.Errorf("sbom: this program has no record of its modules; build it with modules")
	}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).
		SetPretty(true).
		SetEscapeHTML(false).
		Encode(bill(info))
}

// bill lists the program, its modules and the standard library.
func bill(info *debug.BuildInfo) *cyclonedx.BOM {
	bom := cyclonedx.NewBOM()
	program := module(
		cyclonedx.ComponentTypeApplication,
		cmp.Or(info.Main.Path, info.Path),
		cmp.Or(version(info), "unknown"),
		"",
	)
	program.Name, program.BOMRef = path.Base(info.Path), "program"
	var facts []cyclonedx.Property
	for _, s := range info.Settings {
		facts = append(facts, cyclonedx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		if s.Key == "vcs.time" {
			bom.Metadata = &cyclonedx.Metadata{Timestamp: s.Value}
		}
	}
	if bom.Metadata == nil {
		bom.Metadata = &cyclonedx.Metadata{}
	}
	program.Properties = &facts
	bom.Metadata.Component = &program
	all := []cyclonedx.Component{
		module(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"), ""),
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		all = append(all, module(cyclonedx.ComponentTypeLibrary, d.Path, d.Version, d.Sum))
	}
	bom.Components = &all
	needs := []string{}
	for i := range all {
		needs = append(needs, all[i].BOMRef)
	}
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &needs}}
	return bom
}

// version returns the version of a release from its linker flags, else that of the module.
func version(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if _, v, ok := strings.Cut(s.Value, build.ReleaseFlag); ok && s.Key == "-ldflags" {
			return strings.Fields(v)[0]
		}
	}
	return info.Main.Version
}

// module returns a component with the name and version of a Go module.
func module(kind cyclonedx.ComponentType, name, version, sum string) cyclonedx.Component {
	c := cyclonedx.Component{Type: kind, Name: name, Version: version, PackageURL: "pkg:golang/" + name + "@" + version}
	c.BOMRef = c.PackageURL
	if sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}
