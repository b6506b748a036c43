package passport

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
	"github.com/rdma-gauntlet/gauntlet/reports/passport/seal"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planted is what a lab would not have told: a host, addresses, a user and a path.
const planted = "dut7.lab.example.com 192.0.2.7 fe80::7:7 02:00:5e:00:53:07 alice /home/alice/secret"

// report is the report folder of a qualification of go-back-N by two scenarios, in which all that is not looked at by
// name has the planted text. Its runs are real, and so are their folders.
func report(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	q := modeltest.Fill(modeltest.Qualification(), planted, true)
	q.Version, q.Commit, q.Started, q.Bench = "0.1.0", strings.Repeat("a", 40), "2026-03-01T12:00:00Z", "sim"
	q.Subject, q.Peer, q.Reference, q.Profile, q.ProfileHash, q.RulesHash = "gbn", "gbn", "gbn", "rc-gbn",
		strings.Repeat("b", 64), rules.Hash()
	q.Capabilities[0].Title, q.Capabilities[0].Features = "go-back-N", []string{"rc", "gbn"}
	q.Environment = append(q.Environment, model.Fact{Name: "kernel", Value: planted}) // of an engine nobody asks
	q.Folder, q.Scenarios, q.Targets, q.Waivers = planted, q.Scenarios[:2], nil, q.Waivers[:1]
	q.Waivers[0].Expires = "2027-01-31"
	list := rules.All()
	for i := range q.Rules {
		q.Rules[i] = model.RuleOutcome{Rule: list[i].ID, Level: list[i].Level, Title: planted, Status: "INCONCLUSIVE",
			Reason: planted, Finding: planted, Broken: []string{planted}}
	}
	q.Qualified, q.Status, q.Validity = true, "PASS", "VALID"
	for i, name := range []string{"loss-middle", "random/loss"} {
		below := filepath.Join("scenarios", "gbn", filepath.FromSlash(name))
		s := &q.Scenarios[i]
		s.Name, s.Role, s.Status, s.Folder = name, "", "PASS", filepath.Join(planted, below)
		play(t, filepath.Join(dir, below), true)
	}
	text, err := json.Marshal(q)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "qualification.json"), text, 0o644))
	return dir
}

// play makes a run of go-back-N over a lossy link, whose folder it keeps, with captures or without, and gives it a
// certificate.
func play(t *testing.T, dir string, taps bool) {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(
		"seed 3\nlink rate=100M delay=1ms\nloss random p=2e-2\nload write msg=16KiB count=10\n"))
	must(t, err)
	g := gbn.Implementation()
	r, err := run.Execute(t.Context(), run.Options{Spec: s, Bench: sim.Bench{}, Name: "sim",
		Impls: [2]engine.Implementation{g, g}, Rules: rules.All(), Folder: dir,
		Codec: run.CodecOn, Taps: taps, Command: planted})
	must(t, err)
	r.Certificates = []certify.Certificate{{When: "during", Valid: true,
		Items: []certify.Item{{Name: planted, OK: true}}}}
	text, err := json.Marshal(r)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "result.json"), text, 0o644))
}

// signer makes a key, and a file of allowed signers that has it.
func signer(t *testing.T) (key, allowed string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must(t, err)
	dir := t.TempDir()
	key, allowed = filepath.Join(dir, "key"), filepath.Join(dir, "allowed")
	must(t, os.WriteFile(key, pem.EncodeToMemory(block), 0o600))
	half, err := ssh.NewPublicKey(public)
	must(t, err)
	must(t, os.WriteFile(allowed, append([]byte("alice@example.com "), ssh.MarshalAuthorizedKey(half)...), 0o600))
	return key, allowed
}

// Nothing in a passport tells of the lab, unless somebody asked for it.
func TestNothingOfTheLab(t *testing.T) {
	dir := report(t)
	words := append(strings.Fields(planted), "example.com", "10.77.")
	for _, lab := range []bool{false, true} {
		p, err := Make(t.Context(), dir, lab)
		must(t, err)
		if len(p.Runs) != 2 || p.Runs[1].Folder != "scenarios/gbn/random/loss" || len(p.Runs[0].Captures) != 2 ||
			p.Runs[0].Certificates == "" || len(p.Sheet) == 0 || len(p.Beyond) > 0 {
			t.Fatalf("%+v", p)
		}
		text, err := p.Encode()
		must(t, err)
		for _, w := range words[:len(words)-1] {
			if bytes.Contains(text, []byte(w)) != lab {
				t.Errorf("lab %v: %s at …%s", lab, w, around(text, w))
			}
		}
		if w := words[len(words)-1]; bytes.Contains(text, []byte(w)) {
			t.Errorf("the addresses of the run: %s", around(text, w))
		}
	}
}

// around is a part of a text about a word.
func around(text []byte, word string) string {
	at := bytes.Index(text, []byte(word))
	return string(text[max(0, at-60):min(len(text), max(at, 0)+60)])
}

// Programs and images are told by their own names, and the waivers that everybody has with their reasons.
func TestSubject(t *testing.T) {
	q := modeltest.Qualification()
	for name, want := range map[string]passport.Subject{
		"exec:/home/alice/mine":         {Name: "mine", Kind: passport.Program, Version: "1.2"},
		"image:registry.lab:5000/its:7": {Name: "its-7", Kind: passport.Image, Version: "1.2"},
		"gbn":                           {Name: "gbn", Kind: passport.Engine, Version: q.Version},
		"rnic": {Name: "rnic", Kind: passport.Device, Vendor: "0x15b3", Part: "0x101d",
			Firmware: "16.35", Driver: "mlx5_core", Kernel: "6.1"},
	} {
		q.Subject, q.Capabilities[0].Said = name, map[string]any{"version": "1.2"}
		q.Environment = []model.Fact{{Name: "kernel", Value: "6.1"}, {Name: "driver at A", Value: "mlx5_core"},
			{Name: "vendor at A", Value: "0x15b3"}, {Name: "part at A", Value: "0x101d"},
			{Name: "firmware at A", Value: "16.35"}, {Name: "device at A", Value: "RNIC under ib_write_bw"}}
		got := subject(q)
		if got.Title, got.Declares = "", nil; got.Name != want.Name || got.Kind != want.Kind ||
			got.Version != want.Version || got.Label() != want.Label() || got.Kernel != want.Kernel {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	q.Waivers = []model.WaiverOutcome{{Rule: "GBN-RTX-004", Owner: "alice", Reason: "known"},
		{Rule: "RC-RNR-[!alice]*"}}
	if w := waived(q); w[0].Owner+w[0].Reason+w[1].Rule != "" || w[0].Rule != "GBN-RTX-004" {
		t.Errorf("%+v", w)
	}
}

// A passport is so while its evidence is as it was and shows what it says.
func TestVerify(t *testing.T) {
	dir := report(t)
	key, allowed := signer(t)
	file := filepath.Join(t.TempDir(), "passport.json")
	o := SignOptions{File: file, Key: key}
	_, err := o.Sign(t.Context(), dir)
	must(t, err)
	if err := o.Ready(); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Error(err)
	}
	verify := func(evidence, name string) *passport.Checked {
		t.Helper()
		c, err := Verify(t.Context(), name, Options{Signers: allowed, Evidence: evidence, At: time.Now()},
			func(float64, string) {})
		must(t, err)
		return c
	}
	if c := verify("", file); c.Verdict() != "SIGNED" || c.Signer != "alice@example.com" {
		t.Errorf("%+v", c)
	}
	if c := verify(dir, file); c.Verdict() != "VERIFIED" || c.Runs != 2 || c.Whole != 2 || c.Verdicts < 20 {
		t.Errorf("%s %d %d %d %q", c.Verdict(), c.Runs, c.Whole, c.Verdicts, c.Doubts)
	}
	for _, c := range []struct {
		want   string
		change func(folder string) error
	}{
		{"trace.ndjson of scenarios/gbn/loss-middle was altered", func(f string) error {
			return appendTo(f, "trace.ndjson")
		}},
		{"spec.txt of scenarios/gbn/loss-middle was altered", func(f string) error { return appendTo(f, "spec.txt") }},
		{"taps/A.pcapng of scenarios/gbn/loss-middle was altered", func(f string) error {
			return appendTo(f, "taps/A.pcapng")
		}},
		{"taps/C.pcapng of scenarios/gbn/loss-middle was not there", func(f string) error {
			return appendTo(f, "taps/C.pcapng")
		}},
		{"trace.ndjson of scenarios/gbn/loss-middle is missing", func(f string) error {
			return os.Remove(filepath.Join(f, "trace.ndjson"))
		}},
		{"certificates of scenarios/gbn/loss-middle is missing", func(f string) error {
			return os.Remove(filepath.Join(f, "result.json"))
		}},
		{"spec.txt of scenarios/gbn/loss-middle is missing", os.RemoveAll},
	} {
		copied := t.TempDir()
		must(t, os.CopyFS(copied, os.DirFS(dir)))
		must(t, c.change(filepath.Join(copied, "scenarios", "gbn", "loss-middle")))
		if got := verify(copied, file); got.Verdict() != "NOT SO" || got.Whole != 1 ||
			!strings.Contains(strings.Join(got.Doubts, "\n"), c.want) {
			t.Errorf("%q, want %q", got.Doubts, c.want)
		}
	}
	for want, lie := range map[string]func(*passport.Passport){
		"is PASS, and the passport says INCONCLUSIVE": func(p *passport.Passport) {
			p.Runs[0].Verdicts["PASS"] = p.Runs[0].Verdicts["PASS"][1:]
		},
		"is INCONCLUSIVE, and the passport says FAIL": func(p *passport.Passport) {
			p.Runs[0].Verdicts["FAIL"] = []string{"GBN-ZZZ-001"}
		},
		"is not below that of the qualification":      func(p *passport.Passport) { p.Runs[0].Folder = "../elsewhere" },
		"said to be FAIL, and no run has it broken":   func(p *passport.Passport) { p.Rules[0].Status = "FAIL" },
		"by the rules of this program, which are the": func(p *passport.Passport) { p.Runs[0].Verdicts["PASS"] = nil },
	} {
		if c := verify(dir, forge(t, file, key, lie)); c.Verdict() != "NOT SO" ||
			!strings.Contains(strings.Join(c.Doubts, "\n"), want) {
			t.Errorf("%q, want %q", c.Doubts, want)
		}
	}
	other := forge(t, file, key, func(p *passport.Passport) {
		p.Tool.Rules, p.Runs[0].Verdicts["PASS"] = "another", append(p.Runs[0].Verdicts["PASS"], "OLD-RULE-001")
	})
	if c := verify(dir, other); c.Verdict() != "VERIFIED" || c.Rules != passport.OtherRules {
		t.Errorf("a rule that is gone speaks against a passport: %s %q", c.Rules, c.Doubts)
	}
}

// What a run said of frames of which nothing is kept is told apart from what its evidence shows, and held against
// nobody.
func TestBeyond(t *testing.T) {
	dir := report(t)
	folder := filepath.Join(dir, "scenarios", "gbn", "loss-middle")
	must(t, os.RemoveAll(folder))
	play(t, folder, false)
	p, err := Make(t.Context(), dir, false)
	must(t, err)
	want := passport.Beyond{Scenario: "loss-middle", Rule: "WIRE-ICRC-001", Said: "PASS", Shown: "INCONCLUSIVE"}
	if len(p.Runs[0].Captures) > 0 || !slices.Contains(p.Beyond, want) {
		t.Errorf("%d captures, %+v", len(p.Runs[0].Captures), p.Beyond)
	}
	for _, b := range p.Beyond {
		if !strings.HasPrefix(b.Rule, "WIRE-") || b.Scenario != want.Scenario {
			t.Errorf("%+v", b)
		}
	}
}

// Counters are those of the subject, whichever end it was, over all runs.
func TestCounters(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "spec.txt"),
		[]byte("seed 1\nimpl gbn rxe\nload write msg=1KiB count=1\n"), 0o644))
	m := &maker{given: &model.Qualification{Subject: "rxe"}}
	count := func(side string, value int64) rule.Verdict {
		return rule.Verdict{Counts: []rule.Count{{Side: side, Name: "hw/rcvd_pkts", Value: value, Low: 5, High: 5}}}
	}
	for range 2 {
		m.count(dir, []rule.Verdict{count("A", 100), count("B", 5)})
	}
	m.count(dir, []rule.Verdict{count("B", 4), count("", 7)})
	want := datasheet.Counter{Name: "hw/rcvd_pkts", Value: 14, Low: 15, High: 15, Seen: 3, Wrong: 1}
	if got := m.counts.Counters; len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// appendTo adds a line to a file, which it makes where there is none.
func appendTo(folder, name string) error {
	f, err := os.OpenFile(filepath.Join(folder, filepath.FromSlash(name)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n")
	return errors.Join(err, f.Close())
}

// forge signs a passport that is not what its evidence shows.
func forge(t *testing.T, file, key string, lie func(*passport.Passport)) string {
	t.Helper()
	c, err := Read(t.Context(), file, Options{})
	must(t, err)
	p := c.Passport
	lie(p)
	payload, err := p.Encode()
	must(t, err)
	k, err := seal.FindKey(key)
	must(t, err)
	text, err := seal.Seal(context.Background(), payload, k.Signer)
	must(t, err)
	forged := filepath.Join(t.TempDir(), "forged.json")
	must(t, os.WriteFile(forged, text, 0o644))
	return forged
}
