package rule

// bound is what the sights of one kind call in one half-conversation, found once: most packets of a flow are of the
// kind of the one before, and call a few dozen checks.
type bound struct {
	half   *half // nil of one that is not used
	list   int
	kind   Kind
	roused Kind
	made   bool // calls are found: the kind came twice
	calls  []call
}

// call is a check, or a rule that judges each sight for itself.
type call struct {
	sight   func(*Sight)           // of a check; nil of such a rule
	each    func(*Context, *Sight) // of such a rule
	account *account
}

// bounds are those of the kinds that came last, by a hash of half-conversation, list and kind.
type bounds [64]bound

// bound returns what a sight calls; ok is false for one of a kind that has not come twice.
func (p *plan) bound(h *half, list int, kind Kind) (calls []call, ok bool) {
	if p.bounds == nil {
		p.bounds = new(bounds)
	}
	b := &p.bounds[(uint(h.conv.Index)*31+uint(list)*11+uint(kind))%uint(len(p.bounds))]
	if b.half != h || b.list != list || b.kind != kind || b.roused != h.roused {
		*b = bound{half: h, list: list, kind: kind, roused: h.roused, calls: b.calls[:0]}
		return nil, false
	}
	if !b.made {
		b.make()
	}
	return b.calls, true
}

// make finds the calls.
func (b *bound) make() {
	for _, c := range b.half.plan.menu(b.list, b.kind, b.roused) {
		if c.slot.life == stateless {
			b.calls = append(b.calls, call{each: c.each, account: c.account})
		} else if made := b.half.at(c.slot); made.Sight != nil {
			b.calls = append(b.calls, call{sight: made.Sight, account: c.account})
		}
	}
	b.made = true
}

// callAll shows a sight; a check that panics is silenced and the others go on.
func (h *half) callAll(calls []call, s *Sight) {
	for next := 0; next < len(calls); {
		next = h.callFrom(calls, next, s)
	}
}

func (h *half) callFrom(calls []call, from int, s *Sight) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(calls[next].account, p)
			next++
		}
	}()
	for ; next < len(calls); next++ {
		c := &calls[next]
		if c.sight != nil {
			c.sight(s)
			continue
		}
		c.account.each.Conversation = &h.conv
		c.each(&c.account.each, s)
	}
	return next
}
