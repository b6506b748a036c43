package rulebook

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Match returns the IDs of the rules that a word denotes: the rule with this ID, or all rules with this prefix, such as
// "RC" or "RC-PSN". Case does not matter. It returns nil when there is none.
func Match(word string) (ids []string) {
	word = strings.TrimSuffix(strings.ToUpper(word), "-")
	for _, id := range IDs() {
		if id == word || strings.HasPrefix(id, word+"-") {
			ids = append(ids, id)
		}
	}
	return ids
}

// Search returns the IDs of the rules that contain every one of the words, in ID, title, source, requirement, stimulus
// or causes. Case does not matter.
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

// nearBy is the largest number of IDs suggested.
const nearBy = 5

// Near returns the IDs most similar to a word that is not an ID, the nearest first; none if no ID is similar.
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

// distance returns the Levenshtein distance of two strings: the number of letters to insert, delete or replace.
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

// Brief returns a rulebook of some rules without fixtures and engines: as much as fits in a line for each.
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
