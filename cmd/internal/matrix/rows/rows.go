// Package rows reads the rows of a matrix from what the user names: "a", or "a+b" for a at A and b at B, where each is
// an implementation, a program, an image or soft-RoCE. Package matrix runs them and is given everything; this package
// knows the names.
package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// Read makes the rows of o from names separated by commas, and with peers of each with each. Programs are asked what
// they can do, which needs the bench; one that does not keep the contract is the trouble of its own rows.
func Read(list string, peers bool, o *matrix.Options, b *registry.OnDemand) error {
	r := reader{known: registry.Catalogue{}, wrong: map[string]error{}, folders: map[string]bool{}}
	names := strings.Split(list, ",")
	for _, name := range names {
		for _, n := range ends(name) {
			if err := registry.Runs(b.Name, n); err != nil {
				return fault.Usage(err)
			}
			if scenario.Foreign(n) {
				if err := b.Open(); err != nil {
					return err
				}
			}
		}
		row, err := r.row(name)
		if err != nil {
			return fault.Usage(err)
		}
		if peers && len(ends(name)) > 1 {
			return fault.Usage(fmt.Errorf("--peers: %s is two implementations; name each alone, every "+
				"one meets every other", name))
		}
		o.Rows = append(o.Rows, row)
	}
	if peers {
		o.Peers, o.Rows = names, matrix.Peers(o.Rows, unfit)
	}
	o.Lacks = r.known.Lacks
	return nil
}

// Ends lists every implementation of names separated by commas.
func Ends(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		names = append(names, ends(name)...)
	}
	return names
}

// Placed returns how the cells of a bench run, with the device at the end of its name. A cell that no tool can run is
// NOT-APPLICABLE, because it is not the device's fault.
func Placed(b bench.Bench) matrix.Place {
	return func(s *scenario.Spec, impls [2]engine.Implementation) (*scenario.Spec, bench.Bench, error) {
		job, err := device.Place(b, s, impls)
		switch {
		case errors.Is(err, dut.ErrUnfit):
			return nil, nil, fmt.Errorf("%w: %w", bench.ErrUnsupported, err)
		case err != nil:
			return nil, nil, err
		}
		return job.Spec, job.Bench, nil
	}
}

// Devices is how many devices a row has at most: each is at one end.
func Devices(rows []matrix.Row) (most int) {
	for _, r := range rows {
		most = max(most, device.Count(r.Impls[0].Name, r.Impls[1].Name))
	}
	return most
}

// unfit says why two implementations cannot be at the two ends, "" when they can.
func unfit(a, b *engine.Implementation) string {
	switch {
	case registry.Together([2]engine.Implementation{*a, *b}) == nil:
		return ""
	case !a.OverIP():
		return b.Name + " does not speak RoCEv2"
	case !b.OverIP():
		return a.Name + " does not speak RoCEv2"
	}
	return a.Name + " and " + b.Name + " speak different protocols over IP"
}

// reader makes rows of names, asking each program once.
type reader struct {
	known   registry.Catalogue
	wrong   map[string]error // programs that do not keep the contract
	folders map[string]bool  // those taken
}

// ends returns the names in "a" or "a+b". A path may have a plus in it: the text after it is an end only if it is the
// name of one.
func ends(name string) []string {
	for i := range len(name) {
		if a, b := name[:i], name[i:]; b[0] == '+' && (!scenario.Foreign(a) || isEnd(b[1:])) {
			return []string{a, b[1:]}
		}
	}
	return []string{name}
}

func isEnd(name string) bool {
	_, engine := all.Find(name)
	return engine || scenario.Foreign(name) || dut.Known(name)
}

// row reads "a" or "a+b".
func (r *reader) row(name string) (matrix.Row, error) {
	row := matrix.Row{Name: name, Folder: r.folder(name)}
	both := ends(name)
	for side := range row.Impls {
		n := both[min(side, len(both)-1)]
		err := r.wrong[n]
		if err == nil {
			row.Impls[side], err = r.known.Find(n)
		}
		switch {
		case err == nil:
		case scenario.Foreign(n) && fault.Of(err) != fault.User:
			r.wrong[n], row.Broken = err, err
		default:
			return row, fmt.Errorf(
				"implementation %q: unknown; known: %s, or %sPATH for a program, %sNAME for an image",
				n, strings.Join(all.Names(), " "), scenario.Exec, scenario.Image)
		}
	}
	if row.Broken != nil {
		return row, nil
	}
	return row, registry.Together(row.Impls)
}

// folder is the name of a row in paths: of programs the last part of theirs, with a number where that is taken.
func (r *reader) folder(name string) string {
	var parts []string
	for _, n := range ends(name) {
		if scenario.Foreign(n) {
			kind, _, _ := strings.Cut(n, ":")
			n = kind + "-" + registry.Short(n)
		}
		parts = append(parts, n)
	}
	folder := strings.Join(parts, "+")
	for n := 2; r.folders[folder]; n++ {
		folder = fmt.Sprintf("%s-%d", strings.Join(parts, "+"), n)
	}
	r.folders[folder] = true
	return folder
}

// Parameters reads texts such as "gbn:rto=1ms" by implementation, which is named because no other knows the parameter.
func Parameters(texts []string) (map[string][]string, error) {
	params := map[string][]string{}
	for _, p := range texts {
		impl, assignment, ok := cutParameter(p)
		if !ok || !isEnd(impl) {
			return nil, fmt.Errorf("--param %s: want impl:name=value, with an implementation "+
				"of %s, or exec:PATH, or image:NAME", p, strings.Join(all.Names(), " "))
		}
		params[impl] = append(params[impl], assignment)
	}
	return params, nil
}

// cutParameter cuts at the first colon that a name and an equals sign follow: a path and the name of an image may have
// others.
func cutParameter(p string) (impl, assignment string, ok bool) {
	for i := range len(p) {
		if name, _, found := strings.Cut(p[i+1:], "="); p[i] == ':' && found && !strings.ContainsAny(name, ":/.") {
			return p[:i], p[i+1:], true
		}
	}
	return "", "", false
}
