package scenario

import "strings"

// Exec begins the name of an implementation that is a program; its path follows.
const Exec = "exec:"

// Image begins the name of an implementation that is a container image; the image's name follows.
const Image = "image:"

// Party is the program or image that a bench starts as one end of a run. At most one of its fields is set; none means
// an engine, which a process of this project drives.
type Party struct {
	Program string // path of a program that keeps images/CONTRACT.md
	Image   string // name of a container image that starts such a program
}

// PartyOf parses the name of an implementation in Spec.Impl.
func PartyOf(name string) (p Party) {
	if path, ok := strings.CutPrefix(name, Exec); ok {
		p.Program = path
	} else if image, ok := strings.CutPrefix(name, Image); ok {
		p.Image = image
	}
	return p
}

// Foreign reports whether a name is that of a program or an image.
func Foreign(name string) bool {
	return strings.HasPrefix(name, Exec) || strings.HasPrefix(name, Image)
}
