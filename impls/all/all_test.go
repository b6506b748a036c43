package all

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestListIsSortedAndComplete(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) {
		t.Errorf("names are not sorted: %v", names)
	}
	dirs, err := filepath.Glob("../*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		name := filepath.Base(d)
		if info, err := os.Stat(d); err != nil || !info.IsDir() ||
			slices.Contains([]string{"all", "broken", "internal"}, name) {
			continue
		}
		if _, ok := Find(name); !ok {
			t.Errorf("impls/%s is not in the list", name)
		}
	}
	if _, ok := Find("nobody"); ok {
		t.Error("found an implementation that is not there")
	}
}

func TestEveryImplementationIsDescribed(t *testing.T) {
	for _, impl := range Implementations() {
		if impl.Title == "" || impl.Source == "" || impl.Recover == "" || impl.New == nil {
			t.Errorf("%s: title, source, recovery scheme and constructor are all needed", impl.Name)
		}
		for _, p := range impl.Params {
			if p.Name == "" || p.Meaning == "" {
				t.Errorf("%s: parameter %q has no name or no meaning", impl.Name, p.Name)
			}
		}
	}
}
