package tamper

import (
	"errors"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// plain is a host with an optional method.
type plain struct{ engine.Host }

func (plain) Vars(list []engine.Var) []engine.Var {
	return append(list, engine.Var{Name: "x", Value: 1})
}

func saying(word string) func([]byte) []byte {
	return func([]byte) []byte { return []byte(word) }
}

// Open removes all wrappers and returns the original host with its optional methods.
func TestOpen(t *testing.T) {
	right := engine.Implementation{NewHost: func(engine.Params) (engine.Host, error) { return plain{}, nil }}
	impl := Around(Around(right, Frames{Out: saying("first"), In: saying("in")}), Frames{Out: saying("second")})
	h, err := impl.Host(nil)
	if err != nil {
		t.Fatal(err)
	}
	inner, f := Open(h)
	if _, ok := inner.(engine.Inspector); !ok || string(f.Out(nil)) != "second" || string(f.In(nil)) != "in" {
		t.Errorf("host %T, frames %v", inner, f)
	}
	if inner, f := Open(plain{}); inner != (plain{}) || f.Out != nil || f.In != nil {
		t.Errorf("of a right host: %T, %v", inner, f)
	}
	impl = Around(engine.Implementation{NewHost: func(engine.Params) (engine.Host, error) {
		return nil, errors.New("k: want 1")
	}}, Frames{})
	if _, err := impl.Host(nil); err == nil {
		t.Error("the error of the right host is lost")
	}
}

func TestOpenBox(t *testing.T) {
	var right engine.Middlebox
	b, out := OpenBox(Box(right, func(engine.Port, []byte) []byte { return []byte("x") }))
	if b != right || string(out(engine.LAN, nil)) != "x" {
		t.Errorf("box %v", b)
	}
	if _, out := OpenBox(right); out != nil {
		t.Error("a right box changes frames")
	}
}
