package rows

import (
	"slices"
	"testing"
)

// A plus joins two implementations, and may also be a part of a path.
func TestEndsOfARow(t *testing.T) {
	for name, want := range map[string][]string{
		"gbn": {"gbn"}, "gbn+irn": {"gbn", "irn"}, "gbn+": {"gbn", ""}, "exec:./a": {"exec:./a"},
		"exec:./c++/a":     {"exec:./c++/a"},
		"exec:./c++/a+gbn": {"exec:./c++/a", "gbn"}, "gbn+exec:./c++": {"gbn", "exec:./c++"},
		"exec:./a+exec:./b": {"exec:./a", "exec:./b"},
	} {
		if got := ends(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	r := reader{folders: map[string]bool{}}
	var folders []string
	for _, name := range []string{"gbn", "exec:./a/gbn", "exec:./b/gbn", "gbn+exec:./b/gbn"} {
		folders = append(folders, r.folder(name))
	}
	if want := []string{"gbn", "exec-gbn", "exec-gbn-2", "gbn+exec-gbn"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}
	for p, want := range map[string][2]string{
		"gbn:rto=1ms": {"gbn", "rto=1ms"}, "exec:./a:x=y:z": {"exec:./a", "x=y:z"},
		"exec:./a=b/c:x=1":          {"exec:./a=b/c", "x=1"},
		"image:host:5000/a:tag:x=1": {"image:host:5000/a:tag", "x=1"}, "rto=1ms": {}, "gbn:rto": {},
	} {
		if impl, assignment, ok := cutParameter(p); impl != want[0] || assignment != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %q %q %t, want %q", p, impl, assignment, ok, want)
		}
	}
}
