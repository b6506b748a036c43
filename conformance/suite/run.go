package suite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
)

// Options of Run and List: the selection of specs, and the files of reports.
type Options struct {
	LabelFilter string   // Ginkgo's label language: "family:GBN && !random"
	Focus       []string // regular expressions; a spec's "conformance IMPL SCENARIO" must match one
	Skip        []string // regular expressions; a spec must match none
	JUnit       string   // paths of reports; "" writes none
	JSON        string
}

// check returns an error for options for which Ginkgo would end the process.
func (o *Options) check() error {
	if _, err := types.ParseLabelFilter(o.LabelFilter); err != nil {
		return fmt.Errorf("label filter %q: want labels joined by && || ! and brackets, such as "+
			"'family:GBN && !random'", o.LabelFilter)
	}
	for _, list := range [][]string{o.Focus, o.Skip} {
		for _, expr := range list {
			if _, err := regexp.Compile(expr); err != nil {
				return fmt.Errorf("focus or skip: %w", err)
			}
		}
	}
	return nil
}

// Spec names a registered spec.
type Spec struct {
	Impl     string   `json:"impl"`
	Scenario string   `json:"scenario"`
	Labels   []string `json:"labels"`
}

// List returns the registered specs that the options select. It may be called before Run.
func List(o Options) ([]Spec, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	suiteConfig, reporterConfig := o.ginkgo()
	var out []Spec
	for _, r := range ginkgo.PreviewSpecs("conformance", suiteConfig, reporterConfig).SpecReports {
		if r.LeafNodeType == types.NodeTypeIt && r.State != types.SpecStateSkipped {
			out = append(out, Spec{r.ContainerHierarchyTexts[1], r.LeafNodeText, r.Labels()})
		}
	}
	return out, nil
}

// Run runs the registered specs that the options select and reports whether all passed. It prints nothing;
// Config.Observe is called with each outcome. A process can call it once, because Ginkgo has one tree per process.
func Run(o Options) (passed bool, err error) {
	if err := errors.Join(o.check(), writable(o.JUnit), writable(o.JSON)); err != nil {
		return false, err
	}
	suiteConfig, reporterConfig := o.ginkgo()
	out := formatter.ColorableStdOut
	formatter.ColorableStdOut = io.Discard
	defer func() { formatter.ColorableStdOut = out }()
	return ginkgo.RunSpecs(&flag{}, "conformance", suiteConfig, reporterConfig), nil
}

// writable truncates the file of a report, so that a path that cannot be written is an error before the run and not
// after it.
func writable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return f.Close()
}

// ginkgo returns the configuration: specs in the order of registration, one at a time. It begins from Ginkgo's
// defaults, because Ginkgo's current configuration is that of the run before.
func (o *Options) ginkgo() (types.SuiteConfig, types.ReporterConfig) {
	suiteConfig, reporterConfig := types.NewDefaultSuiteConfig(), types.NewDefaultReporterConfig()
	suiteConfig.LabelFilter, suiteConfig.FocusStrings, suiteConfig.SkipStrings = o.LabelFilter, o.Focus, o.Skip
	suiteConfig.RandomSeed = 1
	reporterConfig.JUnitReport, reporterConfig.JSONReport = o.JUnit, o.JSON
	reporterConfig.NoColor, reporterConfig.Succinct = true, true
	return suiteConfig, reporterConfig
}

// flag takes the place of a *testing.T; RunSpecs also returns whether all passed.
type flag struct{}

// Fail implements ginkgo.GinkgoTestingT.
func (*flag) Fail() {}
