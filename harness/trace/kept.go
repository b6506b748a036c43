package trace

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

// Kept is a copy of a record in reused memory: Clone without garbage, for a sink that holds records back. The zero Kept
// is empty. It must not be copied while it holds a record with a Change.
type Kept struct {
	Rec Record // the copy; its bytes and its change belong to the Kept

	contents *contents // nil until a record has bytes or a change; stays with the Kept
}

// contents holds the bytes and the change of a record, which few records of a large run have.
type contents struct {
	change  Change
	raw     [2][]byte // bytes of the record and of its change
	payload [2][]byte // payloads that are not part of raw
}

// Empty drops the record and keeps its memory for the next one.
func (k *Kept) Empty() { k.Rec = Record{} }

// own returns the contents, and makes them if there are none.
func (k *Kept) own() *contents {
	if k.contents == nil {
		k.contents = &contents{}
	}
	return k.contents
}

// Keep copies r. Most records of a large run have no bytes to copy.
func (k *Kept) Keep(r *Record) {
	k.Rec = *r
	if r.Raw != nil || r.Packet.Payload != nil {
		k.Rec.Raw, k.Rec.Packet.Payload = k.hold(0, r.Raw, &r.Packet)
	}
	if r.Changed != nil {
		k.KeepChange(r.Changed)
	}
}

// KeepChange copies the form in which the packet was received.
func (k *Kept) KeepChange(from *Change) {
	c := &k.own().change
	*c = *from
	c.Raw, c.Packet.Payload = k.hold(1, c.Raw, &c.Packet)
	k.Rec.Changed = c
}

// hold copies a frame and its payload into buffers i, keeping nil as nil. A payload that lies in the frame, as a
// decoder leaves it, is not copied twice.
func (k *Kept) hold(i int, raw []byte, p *roce.Packet) (rawCopy, payload []byte) {
	c := k.own()
	if raw != nil {
		c.raw[i] = append(c.raw[i][:0], raw...)
		rawCopy = c.raw[i]
	}
	if p.Payload == nil {
		return rawCopy, nil
	}
	n := len(p.Payload)
	// Where the payload of a frame without Ethernet padding begins; the same address proves it.
	if off := len(raw) - icrcLen - int(p.Pad) - n; n > 0 && off >= 0 && &raw[off] == &p.Payload[0] {
		return rawCopy, rawCopy[off : off+n]
	}
	c.payload[i] = append(c.payload[i][:0], p.Payload...)
	return rawCopy, c.payload[i]
}

// icrcLen is the length of the invariant CRC at the end of a packet.
const icrcLen = 4
