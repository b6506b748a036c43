package rule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// plan is what all half-conversations of which a trace shows the same have in common: which rules are judged in them,
// at which sights, and what was found. It is made for the first of them, so that a further one costs no more than what
// its checks remember.
type plan struct {
	shows   shown
	missing []Vantage        // by rule: what is not shown of what the rule needs
	judged  []*account       // of the rules that are judged, in their order
	frames  [points][]caller // the rules of frames that are called for a sight, by list
	sights  [points][]caller // the others
	menus   [points][]menu   // of these, those that mind a kind of sight
	wakes   Kind             // what wakes a check that sleeps or dozes
	awake   int              // checks that are made with a half
	asleep  int              // checks that are made when a sight wakes them
	quiet   bool             // no endpoint reports anything, so that checks may sleep
	doubted []bool           // by rule: it rests on what fails, and is not judged
	doubt   remark           // why
}

// caller is what it takes to call a rule for a sight.
type caller struct {
	slot    slot
	wakes   Kind // 0 of a check that neither sleeps nor dozes
	minds   Kind
	each    func(*Context, *Sight) // of such a rule
	account *account
}

// menu is the callers of a list that mind a kind of sight, of those that are awake once sights of some kinds have come.
type menu struct {
	kind, roused Kind
	callers      []caller
}

// menu returns the callers of a list for a kind of sight. Of the kinds that there could be, few ever come.
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

// slot is where a half has the check of a rule.
type slot struct {
	life life
	at   int32
}

// life is how long a check lives.
type life uint8

const (
	stateless life = iota // there is none: the rule judges each sight for itself
	awake                 // as long as its half
	asleep                // from the first sight on that wakes it
)

// shown is what a trace shows of a half-conversation.
type shown struct {
	path, hop Vantage // over the whole path; on its hop, where a box divides the path
	told      bool    // endpoints report something
	routed    bool    // it is the half whose checks may see both hops
	stray     bool    // it is what belongs to no connection
	device    bool    // it is what a device does

	fails validity.Property // what is wrong with the evidence
}

// account is what a rule has found in the half-conversations of a plan.
type account struct {
	rule  *Rule
	judge *Judge
	have  Vantage
	slot  slot
	wakes Kind    // the kinds of sight before which its check sleeps or dozes; 0 when it does neither
	each  Context // of a rule that judges each sight for itself

	met      int
	total    int
	said     int       // findings and doubts
	against  [2]int    // of total, by the side that is to blame
	findings []Finding // the first ones in time
	counts   []Count
	broken   remark // what a check panicked with
	doubt    remark // why the rule cannot pass
}

// remark is what was said of the first half-conversation, in the order of connections.
type remark struct {
	text string
	conn int
	rank int // of the half-conversation
}

// note takes a remark about c, in place of one about the same half-conversation or a later one.
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

// planOf returns the plan of a half-conversation.
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
	s := shown{fails: d.Fails, path: have, hop: onHop(have, j.header.On(h.conv.Index), &h.conv), told: j.tells(&h.conv),
		routed: j.routed(h), stray: h == j.stray, device: h.conv.ofDevice}
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

// doubt is what is wrong with the evidence on a half-conversation.
func (j *Judge) doubt(h *half) (d trace.Doubt) {
	switch c := &h.conv; {
	case h == j.stray:
	case c.ofDevice:
		d = anyDoubt(&j.header)
	case c.Decoders[0] != nil && !c.Known:
		d = trace.Doubt{Fails: validity.Capture, Why: "how the ends code their blocks is not known, so that nobody " +
			"can tell what a decoder gives them"}
	default:
		d = j.header.Conns[c.Index].Doubts[c.Req]
	}
	return d
}

// tells reports whether anything is told of a connection beside what its frames show.
func (j *Judge) tells(c *Conversation) bool {
	return j.header.Reports|told(&j.header, c.Index, trace.A)|told(&j.header, c.Index, trace.B) != 0
}

// enter enters a rule into a plan.
func (j *Judge) enter(p *plan, i int) {
	r, have := &j.rules[i], p.shows.path
	if r.Device != p.shows.device {
		return
	}
	if r.Sees&Route == 0 {
		have = p.shows.hop
	}
	p.missing[i] = lacks(&j.header, r, have)
	p.doubted[i] = p.shows.fails != 0 && p.missing[i] == 0 && r.RestsOn().Fails(p.shows.fails)
	if p.doubted[i] || !r.built() || p.missing[i] != 0 || inapplicable(r, j.opts.Features) != "" ||
		p.shows.stray && r.Sees&Foreign == 0 || r.Sees&Route != 0 && !p.shows.routed {
		return
	}
	a := &account{rule: r, judge: j, have: have}
	a.each.account = a
	switch {
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

// keeps reports whether a finding is one of the first.
func (a *account) keeps(f *Finding) bool {
	n := len(a.findings)
	return n < a.most() || f.earlier(&a.findings[n-1])
}

// keep takes a finding, in place of the latest when there are enough.
func (a *account) keep(f Finding) {
	at := len(a.findings)
	for at > 0 && f.earlier(&a.findings[at-1]) {
		at--
	}
	a.findings = slices.Insert(a.findings, at, f)
	a.findings = a.findings[:min(len(a.findings), a.most())]
}

// panicked notes what a check of the rule panicked with.
func (a *account) panicked(c *Conversation, p any) { a.broken.note(c, fmt.Sprint(p)) }

// built reports whether the rule can be judged at all.
func (r *Rule) built() bool { return (r.New != nil || r.Each != nil) && r.Unbuilt == "" }

// rankOf puts half-conversations in the order of connections, and what belongs to none behind them.
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
