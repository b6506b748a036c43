package passport

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
)

// Options say how a passport is verified.
type Options struct {
	Signers  string    // the file of allowed signers; "" accepts any key, where that is allowed
	Signer   string    // the signer that is required; "" accepts any in the file
	At       time.Time // the time at which the key has to be valid
	Evidence string    // the report folder; "" verifies no evidence
}

// Refused is the error of a passport whose signature is not valid or not by an allowed signer.
type Refused struct{ error }

// Unwrap returns the cause.
func (r *Refused) Unwrap() error { return r.error }

// Read reads a passport and verifies its signature. With a file of allowed signers the error is Refused for one that
// none of them signed; without that file Signer is "".
func Read(ctx context.Context, file string, o Options) (*passport.Checked, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, fault.Usage(err)
	}
	s, err := seal.Open(text)
	if err != nil {
		return nil, fault.Usage(fmt.Errorf("passport: %s: %w", file, err))
	}
	c := &passport.Checked{Key: seal.Print(s.Key)}
	if err := s.Verify(ctx); err != nil {
		return nil, &Refused{fmt.Errorf("passport: %s: %w", file, err)}
	}
	if o.Signers != "" {
		list, err := readSigners(o.Signers)
		if err != nil {
			return nil, fault.Usage(err)
		}
		if c.Signer, err = list.Find(s.Key, o.Signer, o.At); err != nil {
			return nil, &Refused{fmt.Errorf("passport: %s: %w", file, err)}
		}
	}
	if c.Passport, err = passport.Decode(s.Payload); err != nil {
		return nil, fault.Usage(fmt.Errorf("passport: %s: %w", file, err))
	}
	c.Rules = c.Passport.Tool.Compare(
		passport.Tool{Version: build.Version(), Commit: build.Commit(), Rules: rules.Hash()})
	return c, nil
}

// readFile reads a file of up to one byte more than a passport can have.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("passport: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, seal.Limit+1))
	if err != nil {
		return nil, fmt.Errorf("passport: %s: %w", name, err)
	}
	return text, nil
}

func readSigners(name string) (seal.Signers, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("allowed signers: %w", err)
	}
	defer f.Close()
	list, err := seal.ParseSigners(f)
	if err != nil {
		return nil, fmt.Errorf("allowed signers: %s:%w", name, err)
	}
	return list, nil
}

// Verify reads a passport, checks that it does not contradict itself, and with Evidence judges the stored traces again.
// It calls progress after each run with the share done.
func Verify(ctx context.Context, file string, o Options,
	progress func(share float64, what string)) (*passport.Checked, error) {
	c, err := Read(ctx, file, o)
	if err != nil {
		return nil, err
	}
	c.Doubts = c.Passport.Contradictions()
	if o.Evidence == "" {
		return c, nil
	}
	if _, err := os.Stat(o.Evidence); err != nil {
		return nil, fault.Usage(fmt.Errorf(
			"passport: evidence: %w; name the report folder that the passport is of", err))
	}
	c.Evidence = true
	for i := range c.Passport.Runs {
		r := &c.Passport.Runs[i]
		if r.Folder == "" {
			continue
		}
		c.Runs++
		doubts, err := again(ctx, r, o.Evidence, c)
		if err != nil {
			return nil, err
		}
		c.Doubts = append(c.Doubts, doubts...)
		progress(float64(i+1)/float64(len(c.Passport.Runs)), r.Name())
	}
	return c, fault.Broken(ctx.Err())
}

// again compares the evidence of a run with its hashes, and judges its trace again.
func again(ctx context.Context, r *passport.Run, evidence string, c *passport.Checked) (doubts []string, err error) {
	below := filepath.FromSlash(r.Folder)
	if !filepath.IsLocal(below) {
		return []string{fmt.Sprintf(
			"%s: its folder %s is not below that of the qualification", r.Name(), r.Folder)}, nil
	}
	dir := filepath.Join(evidence, below)
	h, err := hashFolder(dir)
	if err != nil {
		return nil, fault.Usage(err)
	}
	for _, d := range hashesOf(r).differ(h) {
		doubts = append(doubts, fmt.Sprintf("%s: %s of %s %s", r.Name(), d[0], r.Folder, d[1]))
	}
	if len(doubts) > 0 || r.Trace == "" {
		return doubts, nil
	}
	c.Whole++
	result, err := judge(ctx, dir, &c.Passport.Subject)
	if err != nil {
		return nil, fault.Broken(err)
	}
	return differing(r, decided(result.Verdicts), c), nil
}

// differing lists the verdicts of a run that differ from those of the passport. When the rules are other ones, it
// compares only those that both know.
func differing(r *passport.Run, found map[string][]string, c *passport.Checked) (doubts []string) {
	said, now := statuses(r.Verdicts), statuses(found)
	all := maps.Clone(said)
	maps.Copy(all, now)
	by := ""
	if c.Rules != passport.SameRules {
		by = ", by the rules of this program, which are " + string(c.Rules)
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if c.Rules == passport.OtherRules && !both(c.Passport, id) {
			continue
		}
		c.Verdicts++
		if said[id] != now[id] {
			doubts = append(doubts, fmt.Sprintf("%s: %s is %s, and the passport says %s%s",
				r.Name(), id, open(now[id]), open(said[id]), by))
		}
	}
	return doubts
}

// open returns the status of a verdict, INCONCLUSIVE for one that decides nothing.
func open(status string) string { return cmp.Or(status, rule.Inconclusive.String()) }

// both reports whether this program and the passport know a rule.
func both(p *passport.Passport, id string) bool {
	return slices.ContainsFunc(p.Rules, func(r passport.Rule) bool { return r.ID == id }) &&
		slices.ContainsFunc(rules.All(), func(r rule.Rule) bool { return r.ID == id })
}
