package engine

// Memory is the memory of the host that an engine may access: registered regions with bounds, rights and keys. It is an
// interface so that a test can observe every placement.
//
// Virtual memory has addresses but no bytes: Load returns nil, Store takes nil, and packets carry only the length of
// their payload.
type Memory interface {
	// Permit reports whether rkey names a live region of protection domain pd that allows want and holds
	// [va, va+n) without wrapping. A zero n is permitted with any key (IBTA 10.6.3.1, C9-88).
	Permit(pd, rkey uint32, va uint64, n uint32, want Access) bool

	// Load returns n bytes at va, referring to the region and not copied; nil when the memory is virtual or the range
	// is not registered.
	Load(va uint64, n int) []byte

	// Store puts data (n bytes; nil when virtual) at va and reports whether the range is registered.
	Store(va uint64, data []byte, n int) bool

	// Invalidate makes rkey unusable (SEND with invalidate) and reports whether it was live.
	Invalidate(rkey uint32) bool
}
