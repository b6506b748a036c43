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

// Links returns the links that come with the program: no loss first, then in the order of their names.
func Links() []model.MatrixLink {
	entries, _ := files.ReadDir("links") // embedded
	var all []model.MatrixLink
	for _, e := range entries {
		text, _ := files.ReadFile("links/" + e.Name()) // likewise
		all = append(all, newLink(e.Name(), string(text)))
	}
	slices.SortFunc(all, func(a, b model.MatrixLink) int {
		return strings.Compare(rank(a.Name), rank(b.Name))
	})
	return all
}

// LinkNames are the names of the links that come with the program.
func LinkNames() (names []string) {
	for _, l := range Links() {
		names = append(names, l.Name)
	}
	return names
}

// rank puts the link without loss first: it is what the others are compared with.
func rank(name string) string {
	if name == "clean" {
		return ""
	}
	return name
}

// mostLink bounds a file that defines a link; a longer one is something else.
const mostLink = 64 << 10

// FindLinks returns the links of names separated by commas; see FindLink.
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

// FindLink returns the link of a name, or, for a name with a dot or a slash, the one that the file defines.
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

// readLink reads a file of scenario lines.
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

// newLink takes the text of a file apart: its first comment is the title.
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

// Spec builds the run over a link: the lines that all links start from, then more for every cell, then those of the
// link. Lines that post work take the place of the workload of those before.
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

// headers are the bytes that a full packet takes on the line beside its payload, at most.
const headers = 82

// apply adds statements to a Spec.
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

// setsTimer reports whether a line chooses the transport timer, which is then not fitted to the round trip.
func setsTimer(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "qp ") && (strings.Contains(line, " timeout=") ||
			strings.Contains(line, " rto="))
	})
}
