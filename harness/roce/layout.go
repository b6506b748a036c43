package roce

import "strconv"

// Layout is the set of headers of a packet. Its bits are in wire order: the headers that precede one have lower bits.
type Layout uint32

// The headers. An opcode has LayoutBTH or, for LoWAR alone, LayoutRepair and the headers of the packet's type (see
// Packet.Layout); UDP and TCP have LayoutIP.
const (
	// the part of a LoWAR repair header that all types have: DestQP, type, r and c
	LayoutRepair       Layout = 1 << iota
	LayoutBlock               // coding block, of a REPAIR or ANNOUNCE
	LayoutXOR                 // lengths, of a REPAIR
	LayoutReport              // counters, of a FEEDBACK
	LayoutBTH                 // base transport header
	LayoutDETH                // Q_Key and source QP
	LayoutFETH                // placement and selectivity of a FLUSH
	LayoutRETH                // address, R_Key and length
	LayoutVAETH               // address of this packet alone
	LayoutAtomicETH           // address, R_Key and operands
	LayoutAETH                // syndrome and MSN
	LayoutAtomicAckETH        // value before the atomic
	LayoutSACKETH             // selectively acknowledged PSN
	LayoutSOETH               // message number and offset
	LayoutImm                 // immediate data
	LayoutIETH                // R_Key to invalidate
	LayoutPayload             // bytes may follow the headers
	LayoutIP                  // not RoCEv2: fields of the IP header, and the rest as payload
)

// headers names every Layout bit and gives its size in bytes, in wire order; the payload has no fixed size.
var headers = [...]struct {
	name string
	size int
}{
	{"repair", repairLen}, {"block", 4}, {"xor", 8}, {"report", 12}, {"bth", bthLen}, {"deth", 8}, {"feth", 4},
	{"reth", 16}, {"vaeth", 8}, {"atomiceth", 28},
	{"aeth", 4}, {"atomicacketh", 8}, {"sacketh", 4}, {"soeth", 8}, {"immdt", 4}, {"ieth", 4},
	{"payload", 0}, {"ip", 0},
}

// Len returns the bytes that the headers of l take on the wire.
func (l Layout) Len() int {
	n := 0
	for i, h := range headers {
		if l>>i&1 != 0 {
			n += h.size
		}
	}
	return n
}

// trait is a set of properties of an opcode, apart from its layout.
type trait uint16

const (
	known trait = 1 << iota
	request
	response
	starts // first packet of a message
	middle
	ends // last packet of a message
	send
	write
	read
	atomic
	readResponse
	readAck

	only = starts | ends
)

// info is one row of the opcode table. The header length is derived, so that no row can contradict its layout.
type info struct {
	name   string
	layout Layout
	traits trait
	header uint8
}

// opcodes describes all opcodes. An absent row is an unknown opcode: a BTH and nothing after it.
//
// Sources: IBTA table 35 for RC, UC and UD; annex A17 for CNP; annex A19 for FLUSH and ATOMIC_WRITE; the classes 0xC0
// and 0xE0 are manufacturer specific, and hold the packets of IRN, FaSR and Go-Back-ONE.
var opcodes = complete([opcodeCount]info{
	SendFirst:    {name: "SEND_FIRST", layout: LayoutPayload, traits: request | send | starts},
	SendMiddle:   {name: "SEND_MIDDLE", layout: LayoutPayload, traits: request | send | middle},
	SendLast:     {name: "SEND_LAST", layout: LayoutPayload, traits: request | send | ends},
	SendLastImm:  {name: "SEND_LAST_IMM", layout: LayoutImm | LayoutPayload, traits: request | send | ends},
	SendOnly:     {name: "SEND_ONLY", layout: LayoutPayload, traits: request | send | only},
	SendOnlyImm:  {name: "SEND_ONLY_IMM", layout: LayoutImm | LayoutPayload, traits: request | send | only},
	WriteFirst:   {name: "WRITE_FIRST", layout: LayoutRETH | LayoutPayload, traits: request | write | starts},
	WriteMiddle:  {name: "WRITE_MIDDLE", layout: LayoutPayload, traits: request | write | middle},
	WriteLast:    {name: "WRITE_LAST", layout: LayoutPayload, traits: request | write | ends},
	WriteLastImm: {name: "WRITE_LAST_IMM", layout: LayoutImm | LayoutPayload, traits: request | write | ends},
	WriteOnly:    {name: "WRITE_ONLY", layout: LayoutRETH | LayoutPayload, traits: request | write | only},
	WriteOnlyImm: {name: "WRITE_ONLY_IMM", layout: LayoutRETH | LayoutImm | LayoutPayload,
		traits: request | write | only},
	ReadRequest: {name: "READ_REQUEST", layout: LayoutRETH, traits: request | read | only},
	ReadRespFirst: {name: "READ_RESP_FIRST", layout: LayoutAETH | LayoutPayload,
		traits: response | readResponse | starts},
	ReadRespMiddle: {name: "READ_RESP_MIDDLE", layout: LayoutPayload, traits: response | readResponse | middle},
	ReadRespLast: {name: "READ_RESP_LAST", layout: LayoutAETH | LayoutPayload,
		traits: response | readResponse | ends},
	ReadRespOnly: {name: "READ_RESP_ONLY", layout: LayoutAETH | LayoutPayload,
		traits: response | readResponse | only},
	Acknowledge: {name: "ACKNOWLEDGE", layout: LayoutAETH, traits: response | only},
	AtomicAck:   {name: "ATOMIC_ACK", layout: LayoutAETH | LayoutAtomicAckETH, traits: response | only},
	CompareSwap: {name: "CMP_SWAP", layout: LayoutAtomicETH, traits: request | atomic | only},
	FetchAdd:    {name: "FETCH_ADD", layout: LayoutAtomicETH, traits: request | atomic | only},
	SendLastInv: {name: "SEND_LAST_INV", layout: LayoutIETH | LayoutPayload, traits: request | send | ends},
	SendOnlyInv: {name: "SEND_ONLY_INV", layout: LayoutIETH | LayoutPayload, traits: request | send | only},
	Flush:       {name: "FLUSH", layout: LayoutFETH | LayoutRETH, traits: request | only},
	AtomicWrite: {name: "ATOMIC_WRITE", layout: LayoutRETH | LayoutPayload, traits: request | only},
	LoWAR:       {name: "LOWAR", layout: LayoutRepair | LayoutPayload},

	UCSendFirst + SendFirst:  {name: "UC_SEND_FIRST", layout: LayoutPayload, traits: request | send | starts},
	UCSendFirst + SendMiddle: {name: "UC_SEND_MIDDLE", layout: LayoutPayload, traits: request | send | middle},
	UCSendFirst + SendLast:   {name: "UC_SEND_LAST", layout: LayoutPayload, traits: request | send | ends},
	UCSendFirst + SendLastImm: {name: "UC_SEND_LAST_IMM", layout: LayoutImm | LayoutPayload,
		traits: request | send | ends},
	UCSendFirst + SendOnly: {name: "UC_SEND_ONLY", layout: LayoutPayload, traits: request | send | only},
	UCSendFirst + SendOnlyImm: {name: "UC_SEND_ONLY_IMM", layout: LayoutImm | LayoutPayload,
		traits: request | send | only},
	UCSendFirst + WriteFirst: {name: "UC_WRITE_FIRST", layout: LayoutRETH | LayoutPayload,
		traits: request | write | starts},
	UCSendFirst + WriteMiddle: {name: "UC_WRITE_MIDDLE", layout: LayoutPayload, traits: request | write | middle},
	UCSendFirst + WriteLast:   {name: "UC_WRITE_LAST", layout: LayoutPayload, traits: request | write | ends},
	UCSendFirst + WriteLastImm: {name: "UC_WRITE_LAST_IMM", layout: LayoutImm | LayoutPayload,
		traits: request | write | ends},
	UCSendFirst + WriteOnly: {name: "UC_WRITE_ONLY", layout: LayoutRETH | LayoutPayload,
		traits: request | write | only},
	UCWriteOnlyImm: {name: "UC_WRITE_ONLY_IMM", layout: LayoutRETH | LayoutImm | LayoutPayload,
		traits: request | write | only},

	UDSendOnly: {name: "UD_SEND_ONLY", layout: LayoutDETH | LayoutPayload, traits: request | send | only},
	UDSendOnlyImm: {name: "UD_SEND_ONLY_IMM", layout: LayoutDETH | LayoutImm | LayoutPayload,
		traits: request | send | only},
	CNP: {name: "CNP", layout: LayoutPayload},

	// IRN: every WRITE packet carries its address, and every packet that consumes a receive carries its number. The
	// answer to an atomic is numbered with READ responses, and its request with READ requests.
	XSendFirst + SendFirst: {name: "X_SEND_FIRST", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | starts},
	XSendFirst + SendMiddle: {name: "X_SEND_MIDDLE", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | middle},
	XSendFirst + SendLast: {name: "X_SEND_LAST", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | ends},
	XSendFirst + SendLastImm: {name: "X_SEND_LAST_IMM", layout: LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | send | ends},
	XSendFirst + SendOnly: {name: "X_SEND_ONLY", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | only},
	XSendFirst + SendOnlyImm: {name: "X_SEND_ONLY_IMM", layout: LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | send | only},
	XSendFirst + WriteFirst: {name: "X_WRITE_FIRST", layout: LayoutRETH | LayoutPayload,
		traits: request | write | starts},
	XSendFirst + WriteMiddle: {name: "X_WRITE_MIDDLE", layout: LayoutRETH | LayoutPayload,
		traits: request | write | middle},
	XSendFirst + WriteLast: {name: "X_WRITE_LAST", layout: LayoutRETH | LayoutPayload,
		traits: request | write | ends},
	XSendFirst + WriteLastImm: {name: "X_WRITE_LAST_IMM", layout: LayoutRETH | LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | write | ends},
	XSendFirst + WriteOnly: {name: "X_WRITE_ONLY", layout: LayoutRETH | LayoutPayload,
		traits: request | write | only},
	XSendFirst + WriteOnlyImm: {name: "X_WRITE_ONLY_IMM", layout: LayoutRETH | LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | write | only},
	XReadRequest: {name: "X_READ_REQUEST", layout: LayoutRETH | LayoutSOETH,
		traits: request | read | only},
	XReadRespFirst: {name: "X_READ_RESP_FIRST", layout: LayoutAETH | LayoutSOETH | LayoutPayload,
		traits: response | readResponse | starts},
	XReadRespFirst + 1: {name: "X_READ_RESP_MIDDLE", layout: LayoutAETH | LayoutSOETH | LayoutPayload,
		traits: response | readResponse | middle},
	XReadRespFirst + 2: {name: "X_READ_RESP_LAST", layout: LayoutAETH | LayoutSOETH | LayoutPayload,
		traits: response | readResponse | ends},
	XReadRespOnly: {name: "X_READ_RESP_ONLY", layout: LayoutAETH | LayoutSOETH | LayoutPayload,
		traits: response | readResponse | only},
	XAtomicAck: {name: "X_ATOMIC_ACK", layout: LayoutAETH | LayoutAtomicAckETH | LayoutSOETH,
		traits: response | readResponse | only},
	XCompareSwap: {name: "X_CMP_SWAP", layout: LayoutAtomicETH | LayoutSOETH,
		traits: request | atomic | only},
	XFetchAdd: {name: "X_FETCH_ADD", layout: LayoutAtomicETH | LayoutSOETH,
		traits: request | atomic | only},
	IRNNack:    {name: "IRN_NACK", layout: LayoutAETH | LayoutSACKETH, traits: response | only},
	IRNReadAck: {name: "IRN_READ_ACK", layout: LayoutAETH | LayoutSACKETH, traits: readAck | only},
	RACK:       {name: "RACK", layout: LayoutAETH | LayoutSACKETH, traits: response | only},

	// FaSR and SRNIC-like: as IRN, but a WRITE packet after the first carries its address alone.
	FSendFirst + SendFirst: {name: "F_SEND_FIRST", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | starts},
	FSendFirst + SendMiddle: {name: "F_SEND_MIDDLE", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | middle},
	FSendFirst + SendLast: {name: "F_SEND_LAST", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | ends},
	FSendFirst + SendLastImm: {name: "F_SEND_LAST_IMM", layout: LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | send | ends},
	FSendFirst + SendOnly: {name: "F_SEND_ONLY", layout: LayoutSOETH | LayoutPayload,
		traits: request | send | only},
	FSendFirst + SendOnlyImm: {name: "F_SEND_ONLY_IMM", layout: LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | send | only},
	FSendFirst + WriteFirst: {name: "F_WRITE_FIRST", layout: LayoutRETH | LayoutPayload,
		traits: request | write | starts},
	FSendFirst + WriteMiddle: {name: "F_WRITE_MIDDLE", layout: LayoutVAETH | LayoutPayload,
		traits: request | write | middle},
	FSendFirst + WriteLast: {name: "F_WRITE_LAST", layout: LayoutVAETH | LayoutPayload,
		traits: request | write | ends},
	FSendFirst + WriteLastImm: {name: "F_WRITE_LAST_IMM", layout: LayoutVAETH | LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | write | ends},
	FSendFirst + WriteOnly: {name: "F_WRITE_ONLY", layout: LayoutRETH | LayoutPayload,
		traits: request | write | only},
	FSendFirst + WriteOnlyImm: {name: "F_WRITE_ONLY_IMM", layout: LayoutRETH | LayoutSOETH | LayoutImm | LayoutPayload,
		traits: request | write | only},
	FReadRequest: {name: "F_READ_REQUEST", layout: LayoutRETH | LayoutSOETH,
		traits: request | read | only},
	FReadRespFirst: {name: "F_READ_RESP_FIRST", layout: LayoutSOETH | LayoutPayload,
		traits: response | readResponse | starts},
	FReadRespFirst + 1: {name: "F_READ_RESP_MIDDLE", layout: LayoutSOETH | LayoutPayload,
		traits: response | readResponse | middle},
	FReadRespFirst + 2: {name: "F_READ_RESP_LAST", layout: LayoutSOETH | LayoutPayload,
		traits: response | readResponse | ends},
	FReadRespOnly: {name: "F_READ_RESP_ONLY", layout: LayoutSOETH | LayoutPayload,
		traits: response | readResponse | only},
	FaSRSack:         {name: "SACK", layout: LayoutAETH | LayoutSACKETH, traits: response | only},
	FaSRReadAck:      {name: "F_READ_ACK", layout: LayoutAETH | LayoutSACKETH, traits: readAck | only},
	FaSRSackOverflow: {name: "SACK_OVERFLOW", layout: LayoutAETH | LayoutSACKETH, traits: response | only},
	FNACK:            {name: "FNACK", layout: LayoutAETH | LayoutSACKETH, traits: response | only},

	UDP: {name: "UDP", layout: LayoutIP | LayoutPayload},
	TCP: {name: "TCP", layout: LayoutIP | LayoutPayload},
})

// complete fills in the parts of a row that follow from the others: the BTH, the header length, and the trait known.
func complete(table [opcodeCount]info) [opcodeCount]info {
	for i := range table {
		row := &table[i]
		if row.name != "" {
			row.traits |= known
		}
		if row.layout&(LayoutRepair|LayoutIP) == 0 {
			row.layout |= LayoutBTH
		}
		row.header = uint8(row.layout.Len())
	}
	return table
}

// byName maps names to opcodes.
var byName = func() map[string]Opcode {
	m := make(map[string]Opcode, len(opcodes))
	for i, row := range opcodes {
		if row.name != "" {
			m[row.name] = Opcode(i)
		}
	}
	return m
}()

// unknownPrefix begins the name of an opcode that the table does not know: "OP_0x15".
const unknownPrefix = "OP_0x"

// ParseOpcode returns the opcode of that name, as String prints it; ok is false when there is none.
func ParseOpcode(name string) (o Opcode, ok bool) {
	if o, ok = byName[name]; ok {
		return o, true
	}
	if len(name) != len(unknownPrefix)+2 || name[:len(unknownPrefix)] != unknownPrefix {
		return 0, false
	}
	x, err := strconv.ParseUint(name[len(unknownPrefix):], 16, 8)
	return Opcode(x), err == nil && !Opcode(x).Known()
}

// String returns the name in upper case, such as WRITE_FIRST, or OP_0x15 for an unknown opcode.
func (o Opcode) String() string {
	if o.Known() {
		return opcodes[o].name
	}
	const hex = "0123456789abcdef"
	return unknownPrefix + string([]byte{hex[o>>4], hex[o&15]})
}

// Class is the transport class: the top three bits of an opcode.
type Class uint8

// The classes of IBTA table 35, and the two manufacturer-specific ones that the extension opcodes use.
const (
	ClassRC  Class = 0
	ClassUC  Class = 1
	ClassRD  Class = 2
	ClassUD  Class = 3
	ClassCNP Class = 4
	ClassXRC Class = 5
	ClassX   Class = 6 // IRN and Go-Back-ONE, over reliable connections
	ClassF   Class = 7 // FaSR and SRNIC-like, over reliable connections
	ClassIP  Class = 8 // not RoCEv2: UDP and TCP
)

// String returns the usual abbreviation.
func (c Class) String() string {
	return [...]string{"RC", "UC", "RD", "UD", "CNP", "XRC", "X", "F", "IP"}[min(c, ClassIP)]
}

// Class returns the transport class of the opcode.
func (o Opcode) Class() Class { return Class(o >> 5) }

// Layout returns the headers that the opcode calls for; a BTH alone when it is unknown.
func (o Opcode) Layout() Layout { return opcodes[o].layout }

// HeaderLen returns the bytes from the start of the BTH to the payload.
func (o Opcode) HeaderLen() int { return int(opcodes[o].header) }

// HasImm reports whether the packet carries immediate data.
func (o Opcode) HasImm() bool { return opcodes[o].layout&LayoutImm != 0 }

// HasPayload reports whether bytes may follow the headers.
func (o Opcode) HasPayload() bool { return opcodes[o].layout&LayoutPayload != 0 }

// Known reports whether the opcode is in the table; a receiver drops the others without an answer.
func (o Opcode) Known() bool { return o.has(known) }

// IsRequest reports a packet from a requester that a responder executes. CNP, LOWAR and the acknowledgements of READ
// data are neither request nor response.
func (o Opcode) IsRequest() bool { return o.has(request) }

// IsResponse reports a packet from a responder to a requester: READ responses, ACKNOWLEDGE, ATOMIC_ACK and every kind
// of SACK but those of READ data. All other packets of a connection go to the responder.
func (o Opcode) IsResponse() bool { return o.has(response) }

// IsReadAck reports an acknowledgement of READ responses that have a sequence space of their own: the READ_(N)ACK of
// IRN and of FaSR. It travels with the requests, from requester to responder, and its PSNs are those of the responses.
func (o Opcode) IsReadAck() bool { return o.has(readAck) }

// TakesReceive reports whether a request needs a posted receive at the responder: the first packet of a SEND, and the
// packet that carries the immediate of a WRITE (IBTA 9.7.5.2.8).
func (o Opcode) TakesReceive() bool {
	return o.IsSend() && o.StartsMessage() || o.IsWrite() && o.HasImm()
}

// NumberedApart reports a packet whose PSN counts READ responses and not requests: a READ response of the extension
// classes, or an acknowledgement of one. In the RC class a READ response has the PSN of a request (IBTA 9.7.5.1.5).
func (o Opcode) NumberedApart() bool {
	return o.has(readAck) || o.has(readResponse) && o.Class() != ClassRC
}

// StartsMessage reports the first packet of a message, including one that is the only packet.
func (o Opcode) StartsMessage() bool { return o.has(starts) }

// EndsMessage reports the last packet of a message, including one that is the only packet.
func (o Opcode) EndsMessage() bool { return o.has(ends) }

// IsFirst reports the first of several packets.
func (o Opcode) IsFirst() bool { return opcodes[o].traits&only == starts }

// IsMiddle reports a packet that neither starts nor ends its message.
func (o Opcode) IsMiddle() bool { return o.has(middle) }

// IsLast reports the last of several packets.
func (o Opcode) IsLast() bool { return opcodes[o].traits&only == ends }

// IsOnly reports a message of one packet; READ requests, atomics and acknowledgements always are.
func (o Opcode) IsOnly() bool { return opcodes[o].traits&only == only }

// IsSend reports a packet of a SEND.
func (o Opcode) IsSend() bool { return o.has(send) }

// IsWrite reports a packet of an RDMA WRITE; ATOMIC_WRITE is not one.
func (o Opcode) IsWrite() bool { return o.has(write) }

// IsRead reports an RDMA READ request.
func (o Opcode) IsRead() bool { return o.has(read) }

// IsAtomic reports CMP_SWAP and FETCH_ADD, the requests that an ATOMIC_ACK answers.
func (o Opcode) IsAtomic() bool { return o.has(atomic) }

// IsReadResponse reports a packet that carries READ data; in the X class the answer to an atomic is one too.
func (o Opcode) IsReadResponse() bool { return o.has(readResponse) }

// AnsweredByData reports whether o is a READ, an atomic, or an operation of annex A19 that is answered like a READ
// without data.
func (o Opcode) AnsweredByData() bool {
	return o.IsRead() || o.IsAtomic() || o == AtomicWrite || o == Flush
}

func (o Opcode) has(t trait) bool { return opcodes[o].traits&t != 0 }
