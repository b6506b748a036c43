package statement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// form returns a format with one statement of each kind, which records its arguments in said.
func form(said *string) *Form {
	var word string
	var words []string
	var n int
	return &Form{Name: "plan", Version: 2,
		Verbs: map[string]func(string) error{"host": Word(&word), "links": Words(&words), "seeds": Number(&n, 1, 9)},
		Also: func(verb, line string, number int) (bool, error) {
			if verb == "run" {
				*said += fmt.Sprintf("%d: %s; ", number, line)
			}
			return verb == "run", nil
		},
		Kinds: ", or run",
		Check: func() error {
			if word == "" {
				return errors.New("no host")
			}
			*said += fmt.Sprint(word, words, n)
			return nil
		}}
}

func TestRead(t *testing.T) {
	var said string
	text := "\n# a comment\nplan 2\nhost  lab1\nrun a --b\n  links x  y \nrun a --b\nseeds 3\n"
	if err := form(&said).Read(strings.NewReader(text)); err != nil ||
		said != "5: run a --b; 7: run a --b; lab1[x y] 3" {
		t.Errorf("%q, %v", said, err)
	}
}

// Every error is one line with the number of the line, the word and the remedy.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              `0: no statement; want "plan 2" first`,
		"# nothing\n":                   `1: no statement; want "plan 2" first`,
		"host a":                        `1: host a: want "plan 2" as the first statement`,
		"run a":                         `1: run a: want "plan 2" as the first statement`,
		"plan":                          `1: plan: want "plan 2" as the first statement`,
		"plan 3":                        `1: plan 3: this program reads version 2`,
		"plan 2\nplan 2":                `2: plan: given twice; keep one line`,
		"plan 2\nhost a\nhost b":        `3: host: given twice; keep one line`,
		"plan 2\nhost":                  `2: host: want a value behind it`,
		"plan 2\nhost a b":              `2: host a b: want one word`,
		"plan 2\nhost a\x1bb":           `2: host a\x1bb: want one word`,
		"plan 2\nseeds 10":              `2: seeds 10: want 1 to 9`,
		"plan 2\nseeds many":            `2: seeds many: want 1 to 9`,
		"plan 2\nhots a":                `2: hots: unknown; want one of host links seeds, or run`,
		"plan 2\n":                      `1: no host`,
		"plan 2\nhost " + long(MaxLine): `1: line longer than 4096 bytes, or unreadable: bufio.Scanner: token too long`,
		"plan 2\n" + strings.Repeat("run a\n", MaxLines): `1001: more than 1000 lines`,
	} {
		var said string
		if err := form(&said).Read(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func long(n int) string { return strings.Repeat("a", n) }
