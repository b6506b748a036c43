// Package memory is the memory of a simulated host: registered regions with bounds, rights and remote keys, and the
// concrete engine.Memory of every bench whose endpoints are this project's own engines.
//
// Regions are in one flat 64-bit address space and never overlap, so an address alone identifies a byte; a remote key
// gives the right to access a region from the wire (IBTA 10.6). A region without bytes is virtual: it has bounds and
// rights and discards stored data, so that a run of terabytes needs no memory.
//
// It does not do memory windows, page tables or local keys: local access is checked for bounds alone.
package memory

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Region is one registered memory region.
type Region struct {
	RKey   uint32 // the remote key, unique in its Host
	PD     uint32 // the protection domain that may use the key
	Base   uint64 // address of the first byte
	Len    uint64 // bytes; [Base, Base+Len) must not wrap
	Access engine.Access
	Bytes  []byte // the bytes, Len of them; nil makes the region virtual
	Shared bool   // Bytes belong to other regions too; the first write copies them and clears Shared
}

// region is a Region with the state of its key.
type region struct {
	Region
	dead bool // the key was invalidated
}

// holds reports whether [va, va+n) lies in the region. Comparing distances instead of ends keeps a range that wraps
// around 2^64 outside.
func (r *region) holds(va, n uint64) bool {
	off := va - r.Base
	return va >= r.Base && off <= r.Len && n <= r.Len-off
}

// Host is the memory of one host. The zero Host has no region and is ready to use. It is not safe for concurrent use.
type Host struct {
	// Watch, when set, sees every Store that lands, before the bytes change: data is nil when the payload or the region
	// is virtual.
	Watch func(va uint64, data []byte, n int)

	regions []*region          // sorted by Base; disjoint
	bases   []uint64           // Base of each region; contiguous, so that a search among thousands stays in the cache
	keys    map[uint32]*region // regions by RKey
	last    *region            // region of the last access, which is likely that of the next; nil before the first
	bytes   bool               // at least one region is not virtual
}

// Register adds a region. It rejects a key that is in use, a range that is empty, wraps or overlaps another region, and
// Bytes whose length differs from Len.
func (h *Host) Register(r Region) error {
	switch {
	case h.keys[r.RKey] != nil:
		return fmt.Errorf("memory: register rkey %#x: the key is taken, choose another", r.RKey)
	case r.Len == 0 || r.Base+r.Len-1 < r.Base:
		return fmt.Errorf("memory: register rkey %#x: [%#x, +%d) is empty or wraps", r.RKey, r.Base, r.Len)
	case r.Bytes != nil && uint64(len(r.Bytes)) != r.Len:
		return fmt.Errorf("memory: register rkey %#x: %d bytes given for a length of %d", r.RKey, len(r.Bytes), r.Len)
	}
	at, _ := slices.BinarySearch(h.bases, r.Base)
	if at > 0 && r.Base-h.regions[at-1].Base < h.regions[at-1].Len ||
		at < len(h.regions) && h.regions[at].Base-r.Base < r.Len {
		return fmt.Errorf("memory: register rkey %#x: [%#x, +%d) overlaps another region", r.RKey, r.Base, r.Len)
	}
	reg := &region{Region: r}
	h.regions, h.bases = slices.Insert(h.regions, at, reg), slices.Insert(h.bases, at, r.Base)
	h.bytes = h.bytes || r.Bytes != nil
	if h.keys == nil {
		h.keys = make(map[uint32]*region)
	}
	h.keys[r.RKey] = reg
	return nil
}

// Permit implements engine.Memory: the key must be live, of the protection domain pd, allow all of want, and its region
// must hold the range. A zero n is permitted with any key (IBTA 10.6.3.1).
func (h *Host) Permit(pd, rkey uint32, va uint64, n uint32, want engine.Access) bool {
	if n == 0 {
		return true
	}
	r := h.find(va, int(n)) // the only region that can hold the range, for any key
	return r != nil && r.RKey == rkey && !r.dead && r.PD == pd && r.Access&want == want
}

// Load implements engine.Memory.
func (h *Host) Load(va uint64, n int) []byte {
	if !h.bytes {
		return nil
	}
	r := h.find(va, n)
	if r == nil || r.Bytes == nil {
		return nil
	}
	off := va - r.Base
	return r.Bytes[off : off+uint64(n) : off+uint64(n)]
}

// Store implements engine.Memory. A nil data changes no bytes of the region: the packet carried only a length, so the
// content is unknown.
func (h *Host) Store(va uint64, data []byte, n int) bool {
	r := h.find(va, n)
	if r == nil || data != nil && len(data) != n {
		return false
	}
	if h.Watch != nil {
		h.Watch(va, data, n)
	}
	if r.Bytes != nil && data != nil {
		r.own()
		copy(r.Bytes[va-r.Base:], data)
	}
	return true
}

// own replaces shared bytes of the region by a private copy. Slices that Load returned before keep their content.
func (r *region) own() {
	if r.Shared {
		r.Bytes, r.Shared = slices.Clone(r.Bytes), false
	}
}

// Edit returns the bytes of [va, va+n) for writing by the owner of the memory; nil in the same cases as Load.
func (h *Host) Edit(va uint64, n int) []byte {
	if r := h.find(va, n); r != nil {
		r.own()
	}
	return h.Load(va, n)
}

// Invalidate implements engine.Memory. It invalidates the key only; the owner can still read and write the region.
func (h *Host) Invalidate(rkey uint32) bool {
	r := h.keys[rkey]
	if r == nil || r.dead {
		return false
	}
	r.dead = true
	return true
}

// find returns the region that holds [va, va+n), or nil.
func (h *Host) find(va uint64, n int) *region {
	if n < 0 {
		return nil
	}
	if h.last != nil && h.last.holds(va, uint64(n)) {
		return h.last
	}
	// The last region that begins at or before va is the only candidate, because regions do not overlap.
	lo, hi := 0, len(h.bases)
	for lo < hi {
		if mid := (lo + hi) / 2; h.bases[mid] <= va {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || !h.regions[lo-1].holds(va, uint64(n)) {
		return nil
	}
	h.last = h.regions[lo-1]
	return h.last
}

var _ engine.Memory = (*Host)(nil)
