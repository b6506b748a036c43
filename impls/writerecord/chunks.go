package writerecord

// chunk is a range of bytes of a message.
type chunk struct{ from, to uint32 }

// chunks is the ranges of a message that have arrived: sorted, disjoint, and not adjacent. It is the log that
// "Write-Record must" keep "at the target side what data has been written to memory and is valid" (IV-B3).
type chunks []chunk

// chunkLimit bounds the ranges of one message. Segments that arrive in order need one range for each loss between them.
const chunkLimit = 4096

// add adds [from, to) and returns its parts that were missing, none if all had arrived, in the memory of fresh. If the
// log would exceed chunkLimit, add changes nothing and returns false.
func (c *chunks) add(from, to uint32, fresh chunks) (chunks, bool) {
	list, fresh := *c, fresh[:0]
	i := 0
	for i < len(list) && list[i].to < from {
		i++
	}
	j, at := i, from
	for ; j < len(list) && list[j].from <= to; j++ {
		if at < list[j].from {
			fresh = append(fresh, chunk{at, list[j].from})
		}
		at = max(at, list[j].to)
	}
	if at < to {
		fresh = append(fresh, chunk{at, to})
	}
	if i == j {
		if len(list) == chunkLimit {
			return fresh[:0], false
		}
		list = append(list, chunk{})
		copy(list[i+1:], list[i:])
		list[i] = chunk{from, to}
	} else {
		list[i] = chunk{min(from, list[i].from), max(to, list[j-1].to)}
		list = append(list[:i+1], list[j:]...)
	}
	*c = list
	return fresh, true
}

// bytes returns the number of bytes in the ranges.
func (c chunks) bytes() (n uint32) {
	for _, x := range c {
		n += x.to - x.from
	}
	return n
}

// all reports whether the log is exactly [0, n).
func (c chunks) all(n uint32) bool { return len(c) == 1 && c[0] == chunk{0, n} }
