package drive

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// deadlines is a binary heap of one deadline per QP, indexed so that a QP's entry can be moved. An entry is never later
// than the QP's real deadline.
type deadlines struct {
	heap []int32 // QPs, earliest first
	of   []deadline
}

// deadline is the entry of one QP.
type deadline struct {
	at  vtime.Time // valid while the QP is in the heap
	pos int        // index in heap, -1 when the QP is not in it
}

func (d *deadlines) init(qps int) {
	d.heap = make([]int32, 0, qps)
	d.of = make([]deadline, qps)
	for i := range d.of {
		d.of[i].pos = -1
	}
}

// first returns the earliest deadline.
func (d *deadlines) first() vtime.Time {
	if len(d.heap) == 0 {
		return vtime.Never
	}
	return d.of[d.heap[0]].at
}

// atMost moves QP i's deadline to at, unless it is already earlier.
func (d *deadlines) atMost(i int, at vtime.Time) {
	e := &d.of[i]
	switch {
	case e.pos < 0:
		e.pos = len(d.heap)
		d.heap = append(d.heap, int32(i))
	case e.at <= at:
		return
	}
	e.at = at
	d.up(e.pos)
}

// pop removes and returns the QP with the earliest deadline; of equal deadlines, the lowest QP.
func (d *deadlines) pop() int {
	i := d.heap[0]
	last := len(d.heap) - 1
	d.swap(0, last)
	d.heap = d.heap[:last]
	d.of[i].pos = -1
	d.down(0)
	return int(i)
}

// less puts the lower QP first at equal times, so that a run does not depend on the order in which deadlines were set.
func (d *deadlines) less(a, b int) bool {
	i, j := d.heap[a], d.heap[b]
	if a, b := d.of[i].at, d.of[j].at; a != b {
		return a < b
	}
	return i < j
}

func (d *deadlines) swap(a, b int) {
	d.heap[a], d.heap[b] = d.heap[b], d.heap[a]
	d.of[d.heap[a]].pos, d.of[d.heap[b]].pos = a, b
}

// up restores the heap order above index p after its deadline has become earlier.
func (d *deadlines) up(p int) {
	for p > 0 && d.less(p, (p-1)/2) {
		d.swap(p, (p-1)/2)
		p = (p - 1) / 2
	}
}

// down restores the heap order below index p after its deadline has become later.
func (d *deadlines) down(p int) {
	for {
		c := 2*p + 1
		if c >= len(d.heap) {
			return
		}
		if c+1 < len(d.heap) && d.less(c+1, c) {
			c++
		}
		if !d.less(c, p) {
			return
		}
		d.swap(p, c)
		p = c
	}
}
