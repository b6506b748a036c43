package wrk

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// book is the orders of one requester, and their progress.
type book struct {
	list []rule.Series
	next []int // by series: index of the first request that was not posted
	some bool  // a request has been posted
}

// seriesKey identifies the orders that the books of a half-conversation share.
type seriesKey struct{}

func newBook(c *rule.Context) *book {
	list := c.Shared(seriesKey{}, func() any { list, _ := c.Ordered(); return list }).([]rule.Series)
	return &book{list: list, next: make([]int, len(list))}
}

// idsPerSeries is the number of request IDs that a series may have.
const idsPerSeries = 1e9

// series returns the index of the series of a request; -1 when it belongs to none.
func (b *book) series(id uint64) int {
	scripted := -1
	for i := range b.list {
		switch s := &b.list[i]; {
		case s.Scripted:
			scripted = i
		case id >= s.First && id-s.First < idsPerSeries:
			return i
		}
	}
	return scripted
}

// post records a posted request and returns the request ordered in its place; wrong tells how they differ.
func (b *book) post(e *trace.Event) (want engine.WorkRequest, wrong string) {
	b.some = true
	i := b.series(e.Body.ID)
	if i < 0 {
		return want, "was not ordered"
	}
	if b.list[i].Scripted {
		return b.scripted(i, e)
	}
	s, k := &b.list[i], b.next[i]
	b.next[i] = int(e.Body.ID-s.First) + 1
	if s.Count > 0 && b.next[i] > s.Count {
		b.next[i] = s.Count
		return want, fmt.Sprintf("was not ordered: the last is wr=%d", s.First+uint64(s.Count)-1)
	}
	if id := s.First + uint64(k); id != e.Body.ID {
		return s.Request(b.next[i] - 1), fmt.Sprintf("is posted where wr=%d was ordered", id)
	}
	want = s.Request(k)
	return want, differs(e, &want, s.Abroad)
}

// scripted is post for a script: requests with IDs of their own, of which some may be left out.
func (b *book) scripted(i int, e *trace.Event) (want engine.WorkRequest, wrong string) {
	wrong = "was not ordered"
	s := &b.list[i]
	for k := b.next[i]; k < s.Count; k++ {
		wr := s.Request(k)
		if wr.ID != e.Body.ID {
			continue
		}
		how := differs(e, &wr, s.Abroad)
		if how == "" {
			b.next[i] = k + 1
			return wr, ""
		}
		if wrong == "was not ordered" {
			want, wrong = wr, how
		}
	}
	return want, wrong
}

// differs tells how a posted request differs from the ordered one; "" when it does not. Fields that the endpoint did
// not report are not compared.
func differs(e *trace.Event, want *engine.WorkRequest, abroad bool) string {
	remote := want.Op != engine.OpSend && want.Op != engine.OpSendImm && want.Op != engine.OpSendInv && !abroad &&
		(e.VA != 0 || e.RKey != 0)
	switch {
	case e.Body.Op != want.Op:
		return fmt.Sprintf("is a %v; a %v was ordered", e.Body.Op, want.Op)
	case e.Len != want.Len:
		return fmt.Sprintf("has %d bytes; %d were ordered", e.Len, want.Len)
	case remote && e.VA != want.RemoteVA:
		return fmt.Sprintf("acts on %#x; %#x was ordered", e.VA, want.RemoteVA)
	case remote && e.RKey != want.RKey:
		return fmt.Sprintf("has the key %#x; %#x was ordered", e.RKey, want.RKey)
	case hasImm(want.Op) && e.Body.Imm != 0 && e.Body.Imm != want.Imm:
		return fmt.Sprintf("has the immediate %#x; %#x was ordered", e.Body.Imm, want.Imm)
	}
	return ""
}

func hasImm(op engine.Op) bool { return op == engine.OpSendImm || op == engine.OpWriteImm }

// counted returns how many requests of the counted series were posted, and their total. It leaves out scripts, whose
// requests may be skipped, and endless series.
func (b *book) counted() (posted, total int) {
	for i := range b.list {
		if s := &b.list[i]; !s.Scripted && s.Count > 0 {
			posted, total = posted+b.next[i], total+s.Count
		}
	}
	return posted, total
}

// scripts returns how many requests of scripts follow the latest one posted.
func (b *book) scripts() (left int) {
	for i := range b.list {
		if s := &b.list[i]; s.Scripted {
			left += s.Count - b.next[i]
		}
	}
	return left
}

// open is the requests that have been posted and not completed, oldest first.
type open struct {
	list []request
	head int  // index of the oldest
	full bool // a request was not remembered
}

// request is a posted request.
type request struct {
	id       uint64
	unsignal bool // it completes without a report
}

func (o *open) post(id uint64, unsignal bool) {
	if o.head > 1024 && o.head > len(o.list)/2 {
		o.list = o.list[:copy(o.list, o.list[o.head:])]
		o.head = 0
	}
	if o.full = o.full || len(o.list) == queueLimit; !o.full {
		o.list = append(o.list, request{id, unsignal})
	}
}

// complete removes a request with the unsignalled ones before it, or with every one before it if all is set, and
// reports whether it was found.
func (o *open) complete(id uint64, all bool) bool {
	for i := o.head; i < len(o.list); i++ {
		if o.list[i].id != id {
			continue
		}
		to := i + 1
		for k := i - 1; k >= o.head && !all; k-- {
			if !o.list[k].unsignal {
				to--
				o.list[to] = o.list[k]
			}
		}
		o.head = to
		return true
	}
	return false
}

// owed returns how many signalled requests have not completed, and the oldest.
func (o *open) owed() (n int, oldest uint64) {
	for i := len(o.list) - 1; i >= o.head; i-- {
		if !o.list[i].unsignal {
			n, oldest = n+1, o.list[i].id
		}
	}
	return n, oldest
}
