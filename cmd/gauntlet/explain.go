package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/rulebook"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

func explainCommand() *cobra.Command {
	var output outputFlags
	var list bool
	var page string
	c := &cobra.Command{
		Use:   "explain [RULE|FAMILY|WORD...]",
		Short: "Explain a conformance rule: its requirement, the usual violations, and an example of each",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return rulebook.IDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf(c, "color"); err != nil {
				return usage(err)
			}
			ids, err := meant(args)
			if err != nil {
				return usage(err)
			}
			if page != "" {
				return writeRulebook(page, ids)
			}
			return explain(ids, len(args) == 0 && !list, list, &output)
		},
	}
	c.Flags().BoolVar(&list, "list", false, "a line for each rule, also when there is only one")
	c.Flags().StringVar(&page, "html", "", "write these rules, or all, as a page to this file")
	c.Flags().BoolVar(&output.json, "json", false, jsonHelp)
	colorFlag(c, &output.color)
	return c
}

// meant returns the rules that the words select: by ID, by a prefix of IDs, or else the rules whose text has all the
// words.
func meant(words []string) (ids []string, err error) {
	if len(words) == 0 {
		return rulebook.IDs(), nil
	}
	for _, w := range words {
		found := rulebook.Match(w)
		if found == nil {
			ids = nil
			break
		}
		ids = append(ids, found...)
	}
	if ids == nil {
		ids = rulebook.Search(words)
	}
	if ids == nil {
		return nil, unknown(words)
	}
	return ids, nil
}

// unknown returns an error for words that select no rule, with suggestions.
func unknown(words []string) error {
	err := fmt.Errorf("no rule is called %q, and none says that; gauntlet explain lists the families",
		strings.Join(words, " "))
	if near := rulebook.Near(words[0]); near != nil {
		err = fmt.Errorf("no rule is called %q; similar: %s", words[0], strings.Join(near, ", "))
	}
	return err
}

// explain prints the families, a line for each of several rules, or the whole entry of one rule.
func explain(ids []string, families, list bool, output *outputFlags) error {
	switch {
	case families && !output.json:
		return show(rulebook.Brief(ids), output, func(w io.Writer, b *model.Rulebook, o terminal.Options) error {
			if err := terminal.Families(w, b, o); err != nil {
				return err
			}
			_, err := io.WriteString(w, howToSearch)
			return err
		})
	case list || len(ids) > 1:
		return show(rulebook.Brief(ids), output, terminal.Rules)
	}
	b, err := rulebook.Of(ids)
	if err != nil {
		return broken(err)
	}
	return show(b, output, terminal.Rulebook)
}

// howToSearch follows the list of families.
const howToSearch = `
gauntlet explain RC            the rules of a family, or RC-PSN of a topic
gauntlet explain RC-PSN-005    everything about one rule
gauntlet explain wrap-around   the rules whose text has this word
gauntlet explain --list        all rules
gauntlet explain --html FILE   everything about all rules, as a page
`

// writeRulebook writes an HTML page of the rules.
func writeRulebook(path string, ids []string) error {
	b, err := rulebook.Of(ids)
	if err != nil {
		return broken(err)
	}
	if err := document.File(path, func(w io.Writer) error { return html.Rulebook(w, b) }); err != nil {
		return broken(err)
	}
	fmt.Fprintf(os.Stderr, "rulebook: %s\n", path)
	return nil
}
