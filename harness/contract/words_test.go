package contract_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// The words that a program may declare are exactly those that rules need and implementations declare. Without a listed
// word a rule could not be met; a listed word that no rule needs would mean nothing.
func TestWordsAreThoseOfRulesAndImplementations(t *testing.T) {
	recoveries := map[string]bool{contract.Other: true}
	features := map[string]bool{"cm": true, contract.FeatureDilate: true, "spec": true, "tcp": true}
	for _, i := range all.Implementations() {
		recoveries[i.Recover] = true
		for _, f := range i.Features {
			features[f] = true
		}
	}
	for _, r := range rules.All() {
		for _, f := range append(slices.Clone(r.Features), r.Without) {
			if f != "" && f != "rc" && !recoveries[f] {
				features[f] = true
			}
		}
	}
	for _, c := range []struct {
		name  string
		known []string
		used  map[string]bool
	}{{"recovery", contract.Recoveries(), recoveries}, {"features", contract.Features(), features}} {
		for _, w := range c.known {
			if !c.used[w] {
				t.Errorf("%s: %q is known, and no rule or implementation has it", c.name, w)
			}
			delete(c.used, w)
		}
		for w := range c.used {
			t.Errorf("%s: %q is used, and no program may declare it", c.name, w)
		}
	}
}

// A program that declares a recovery scheme declares, without saying so, what all implementations of the scheme here
// declare, so that the rules of the scheme apply to it.
func TestASchemeHasItsFeatures(t *testing.T) {
	common := map[string][]string{}
	for _, i := range all.Implementations() {
		if so, ok := common[i.Recover]; ok {
			common[i.Recover] = slices.DeleteFunc(so, func(f string) bool { return !slices.Contains(i.Features, f) })
		} else {
			common[i.Recover] = slices.Clone(i.Features)
		}
	}
	for _, r := range contract.Recoveries() {
		c := contract.Capabilities{Recovery: r}
		if got := c.Declared(); !slices.Equal(slices.Sorted(slices.Values(got)),
			slices.Sorted(slices.Values(common[r]))) {
			t.Errorf("%s has the features %v, its implementations have %v", r, got, common[r])
		}
	}
	c := contract.Capabilities{Recovery: "irn", Features: "cm direct"}
	if got, want := c.Declared(), []string{"sr", "direct", "extension", "cm"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The rules of no scheme apply to a program with a recovery of its own; the rules for every RC transport do.
func TestOtherIsNoScheme(t *testing.T) {
	general := 0
	for _, r := range rules.All() {
		if !r.AppliesTo([]string{"rc", contract.Other}) {
			continue
		}
		if general++; len(r.Features) > 0 {
			t.Errorf("%s applies to %s", r.ID, contract.Other)
		}
	}
	if general == 0 {
		t.Error("no rule applies")
	}
}

// The page of the contract lists all words.
func TestWordsAreInTheContract(t *testing.T) {
	page, err := os.ReadFile("../../images/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(page), func(c rune) bool { return strings.ContainsRune(" \n`,;:.()", c) })
	for _, w := range slices.Concat(contract.Recoveries(), contract.Features()) {
		if !slices.Contains(words, w) {
			t.Errorf("images/CONTRACT.md does not name %s", w)
		}
	}
}

// The page names the opcodes of the schemes that IBTA does not know.
func TestPageNamesOpcodes(t *testing.T) {
	page, err := os.ReadFile("../../images/CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []roce.Opcode{roce.XSendFirst, roce.XReadRequest, roce.XReadRespFirst, roce.XReadRespOnly,
		roce.XAtomicAck, roce.XCompareSwap, roce.XFetchAdd, roce.IRNNack, roce.IRNReadAck, roce.RACK, roce.FSendFirst,
		roce.FReadRequest, roce.FReadRespFirst, roce.FReadRespOnly, roce.FaSRSack, roce.FaSRReadAck,
		roce.FaSRSackOverflow, roce.FNACK} {
		if code := fmt.Sprintf("0x%02X", int(op)); !strings.Contains(string(page), code) {
			t.Errorf("images/CONTRACT.md does not name %s, %s", code, op)
		}
	}
}
