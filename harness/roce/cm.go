package roce

import (
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Constants of connection management: MADs of the communication manager travel as UD SENDs to QP 1 (IBTA 12, 13.4).
const (
	CMQueuePair = 1
	CMQKey      = 0x80010000
	CMLen       = 256 // every MAD has this length

	madHeaderLen = 24
	madClassCM   = 0x07
	madVersion   = 2
	madSend      = 0x03
)

// CMAttribute identifies the message that a MAD carries (IBTA table 99).
type CMAttribute uint16

// The messages that set up and tear down a connection.
const (
	CMREQ  CMAttribute = 0x10
	CMMRA  CMAttribute = 0x11
	CMREJ  CMAttribute = 0x12
	CMREP  CMAttribute = 0x13
	CMRTU  CMAttribute = 0x14
	CMDREQ CMAttribute = 0x15
	CMDREP CMAttribute = 0x16
)

// MADHeader is the management datagram header, 24 bytes (IBTA 13.4.3).
type MADHeader struct {
	BaseVersion   uint8
	Class         uint8
	ClassVersion  uint8
	Method        uint8
	Status        uint16
	ClassSpecific uint16
	TID           uint64 // transaction, the same in request and answer
	Attribute     CMAttribute
	Modifier      uint32
}

// CMMessage is one of REQ, MRA, REJ, REP, RTU, DREQ and DREP, by pointer.
type CMMessage interface {
	// Attribute returns the identifier under which the message travels.
	Attribute() CMAttribute
	put(b []byte) // writes the message into 232 zero bytes
	get(b []byte) // reads the message from 232 bytes
}

// CommIDs are the communication IDs, one chosen by each end, by which the communication manager identifies a
// connection.
type CommIDs struct {
	Local  uint32 // chosen by the sender of the message
	Remote uint32 // chosen by its receiver
}

// REQ asks for a connection (IBTA 12.6.5). The alternate path is not represented: it is sent as zeros.
type REQ struct {
	LocalCommID        uint32
	ServiceID          uint64
	LocalCAGUID        uint64
	QKey               uint32
	QPN                uint32 // QP of the sender of the REQ, 24 bits
	ResponderResources uint8
	InitiatorDepth     uint8
	LocalEECN          uint32
	RemoteEECN         uint32
	RemoteCMTimeout    uint8 // 5 bits, like a local ACK timeout
	Service            uint8 // 0 RC, 1 UC, 2 RD
	FlowControl        bool  // end-to-end credits
	// StartingPSN is the PSN of the first request that the receiver of the REQ, the responder, sends.
	StartingPSN    psn.PSN
	LocalCMTimeout uint8 // 5 bits
	RetryCount     uint8 // 3 bits
	PKey           uint16
	PathMTU        uint8 // code 1 to 5, see MTU
	RDC            bool
	RNRRetryCount  uint8 // 3 bits
	MaxCMRetries   uint8 // 4 bits
	SRQ            bool
	ExtendedType   uint8 // 3 bits
	LocalLID       uint16
	RemoteLID      uint16
	LocalGID       [16]byte
	RemoteGID      [16]byte
	FlowLabel      uint32 // 20 bits
	PacketRate     uint8  // 6 bits
	TrafficClass   uint8
	HopLimit       uint8
	SL             uint8 // 4 bits
	SubnetLocal    bool
	ACKTimeout     uint8 // local ACK timeout, 5 bits
	PrivateData    [92]byte
}

// MTU returns the path MTU in bytes, or zero for a reserved code.
func (m *REQ) MTU() int {
	if m.PathMTU < 1 || m.PathMTU > 5 {
		return 0
	}
	return 128 << m.PathMTU
}

// REP accepts a REQ (IBTA 12.6.8).
type REP struct {
	CommIDs
	QKey uint32
	QPN  uint32 // QP of the sender of the REP, 24 bits
	EECN uint32
	// StartingPSN is the PSN of the first request that the receiver of the REP, the requester, sends.
	StartingPSN        psn.PSN
	ResponderResources uint8
	InitiatorDepth     uint8
	TargetACKDelay     uint8 // 5 bits
	Failover           uint8 // 2 bits
	FlowControl        bool
	RNRRetryCount      uint8 // 3 bits
	SRQ                bool
	LocalCAGUID        uint64
	PrivateData        [196]byte
}

// RTU announces that the connection is ready to use (IBTA 12.6.9).
type RTU struct {
	CommIDs
	PrivateData [224]byte
}

// DREQ asks to end a connection (IBTA 12.6.10).
type DREQ struct {
	CommIDs
	RemoteQPN   uint32
	PrivateData [220]byte
}

// DREP agrees to a DREQ (IBTA 12.6.11).
type DREP struct {
	CommIDs
	PrivateData [224]byte
}

// REJ refuses a message (IBTA 12.6.7).
type REJ struct {
	CommIDs
	Rejected    uint8 // refused message: 0 REQ, 1 REP, 2 no particular one
	InfoLen     uint8 // valid bytes of Info, 7 bits
	Reason      uint16
	Info        [72]byte
	PrivateData [148]byte
}

// MRA announces that an answer will take longer (IBTA 12.6.6).
type MRA struct {
	CommIDs
	Received       uint8 // delayed message: 0 REQ, 1 REP, 2 LAP
	ServiceTimeout uint8 // 5 bits, like a local ACK timeout
	PrivateData    [222]byte
}

var (
	_ CMMessage = (*REQ)(nil)
	_ CMMessage = (*MRA)(nil)
	_ CMMessage = (*REJ)(nil)
	_ CMMessage = (*REP)(nil)
	_ CMMessage = (*RTU)(nil)
	_ CMMessage = (*DREQ)(nil)
	_ CMMessage = (*DREP)(nil)
)

// AppendCM appends the 256-byte MAD that carries m.
func AppendCM(b []byte, tid uint64, m CMMessage) []byte {
	b, mad := extend(b, CMLen)
	clear(mad)
	mad[0], mad[1], mad[2], mad[3] = 1, madClassCM, madVersion, madSend
	binary.BigEndian.PutUint64(mad[8:], tid)
	binary.BigEndian.PutUint16(mad[16:], uint16(m.Attribute()))
	m.put(mad[madHeaderLen:])
	return b
}

// DecodeCM reads a MAD, the payload of a UD SEND to QP 1. It returns an error when the MAD is not exactly 256 bytes
// long, is not one of the communication manager, or holds a message that this package does not know; in the last case
// the header is valid.
func DecodeCM(mad []byte) (MADHeader, CMMessage, error) {
	if len(mad) != CMLen {
		return MADHeader{}, nil, fmt.Errorf("cm: MAD of %d bytes, want %d", len(mad), CMLen)
	}
	be := binary.BigEndian
	h := MADHeader{
		BaseVersion: mad[0], Class: mad[1], ClassVersion: mad[2], Method: mad[3],
		Status: be.Uint16(mad[4:]), ClassSpecific: be.Uint16(mad[6:]), TID: be.Uint64(mad[8:]),
		Attribute: CMAttribute(be.Uint16(mad[16:])), Modifier: be.Uint32(mad[20:]),
	}
	if h.BaseVersion != 1 || h.Class != madClassCM || h.ClassVersion != madVersion {
		return h, nil, fmt.Errorf("cm: MAD version %d class %#x version %d, want 1, 0x7, 2", h.BaseVersion,
			h.Class, h.ClassVersion)
	}
	m := newCM(h.Attribute)
	if m == nil {
		return h, nil, fmt.Errorf("cm: unknown attribute %#x", uint16(h.Attribute))
	}
	m.get(mad[madHeaderLen:])
	return h, m, nil
}

// newCM returns an empty message, or nil for an unknown attribute.
func newCM(a CMAttribute) CMMessage {
	switch a {
	case CMREQ:
		return new(REQ)
	case CMMRA:
		return new(MRA)
	case CMREJ:
		return new(REJ)
	case CMREP:
		return new(REP)
	case CMRTU:
		return new(RTU)
	case CMDREQ:
		return new(DREQ)
	case CMDREP:
		return new(DREP)
	}
	return nil
}

// Attribute returns CMREQ.
func (*REQ) Attribute() CMAttribute { return CMREQ }

// Attribute returns CMMRA.
func (*MRA) Attribute() CMAttribute { return CMMRA }

// Attribute returns CMREJ.
func (*REJ) Attribute() CMAttribute { return CMREJ }

// Attribute returns CMREP.
func (*REP) Attribute() CMAttribute { return CMREP }

// Attribute returns CMRTU.
func (*RTU) Attribute() CMAttribute { return CMRTU }

// Attribute returns CMDREQ.
func (*DREQ) Attribute() CMAttribute { return CMDREQ }

// Attribute returns CMDREP.
func (*DREP) Attribute() CMAttribute { return CMDREP }

// putWord and getWord write and read a 24-bit field and the 8-bit field below it in the same word, a pair that these
// messages have often.
func putWord(b []byte, high uint32, low uint8) {
	binary.BigEndian.PutUint32(b, high<<8|uint32(low))
}

func getWord(b []byte) (high uint32, low uint8) {
	return binary.BigEndian.Uint32(b) >> 8, b[3]
}

// The offsets in put and get are those of the message tables in IBTA 12.6, which count from the end of the MAD header.
// put relies on b being zero where it writes nothing: reserved words, and the alternate path of a REQ at 96 to 139.

func (m *REQ) put(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, m.LocalCommID)
	be.PutUint64(b[8:], m.ServiceID)
	be.PutUint64(b[16:], m.LocalCAGUID)
	be.PutUint32(b[28:], m.QKey)
	putWord(b[32:], m.QPN, m.ResponderResources)
	putWord(b[36:], m.LocalEECN, m.InitiatorDepth)
	putWord(b[40:], m.RemoteEECN, m.RemoteCMTimeout<<3|m.Service&3<<1|bit(m.FlowControl, 0))
	putWord(b[44:], uint32(m.StartingPSN), m.LocalCMTimeout<<3|m.RetryCount&7)
	be.PutUint16(b[48:], m.PKey)
	b[50] = m.PathMTU<<4 | bit(m.RDC, 3) | m.RNRRetryCount&7
	b[51] = m.MaxCMRetries<<4 | bit(m.SRQ, 3) | m.ExtendedType&7
	be.PutUint16(b[52:], m.LocalLID)
	be.PutUint16(b[54:], m.RemoteLID)
	copy(b[56:], m.LocalGID[:])
	copy(b[72:], m.RemoteGID[:])
	be.PutUint32(b[88:], m.FlowLabel<<12|uint32(m.PacketRate&0x3F))
	b[92], b[93] = m.TrafficClass, m.HopLimit
	b[94] = m.SL<<4 | bit(m.SubnetLocal, 3)
	b[95] = m.ACKTimeout << 3
	copy(b[140:], m.PrivateData[:])
}

func (m *REQ) get(b []byte) {
	be := binary.BigEndian
	var low uint8
	m.LocalCommID = be.Uint32(b)
	m.ServiceID = be.Uint64(b[8:])
	m.LocalCAGUID = be.Uint64(b[16:])
	m.QKey = be.Uint32(b[28:])
	m.QPN, m.ResponderResources = getWord(b[32:])
	m.LocalEECN, m.InitiatorDepth = getWord(b[36:])
	m.RemoteEECN, low = getWord(b[40:])
	m.RemoteCMTimeout, m.Service, m.FlowControl = low>>3, low>>1&3, low&1 != 0
	start, low := getWord(b[44:])
	m.StartingPSN, m.LocalCMTimeout, m.RetryCount = psn.New(start), low>>3, low&7
	m.PKey = be.Uint16(b[48:])
	m.PathMTU, m.RDC, m.RNRRetryCount = b[50]>>4, b[50]&8 != 0, b[50]&7
	m.MaxCMRetries, m.SRQ, m.ExtendedType = b[51]>>4, b[51]&8 != 0, b[51]&7
	m.LocalLID, m.RemoteLID = be.Uint16(b[52:]), be.Uint16(b[54:])
	m.LocalGID, m.RemoteGID = [16]byte(b[56:]), [16]byte(b[72:])
	m.FlowLabel, m.PacketRate = be.Uint32(b[88:])>>12, b[91]&0x3F
	m.TrafficClass, m.HopLimit = b[92], b[93]
	m.SL, m.SubnetLocal = b[94]>>4, b[94]&8 != 0
	m.ACKTimeout = b[95] >> 3
	copy(m.PrivateData[:], b[140:])
}

func (c *CommIDs) put(b []byte) {
	binary.BigEndian.PutUint32(b, c.Local)
	binary.BigEndian.PutUint32(b[4:], c.Remote)
}

func (c *CommIDs) get(b []byte) {
	c.Local, c.Remote = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
}

func (m *REP) put(b []byte) {
	m.CommIDs.put(b)
	binary.BigEndian.PutUint32(b[8:], m.QKey)
	putWord(b[12:], m.QPN, 0)
	putWord(b[16:], m.EECN, 0)
	putWord(b[20:], uint32(m.StartingPSN), 0)
	b[24], b[25] = m.ResponderResources, m.InitiatorDepth
	b[26] = m.TargetACKDelay<<3 | m.Failover&3<<1 | bit(m.FlowControl, 0)
	b[27] = m.RNRRetryCount<<5 | bit(m.SRQ, 4)
	binary.BigEndian.PutUint64(b[28:], m.LocalCAGUID)
	copy(b[36:], m.PrivateData[:])
}

func (m *REP) get(b []byte) {
	m.CommIDs.get(b)
	m.QKey = binary.BigEndian.Uint32(b[8:])
	m.QPN, _ = getWord(b[12:])
	m.EECN, _ = getWord(b[16:])
	start, _ := getWord(b[20:])
	m.StartingPSN = psn.New(start)
	m.ResponderResources, m.InitiatorDepth = b[24], b[25]
	m.TargetACKDelay, m.Failover, m.FlowControl = b[26]>>3, b[26]>>1&3, b[26]&1 != 0
	m.RNRRetryCount, m.SRQ = b[27]>>5, b[27]&0x10 != 0
	m.LocalCAGUID = binary.BigEndian.Uint64(b[28:])
	copy(m.PrivateData[:], b[36:])
}

func (m *RTU) put(b []byte) {
	m.CommIDs.put(b)
	copy(b[8:], m.PrivateData[:])
}

func (m *RTU) get(b []byte) {
	m.CommIDs.get(b)
	copy(m.PrivateData[:], b[8:])
}

func (m *DREQ) put(b []byte) {
	m.CommIDs.put(b)
	putWord(b[8:], m.RemoteQPN, 0)
	copy(b[12:], m.PrivateData[:])
}

func (m *DREQ) get(b []byte) {
	m.CommIDs.get(b)
	m.RemoteQPN, _ = getWord(b[8:])
	copy(m.PrivateData[:], b[12:])
}

func (m *DREP) put(b []byte) {
	m.CommIDs.put(b)
	copy(b[8:], m.PrivateData[:])
}

func (m *DREP) get(b []byte) {
	m.CommIDs.get(b)
	copy(m.PrivateData[:], b[8:])
}

func (m *REJ) put(b []byte) {
	m.CommIDs.put(b)
	b[8], b[9] = m.Rejected<<6, m.InfoLen<<1
	binary.BigEndian.PutUint16(b[10:], m.Reason)
	copy(b[12:], m.Info[:])
	copy(b[84:], m.PrivateData[:])
}

func (m *REJ) get(b []byte) {
	m.CommIDs.get(b)
	m.Rejected, m.InfoLen = b[8]>>6, b[9]>>1
	m.Reason = binary.BigEndian.Uint16(b[10:])
	copy(m.Info[:], b[12:])
	copy(m.PrivateData[:], b[84:])
}

func (m *MRA) put(b []byte) {
	m.CommIDs.put(b)
	b[8], b[9] = m.Received<<6, m.ServiceTimeout<<3
	copy(b[10:], m.PrivateData[:])
}

func (m *MRA) get(b []byte) {
	m.CommIDs.get(b)
	m.Received, m.ServiceTimeout = b[8]>>6, b[9]>>3
	copy(m.PrivateData[:], b[10:])
}
