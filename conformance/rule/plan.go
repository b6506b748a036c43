package rule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// plan is shared by all half-conversations with the same vantage points: the rules that are judged in them, the sights
// at which each rule is called, and the findings. It is made for the first such half-conversation, so that each further
// one costs only the state of its checks.
type plan struct {
	shows   shown
	missing []Vantage        // by rule: vantage points that the rule needs and the trace does not give
	judged  []*account       // one per rule that is judged, in the order of the rules
	frames  [points][]caller // the rules of frames (see ofFrames), by list
	sights  [points][]caller // the other rules, by list
	menus   [points][]menu   // subsets of sights by kind, by list
	wakes   Kind             // kinds of sight that wake a check that sleeps or dozes
	awake   int              // number of checks that are constructed with a half
	asleep  int              // number of checks that are constructed when a sight wakes them
	keeping int              // number of rules that keep a State
	told    []*account       // of the rules with Told

	inattention attention // of the halves that saw neither events nor more than ordinary packets
	quiet       bool      // no endpoint reports events, so that checks may sleep
	doubted     []bool    // by rule: it rests on a property that fails, and is not judged
	doubt       remark    // why doubted rules are not judged
}

// caller holds the fields of a rule and its account that are needed to call it for a sight.
type caller struct {
	slot    slot
	wakes   Kind // account.wakes
	minds   Kind
	each    func(*Context, *Sight) // Rule.Each; nil for a rule with checks
	account *account
}

// menu holds the callers of a list that mind sights of kind and are awake after sights of the kinds in roused.
type menu struct {
	kind, roused Kind
	callers      []caller
}

// menu returns the callers of a list for a sight of kind. It caches them, since few sets of kinds occur in a trace.
func (p *plan) menu(list int, kind, roused Kind) []caller {
	for i := range p.menus[list] {
		if m := &p.menus[list][i]; m.kind == kind && m.roused == roused {
			return m.callers
		}
	}
	m := menu{kind: kind, roused: roused}
	for _, c := range p.sights[list] {
		if (c.minds == AnyKind || c.minds&kind != 0) && (c.wakes == 0 || c.wakes&roused != 0) {
			m.callers = append(m.callers, c)
		}
	}
	p.menus[list] = append(p.menus[list], m)
	return m.callers
}

// slot is the place of a rule's check or state in a half: an index in checks, woken or states, by life.
type slot struct {
	life life
	at   int32
}

// life is when the check of a rule is constructed.
type life uint8

const (
	stateless life = iota // never: the rule has an Each instead
	keeping               // never: it has an Each, and a State
	awake                 // with its half
	asleep                // at the first sight that wakes it
)

// shown is the evidence that a trace gives on a half-conversation. Half-conversations with equal values share a plan.
type shown struct {
	path, hop Vantage // vantage points on the whole path, and those of the hop where a box divides the path
	told      bool    // endpoints report events
	routed    bool    // the checks of the half may see both hops
	stray     bool    // the half is for packets of no connection
	device    bool    // the half is for a device

	fails validity.Property // properties that the evidence lacks
	at    Vantage           // the taps whose evidence lacks them
}

// account holds the results of a rule over the half-conversations of a plan.
type account struct {
	rule  *Rule
	judge *Judge
	have  Vantage
	slot  slot
	wakes Kind    // kinds of sight that wake its check; 0 for a check that neither sleeps nor dozes
	each  Context // the Context of a rule with an Each
	state *any    // the State in the half of each, of a rule that Keeps

	met      int
	total    int
	said     int       // findings and doubts
	against  [2]int    // violations of total, by the side to blame
	findings []Finding // the earliest ones, in time order
	counts   []Count
	broken   remark // the value of a panic in a check
	doubt    remark // why the verdict cannot be PASS
}

// remark is a text about one half-conversation: the first one, in the order of connections, that has such a text.
type remark struct {
	text string
	conn int
	rank int // rank of the half-conversation, see rankOf
}

// note sets the remark to a text about c, unless it is about an earlier half-conversation.
func (r *remark) note(c *Conversation, text string) {
	if rank := rankOf(c); r.text == "" || rank <= r.rank {
		*r = remark{text, c.Index, rank}
	}
}

// first returns the remark about the earlier half-conversation.
func (r remark) first(o remark) remark {
	if r.text == "" || o.text != "" && o.rank < r.rank {
		return o
	}
	return r
}

// planOf returns the plan of a half-conversation, and makes it when no equal one exists.
func (j *Judge) planOf(h *half) *plan {
	have := offered(&j.header, &h.conv)
	if h.conv.ofDevice {
		have = atDevice(&j.header, h.conv.Req)
	}
	if j.opts.Orders != nil && h.conv.Index >= 0 {
		have |= Assigned
	}
	if h == j.stray && !j.header.Between {
		have |= Both
	}
	d := j.doubt(h)
	s := shown{fails: d.Fails, at: doubtedTaps(&d, h.conv.Req), path: have,
		hop: onHop(have, j.header.On(h.conv.Index), &h.conv), told: j.tells(&h.conv), routed: j.routed(h),
		stray: h == j.stray, device: h.conv.ofDevice}
	for _, p := range j.plans {
		if p.shows == s {
			p.doubt.note(&h.conv, d.Why)
			return p
		}
	}
	p := &plan{shows: s, missing: make([]Vantage, len(j.rules)), doubted: make([]bool, len(j.rules)), quiet: !s.told}
	p.doubt.note(&h.conv, d.Why)
	for i := range j.rules {
		j.enter(p, i)
	}
	j.plans = append(j.plans, p)
	return p
}

// doubt returns the doubt about the evidence on a half-conversation, unless it ends.
func (j *Judge) doubt(h *half) (d trace.Doubt) {
	switch c := &h.conv; {
	case h == j.stray:
	case c.ofDevice:
		d = anyDoubt(&j.header)
	case c.Decoders[0] != nil && !c.Known:
		d = trace.Doubt{Fails: validity.Capture, Why: "the coding parameters of the ends are not known, so that the " +
			"packets that a decoder recovers are not known"}
	default:
		if d = j.header.Conns[c.Index].Doubtful(c.Req); d.Until != 0 {
			d = trace.Doubt{} // see preceded
		}
	}
	return d
}

// tells reports whether an endpoint reports anything about a connection.
func (j *Judge) tells(c *Conversation) bool {
	return j.header.Reports|told(&j.header, c.Index, trace.A)|told(&j.header, c.Index, trace.B) != 0
}

// enter adds rule i to a plan, if it can be judged there.
func (j *Judge) enter(p *plan, i int) {
	r, have := &j.rules[i], p.shows.path
	if r.Device != p.shows.device {
		return
	}
	if r.Sees&Route == 0 {
		have = p.shows.hop
	}
	p.missing[i] = lacks(&j.header, r, have)
	doubted := p.missing[i] == 0 && p.shows.at&r.taps() != 0 && r.RestsOn().Fails(p.shows.fails)
	single := r.Needs&Frames != 0 && p.shows.at != Both
	p.doubted[i] = doubted && !single
	if p.doubted[i] || !r.built() || p.missing[i] != 0 || inapplicable(r, j.opts.Features) != "" ||
		p.shows.stray && r.Sees&Foreign == 0 || r.Sees&Route != 0 && !p.shows.routed {
		return
	}
	if doubted {
		have &^= p.shows.at // as if the other tap were the only one
	}
	a := &account{rule: r, judge: j, have: have}
	a.each.account = a
	switch {
	case r.Keeps:
		a.slot = slot{keeping, int32(p.keeping)}
		p.keeping++
	case r.Each != nil:
	case p.quiet && r.Wakes != 0:
		a.slot = slot{asleep, int32(p.asleep)}
		p.asleep++
	default:
		a.slot = slot{awake, int32(p.awake)}
		p.awake++
	}
	if r.Each == nil && (p.quiet || r.Dozes) {
		a.wakes = r.Wakes
		p.wakes |= r.Wakes
	}
	p.judged = append(p.judged, a)
	if r.Told != nil {
		p.told = append(p.told, a)
	}
	sees := r.seen(&j.header, have)
	for list := range p.sights {
		calls := &p.sights[list]
		if r.ofFrames() && len(p.frames[list]) < mostAlike {
			calls = &p.frames[list]
		}
		if sees&(1<<list) != 0 {
			*calls = append(*calls, caller{a.slot, a.wakes, cmp.Or(r.Minds, AnyKind), r.Each, a})
		}
	}
}

// of returns the account of a rule; nil when it is not judged.
func (p *plan) of(r *Rule) *account {
	for _, a := range p.judged {
		if a.rule == r {
			return a
		}
	}
	return nil
}

// most bounds the findings of a rule.
func (a *account) most() int { return a.judge.most() }

// keeps reports whether a finding is among the earliest, which are kept.
func (a *account) keeps(f *Finding) bool {
	n := len(a.findings)
	return n < a.most() || f.earlier(&a.findings[n-1])
}

// keep inserts a finding in time order, and drops the latest one when there are too many.
func (a *account) keep(f Finding) {
	at := len(a.findings)
	for at > 0 && f.earlier(&a.findings[at-1]) {
		at--
	}
	a.findings = slices.Insert(a.findings, at, f)
	a.findings = a.findings[:min(len(a.findings), a.most())]
}

// panicked records the value of a panic in a check of the rule.
func (a *account) panicked(c *Conversation, p any) { a.broken.note(c, fmt.Sprint(p)) }

// built reports whether the rule can be judged at all.
func (r *Rule) built() bool { return (r.New != nil || r.Each != nil) && r.Unbuilt == "" }

// rankOf orders half-conversations by connection; the one with Index -1 is last.
func rankOf(c *Conversation) int {
	if c.Index < 0 {
		return int(^uint(0) >> 1)
	}
	return 2*c.Index + int(c.Req&1)
}

// earlier orders findings: by time, then by connection.
func (f *Finding) earlier(g *Finding) bool {
	if f.At != g.At {
		return f.At < g.At
	}
	return f.Conn < g.Conn
}

// The classes of sights at one tap only.
const (
	seenAtRequester = RequestOut | ResponseIn | ReadAckOut
	seenAtResponder = RequestIn | ResponseOut | ReadAckIn | ReleaseIn
)

// taps returns the taps whose evidence a rule uses: those that it needs and those of the sights that it sees. What the
// other tap lacks takes nothing from the proof that these give alone. A rule that sees packets of no connection, those
// of a coding scheme, whole paths, or no packets at all, uses both.
func (r *Rule) taps() (used Vantage) {
	used = r.Needs & Both
	switch {
	case r.Device, r.Needs&Fates != 0, r.Sees == 0, r.Sees&^(seenAtRequester|seenAtResponder) != 0:
		return Both
	}
	if r.Sees&seenAtRequester != 0 {
		used |= TapRequester
	}
	if r.Sees&seenAtResponder != 0 {
		used |= TapResponder
	}
	return used
}

// doubtedTaps returns the taps that a doubt is about, in the half-conversation of a requester.
func doubtedTaps(d *trace.Doubt, req trace.Side) (at Vantage) {
	if d.At[req&1] {
		at |= TapRequester
	}
	if d.At[req.Other()&1] {
		at |= TapResponder
	}
	if at == 0 && d.Fails != 0 {
		at = Both
	}
	return at
}
