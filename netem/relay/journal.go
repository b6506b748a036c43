package relay

import (
	"io"
	"sync"
)

// pageSize is the size of a page of the journal in bytes, and pages the maximum number of pages. Together they hold the
// records of a few hundred thousand packets, for the duration of a stall of the disk.
const (
	pageSize = 64 << 10
	pages    = 256
)

// journal writes the fate log without blocking the thread that forwards frames: a goroutine writes full pages, and a
// record that finds no free page is dropped and counted.
type journal struct {
	page    []byte         // page being filled; nil if there is none
	full    chan []byte    // pages to be written
	empty   chan []byte    // pages free for records; nil elements are pages not allocated yet
	done    sync.WaitGroup // the writing goroutine
	err     error          // first error of the writer; read after done
	Dropped uint64         // records dropped for lack of a page
}

// newJournal returns a journal that writes to w. For a nil w it returns a nil journal, which discards all records.
func newJournal(w io.Writer) *journal {
	if w == nil {
		return nil
	}
	j := &journal{full: make(chan []byte, pages), empty: make(chan []byte, pages)}
	for range pages {
		j.empty <- nil // add allocates a page at its first use
	}
	j.done.Go(func() { j.drain(w) })
	return j
}

// drain writes full pages until the channel is closed. After an error it discards them, so that add and flush do not
// block; close returns the error.
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

// flush passes the page to the writer. It does not block, because the channel has room for all pages.
func (j *journal) flush() {
	if j != nil && len(j.page) > 0 {
		j.full <- j.page
		j.page = nil
	}
}

// close writes the remaining records and returns the first error of the writer.
func (j *journal) close() error {
	if j == nil {
		return nil
	}
	j.flush()
	close(j.full)
	j.done.Wait()
	return j.err
}
