package datasheet

import (
	"embed"
	"strings"
)

//go:embed probes/*.txt
var files embed.FS

// Probe is a stimulus in the language of scenarios: a situation in which a property can be observed.
type Probe struct{ Name, Text string }

// Probes returns the probes that show every property of an implementation, in the order of their names.
func Probes() []Probe {
	entries, _ := files.ReadDir("probes") // embedded
	var all []Probe
	for _, e := range entries {
		text, _ := files.ReadFile("probes/" + e.Name()) // likewise
		all = append(all, Probe{strings.TrimSuffix(e.Name(), ".txt"), string(text)})
	}
	return all
}
