package rulebook

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Match returns the IDs of the rules that a word means: the rule with this ID, or those that begin so, "RC" or
// "RC-PSN". Case does not matter. Else it returns none.
func Match(word string) (ids []string) {
	word = strings.TrimSuffix(strings.ToUpper(word), "-")
	for _, id := range IDs() {
		if id == word || strings.HasPrefix(id, word+"-") {
			ids = append(ids, id)
		}
	}
	return ids
}

// Search returns the IDs of the rules that say every one of the words, in their ID, title, requirement, stimulus or
// causes. Case does not matter.
func Search(words []string) (ids []string) {
	for _, r := range catalogue() {
		text := strings.ToLower(strings.Join(append(rules.About(r.ID), r.ID, r.Title, r.Source.Ref,
			r.Source.Requirement, r.Stimulus), "\n"))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) }) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// nearBy is how many IDs are suggested.
const nearBy = 5

// Near returns the IDs that are most like a word that is none, the nearest first: none when nothing is like it.
func Near(word string) []string {
	word = strings.ToUpper(word)
	ids := IDs()
	slices.SortStableFunc(ids, func(a, b string) int { return distance(word, a) - distance(word, b) })
	n := 0
	for n < nearBy && distance(word, ids[n]) <= max(2, len(word)/3) {
		n++
	}
	return append([]string(nil), ids[:n]...)
}

// distance is how many letters are put in, taken out or exchanged to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			exchanged := corner
			if a[i] != b[j] {
				exchanged++
			}
			corner = row[j+1]
			row[j+1] = min(exchanged, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Brief is the rulebook with as much of each rule as fits in a line: nothing is drawn.
func Brief(ids []string) *model.Rulebook {
	b := newBook()
	for _, r := range catalogue() {
		if slices.Contains(ids, r.ID) {
			f := familyOf(b, r.ID)
			f.Rules = append(f.Rules, values(&r))
		}
	}
	return b
}
