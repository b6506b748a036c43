package html

import (
	"html/template"
	"io"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Rulebook writes the rules of b as a page: each has its ID as the anchor, so that RULEBOOK.html#RC-PSN-005 opens it.
func Rulebook(w io.Writer, b *model.Rulebook) error {
	v := &rulebookView{Rulebook: b, Style: template.CSS(asset("style.css")), Script: template.JS(asset("rulebook.js"))}
	v.Policy = policy(v.Script)
	n := 0
	for _, f := range b.Families {
		n += len(f.Rules)
	}
	v.Count = plural(n, "rule", "rules")
	return render(w, "rulebook.tmpl", v)
}

// rulebookView is the data of the page.
type rulebookView struct {
	*model.Rulebook
	Policy string
	Style  template.CSS
	Script template.JS
	Count  string
}
