package selective

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// pageLen is the number of neighbours that a table keeps together: a power of two, so that no page spans PSN 0.
const pageLen = 64

// table holds a value for each PSN of a window, zero at first. A window moves on and has most of its values close
// together, so they are kept in pages; one without values takes no room, however large the window is.
type table[V any] struct {
	pages map[psn.PSN]*[pageLen]V // by their first PSN
	near  *[pageLen]V             // the page used last; nil when there is none
	first psn.PSN                 // first PSN of near
	floor psn.PSN                 // oldest PSN that may have a value
}

// reset empties the table, for a window that begins at p.
func (t *table[V]) reset(p psn.PSN) { *t = table[V]{pages: map[psn.PSN]*[pageLen]V{}, floor: p} }

// get returns the value of a PSN.
func (t *table[V]) get(p psn.PSN) (v V) {
	if at := p &^ (pageLen - 1); t.near == nil || at != t.first {
		page := t.pages[at]
		if page == nil {
			return v
		}
		t.near, t.first = page, at
	}
	return t.near[p%pageLen]
}

// at returns a pointer to the value of a PSN, for writing. A value written below the window is lost.
func (t *table[V]) at(p psn.PSN) *V {
	if p.Less(t.floor) {
		return new(V)
	}
	if at := p &^ (pageLen - 1); t.near == nil || at != t.first {
		page := t.pages[at]
		if page == nil {
			page = new([pageLen]V)
			t.pages[at] = page
		}
		t.near, t.first = page, at
	}
	return &t.near[p%pageLen]
}

// forget drops the values of the PSNs below to, with which the window begins from now on.
func (t *table[V]) forget(to psn.PSN) {
	var zero V
	for t.floor.Less(to) {
		at := t.floor &^ (pageLen - 1)
		end := psn.New(uint32(at) + pageLen)
		if end.LessEq(to) {
			delete(t.pages, at)
			t.near, t.floor = nil, end
			continue
		}
		for page := t.pages[at]; t.floor.Less(to); t.floor = t.floor.Next() {
			if page != nil {
				page[t.floor%pageLen] = zero
			}
		}
	}
}
