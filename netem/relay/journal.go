package relay

import (
	"io"
	"sync"
)

// The journal hands pages of this size to its writer, and holds so many of them at most. Together they bridge a stall
// of the disk of a few hundred thousand packets.
const (
	pageSize = 64 << 10
	pages    = 256
)

// journal writes the fate log without ever keeping the thread that forwards frames waiting: a goroutine writes full
// pages, and a record that finds no page is counted instead of written.
type journal struct {
	page    []byte
	full    chan []byte
	empty   chan []byte
	done    sync.WaitGroup
	err     error // of the first write; read after done
	Dropped uint64
}

// newJournal returns nil, which swallows everything, when there is nothing to write to.
func newJournal(w io.Writer) *journal {
	if w == nil {
		return nil
	}
	j := &journal{full: make(chan []byte, pages), empty: make(chan []byte, pages)}
	for range pages {
		j.empty <- nil // a page is made when it is first needed
	}
	j.done.Go(func() { j.drain(w) })
	return j
}

// drain writes pages until there are no more. After an error it goes on returning pages, so that nothing blocks; the
// error comes out of close.
func (j *journal) drain(w io.Writer) {
	for page := range j.full {
		if j.err == nil {
			_, j.err = w.Write(page)
		}
		j.empty <- page[:0]
	}
}

// add logs one record.
func (j *journal) add(r *Record) {
	if j == nil {
		return
	}
	if j.page == nil {
		select {
		case page := <-j.empty:
			if j.page = page; page == nil {
				j.page = make([]byte, 0, pageSize)
			}
		default:
			j.Dropped++
			return
		}
	}
	if j.page = r.append(j.page); len(j.page) > pageSize-512 {
		j.flush()
	}
}

// flush gives the page to the writer. There is room: no more pages exist than the channel holds.
func (j *journal) flush() {
	if j != nil && len(j.page) > 0 {
		j.full <- j.page
		j.page = nil
	}
}

// close writes what is left and returns the first error of the writer.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.flush()
	close(j.full)
	j.done.Wait()
	return j.err
}
