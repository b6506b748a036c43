package lowar

// bitmap marks positions of a block: "a per-connection bitmap …, since it only maps packets within a coding block,
// rather than the entire BDP" (IV-B2).
type bitmap [maxR / 64]uint64

func (b *bitmap) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b *bitmap) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b *bitmap) clear()         { clear(b[:]) }
