package site

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// feedEntries is how many causes the feed has, the newest.
const feedEntries = 50

// atom is an Atom feed (RFC 4287).
type atom struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  string   `xml:"author>name"`
	Link    atomLink `xml:"link"`
	Entries []atomEntry
}

type atomLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr,omitempty"`
}

type atomEntry struct {
	XMLName xml.Name `xml:"entry"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// feed writes an entry for each cause.
func (p *past) feed(w io.Writer) error {
	f := atom{ID: "urn:gauntlet:site:" + digest(p.site.Store), Title: "Gauntlet: what changed",
		Updated: p.when(p.tonight.Night), Author: "gauntlet", Link: atomLink{Href: "index.html"}}
	for i := range p.causes[:min(len(p.causes), feedEntries)] {
		c := &p.causes[i]
		e := atomEntry{ID: "urn:gauntlet:" + c.Page, Updated: p.when(c.Night), Link: atomLink{c.Page, "alternate"}}
		title := fmt.Sprintf("%s: %s, %s", c.Night, c.Changes[0].Kind,
			quantity.Plural(int64(len(c.Changes)), "change", "changes"))
		if c.Commit != "" {
			title += fmt.Sprintf(", by %.12s %s", c.Commit, c.Entry.Title)
		}
		e.Title = quote.Line(title, quote.Sentence)
		for k := range c.Changes[:min(len(c.Changes), changesShown)] {
			x := &c.Changes[k]
			e.Summary += quote.Line(fmt.Sprintf("%s %s: %s", x.Kind, named(x.Name, x.Host), fromTo(x)),
				quote.Sentence) + "\n"
		}
		f.Entries = append(f.Entries, e)
	}
	text, err := xml.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+quote.Text(string(text))+"\n")
	return err
}

// when is the time of a night as Atom wants it.
func (p *past) when(night string) string {
	for _, text := range []string{p.started[night], night + "T00:00:00Z"} {
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return time.Unix(0, 0).UTC().Format(time.RFC3339)
}

// json writes what changed, the newest night first, and everything of the newest.
func (p *past) json(w io.Writer) error {
	causes := p.causes
	if causes == nil {
		causes = []cause{}
	}
	return quote.JSON(w, map[string]any{"format": model.FormatVersion, "night": p.tonight.Night, "tonight": p.tonight,
		"causes": causes, "a_a": p.selves, "a_a_compared": p.selves.All().Compared, "a_a_alarms": p.selves.All().Alarms})
}
