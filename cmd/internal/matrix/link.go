package matrix

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

//go:embed links/*.txt
var files embed.FS

//go:embed base.txt
var base string

// Links returns the links that come with the program: the one without loss first, the others by name.
func Links() []model.MatrixLink {
	entries, _ := files.ReadDir("links") // an embedded folder can be read
	var all []model.MatrixLink
	for _, e := range entries {
		text, _ := files.ReadFile("links/" + e.Name()) // an embedded file can be read
		all = append(all, newLink(e.Name(), string(text)))
	}
	slices.SortFunc(all, func(a, b model.MatrixLink) int {
		return strings.Compare(rank(a.Name), rank(b.Name))
	})
	return all
}

// LinkNames returns the names of the links that come with the program.
func LinkNames() (names []string) {
	for _, l := range Links() {
		names = append(names, l.Name)
	}
	return names
}

// rank sorts the link without loss first: the others are compared with it.
func rank(name string) string {
	if name == "clean" {
		return ""
	}
	return name
}

// mostLink bounds a file that defines a link, in bytes.
const mostLink = 64 << 10

// FindLinks returns the links named in a list separated by commas; see FindLink.
func FindLinks(names string) (links []model.MatrixLink, err error) {
	for name := range strings.SplitSeq(names, ",") {
		l, err := FindLink(name)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

// FindLink returns the link with a name. A name with a dot or a slash is the path of a file that defines the link.
func FindLink(name string) (model.MatrixLink, error) {
	if strings.ContainsAny(name, "./") {
		return readLink(name)
	}
	var known []string
	for _, l := range Links() {
		if l.Name == name {
			return l, nil
		}
		known = append(known, l.Name)
	}
	return model.MatrixLink{}, fmt.Errorf("link %.60q: unknown; known: %s, or a file such as ./mine.txt", name,
		strings.Join(known, " "))
}

// readLink reads a link from a file of scenario lines.
func readLink(path string) (model.MatrixLink, error) {
	info, err := os.Stat(path)
	if err != nil {
		return model.MatrixLink{}, fmt.Errorf("link: %w", err)
	}
	if info.IsDir() || info.Size() > mostLink {
		return model.MatrixLink{}, fmt.Errorf(
			"link %s: want a file of scenario lines, %d bytes at most", path, mostLink)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return model.MatrixLink{}, fmt.Errorf("link: %w", err)
	}
	l := newLink(filepath.Base(path), string(text))
	if _, err := Spec(l, nil); err != nil {
		return model.MatrixLink{}, err
	}
	return l, nil
}

// newLink parses the text of a link: the first comment is its title, the lines that are no comments its scenario text.
func newLink(file, text string) model.MatrixLink {
	l := model.MatrixLink{Name: strings.TrimSuffix(file, ".txt")}
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line[0] != '#':
			kept = append(kept, line)
		case l.Title == "":
			l.Title = strings.TrimSpace(line[1:])
		}
	}
	l.Text = strings.Join(kept, "\n")
	return l
}

// Spec builds the Spec of a run over a link from base.txt, the lines more that apply to every cell, and the lines of
// the link, in this order. Workload lines of a later part replace those of earlier parts.
func Spec(l model.MatrixLink, more []string) (*scenario.Spec, error) {
	s := scenario.Default()
	if err := apply(s, strings.Split(base, "\n")); err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	if err := apply(s, more); err != nil {
		return nil, err
	}
	for _, d := range []*int{&s.Link.AB.Queue, &s.Link.BA.Queue} {
		*d = max(*d, 2*s.Link.AB.BDPPackets(s.RTT(), s.QP[0].MTU+headers))
	}
	if err := apply(s, strings.Split(l.Text, "\n")); err != nil {
		return nil, fmt.Errorf("link %s: %w", l.Name, err)
	}
	if !setsTimer(append(slices.Clone(more), strings.Split(l.Text, "\n")...)) {
		s.FitTimeout()
	}
	s.Title = []string{"matrix: " + l.Name}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("link %s: %w", l.Name, err)
	}
	return s, nil
}

// headers is the upper bound of the bytes of a full packet besides its payload.
const headers = 82

// apply adds lines to a Spec. If they have workload lines, these replace the workload of the Spec.
func apply(s *scenario.Spec, lines []string) error {
	if slices.ContainsFunc(lines, postsWork) {
		s.Loads, s.Posts, s.Turns = nil, nil, scenario.Turns{}
	}
	for _, line := range lines {
		if err := s.Line(line); err != nil {
			return err
		}
	}
	return nil
}

func postsWork(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "load ") || strings.HasPrefix(line, "post-") || strings.HasPrefix(line, "turns ")
}

// setsTimer reports whether a line sets the transport timer; Spec then does not fit it to the round-trip time.
func setsTimer(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "qp ") && (strings.Contains(line, " timeout=") ||
			strings.Contains(line, " rto="))
	})
}
