package engine_test

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// A parameter declares a variant when it is given and differs from its default; the implementation's own list is not
// changed.
func TestDeclaresWith(t *testing.T) {
	impl := engine.Implementation{Recover: "x", Features: make([]string, 1, 8),
		Params: []engine.Param{{Name: "a", Default: "0"}, {Name: "b", Default: "none"}}}
	impl.Features[0] = "sr"
	for _, c := range []struct {
		given engine.Params
		want  []string
	}{
		{nil, []string{"rc", "x", "sr"}},
		{engine.Params{"a": "0"}, []string{"rc", "x", "sr"}},
		{engine.Params{"b": "some", "a": "1"}, []string{"rc", "x", "sr", "a", "b"}},
		{engine.Params{"c": "1"}, []string{"rc", "x", "sr"}},
	} {
		if got := impl.DeclaresWith(c.given); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.given, got, c.want)
		}
	}
}
