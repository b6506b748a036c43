package fasr

import "math/bits"

// maxCompression is the largest value of ten bits: "a 10-bit compression-cnt in the SR state, which can record up to 1k
// consecutive OoO packets" (FaSR III-D).
const maxCompression = 1<<compressionBits - 1

// bitmap records which packets after a missing packet have arrived. Position 0 is the packet right after the missing
// one. The first compression positions have all arrived and take no bits; the others are bits in a singly linked list
// of blocks:
//
//	 missing   compression      head block          tail block
//	+-------+---------------+- - -+----------+----------+- - - -+
//	|   0   | 1 1 1 ... 1 1 | gone| bits     | bits     | unused|
//	+-------+---------------+- - -+----------+----------+- - - -+
//	                              ^ first               ^ end
//
// "OoO packets only access the linked list's end, whereas retransmitted packets access the bitmap from the head" (FaSR
// III-D). So there are two operations, to add at the tail and to take off at the head, and neither searches.
type bitmap struct {
	on          bool   // positions are recorded; false on the fast path
	compression int    // leading positions that have arrived and have no bits; 0 <= compression <= maxCompression
	head, tail  uint16 // first and last block of the list; meaningful while blocks > 0
	blocks      int    // blocks in the list
	first, end  int    // the recorded bits [first, end), counted from the start of the head block
}

// length returns the number of recorded positions.
func (b *bitmap) length() int { return b.compression + b.end - b.first }

// need returns the number of blocks to be allocated before n more bits can be added.
func (b *bitmap) need(p *pool, n int) int {
	return max(0, (b.end+n+p.perBlock-1)/p.perBlock-b.blocks)
}

// start turns recording on with run packets that arrived after the missing one, then gap missing packets and one that
// arrived. A run of a block or more becomes the compression-cnt, which is "the offset value before the sack-high
// update"; a shorter run is written as bits: "If the offset between RCV-NXT and sack-high is less than the size of one
// bitmap block when transitioning to the slow path, the compression-cnt is set to zero" (FaSR III-D). The part of a run
// beyond maxCompression is written as bits too, which the paper leaves open. start reports false, and changes nothing,
// if the pool has too few blocks.
func (b *bitmap) start(p *pool, run, gap int) bool {
	compression := 0
	if run >= p.perBlock {
		compression = min(run, maxCompression)
	}
	*b = bitmap{compression: compression}
	if b.need(p, run-compression+gap+1) > p.blockMap.left() {
		p.exhausted++
		*b = bitmap{}
		return false
	}
	b.on = true
	b.append(p, run-compression, true)
	return b.add(p, gap, 1)
}

// add records gap missing packets and then run that arrived. It reports false, and changes nothing, when the pool has
// too few blocks.
func (b *bitmap) add(p *pool, gap, run int) bool {
	if b.need(p, gap+run) > p.blockMap.left() {
		p.exhausted++
		return false
	}
	b.append(p, gap, false)
	b.append(p, run, true)
	return true
}

// append adds n equal bits at the tail; the caller has checked that the pool has enough blocks. No bits are written for
// missing packets, because a fresh block is all zero.
func (b *bitmap) append(p *pool, n int, arrived bool) {
	for n > 0 {
		at := b.end % p.perBlock
		if b.end == b.blocks*p.perBlock {
			b.grow(p)
			at = 0
		}
		k := min(n, p.perBlock-at)
		if arrived {
			p.blocks[b.tail].arrived |= (1<<k - 1) << at
		}
		b.end += k
		n -= k
	}
}

// grow takes a block from the pool and links it after the tail.
func (b *bitmap) grow(p *pool) {
	i, _ := p.blockMap.take()
	p.blocks[i] = block{}
	if b.blocks == 0 {
		b.head = uint16(i)
	} else {
		p.blocks[b.tail].next = uint16(i)
	}
	b.tail = uint16(i)
	b.blocks++
}

// skip removes n positions, or all if there are fewer, from the head, and returns how many of them had not arrived.
// "When a retransmitted packet is received, the bitmap block is released from the head of the linked list" (FaSR
// III-C2): as soon as its last bit is removed.
func (b *bitmap) skip(p *pool, n int) (missing int) {
	k := min(n, b.compression)
	b.compression -= k
	for n -= k; n > 0 && b.first < b.end; n-- {
		if p.blocks[b.head].arrived>>b.first&1 == 0 {
			missing++
		}
		b.step(p)
	}
	return missing
}

// run removes from the head all positions up to and including the first missing packet, which RCV-NXT moves to. It
// returns the number of positions before that packet, all of which have arrived.
func (b *bitmap) run(p *pool) (arrived int) {
	arrived, b.compression = b.compression, 0
	for b.first < b.end {
		hit := p.blocks[b.head].arrived>>b.first&1 != 0
		b.step(p)
		if !hit {
			break
		}
		arrived++
	}
	return arrived
}

// step removes one bit from the head, and frees the head block after its last bit. The tail block is freed with its
// last recorded bit, so that an empty bitmap holds no block.
func (b *bitmap) step(p *pool) {
	b.first++
	if b.first == p.perBlock || b.first == b.end {
		old := b.head
		b.head = p.blocks[old].next
		p.blockMap.give(int(old))
		b.blocks--
		b.end -= b.first
		b.first = 0
	}
}

// cursor searches a bitmap for timeouts. It only moves towards the tail, so that any number of searches enter a block
// once. It is valid until the bitmap changes.
type cursor struct {
	list  *bitmap
	pool  *pool
	block uint16 // block that the searches have reached; meaningful while the bitmap has blocks
	start int    // position of its first bit; negative if positions of that block have been removed
}

// cursor returns a cursor before the first position.
func (b *bitmap) cursor(p *pool) cursor {
	return cursor{list: b, pool: p, block: b.head, start: b.compression - b.first}
}

// seek moves to the block of position i, which has a bit. i is not before the cursor's block.
func (c *cursor) seek(i int) {
	for ; i >= c.start+c.pool.perBlock; c.start += c.pool.perBlock {
		c.block = c.pool.blocks[c.block].next
		c.pool.steps++
	}
}

// at reports whether position i arrived. i is not less than in an earlier call.
func (c *cursor) at(i int) bool {
	if i < c.list.compression {
		return true
	}
	c.seek(i)
	return c.pool.blocks[c.block].arrived>>(i-c.start)&1 != 0
}

// next returns the first position from i on that has arrived, or that has not; the length if there is none. i is not
// less than the last result.
func (c *cursor) next(i int, arrived bool) int {
	if i < c.list.compression {
		if arrived {
			return i
		}
		i = c.list.compression
	}
	for length := c.list.length(); i < length; i = c.start + c.pool.perBlock {
		c.seek(i)
		word := c.pool.blocks[c.block].arrived
		if !arrived {
			word = ^word
		}
		if i += bits.TrailingZeros64(word >> (i - c.start)); i < c.start+c.pool.perBlock {
			return min(i, length)
		}
	}
	return c.list.length()
}

// release frees every block and turns recording off.
func (b *bitmap) release(p *pool) {
	for ; b.blocks > 0; b.blocks-- {
		old := b.head
		b.head = p.blocks[old].next
		p.blockMap.give(int(old))
	}
	*b = bitmap{}
}
