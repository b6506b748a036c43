package roce

// Opcode is the first byte of the BTH: transport class in the top three bits, operation in the low five. Two values
// beyond a byte, UDP and TCP, stand for packets that have no BTH.
type Opcode uint16

// The reliable-connection class (IBTA 9.2, table 35).
const (
	SendFirst        Opcode = 0x00
	SendMiddle       Opcode = 0x01
	SendLast         Opcode = 0x02
	SendLastImm      Opcode = 0x03
	SendOnly         Opcode = 0x04
	SendOnlyImm      Opcode = 0x05
	WriteFirst       Opcode = 0x06
	WriteMiddle      Opcode = 0x07
	WriteLast        Opcode = 0x08
	WriteLastImm     Opcode = 0x09
	WriteOnly        Opcode = 0x0A
	WriteOnlyImm     Opcode = 0x0B
	ReadRequest      Opcode = 0x0C
	ReadRespFirst    Opcode = 0x0D
	ReadRespMiddle   Opcode = 0x0E
	ReadRespLast     Opcode = 0x0F
	ReadRespOnly     Opcode = 0x10
	Acknowledge      Opcode = 0x11
	AtomicAck        Opcode = 0x12
	CompareSwap      Opcode = 0x13
	FetchAdd         Opcode = 0x14
	SendLastInv      Opcode = 0x16
	SendOnlyInv      Opcode = 0x17
	Flush            Opcode = 0x1C
	AtomicWrite      Opcode = 0x1D
	LoWAR            Opcode = 0x1F // first byte of a LoWAR repair header, which replaces the BTH
	UCSendFirst      Opcode = 0x20
	UCWriteOnlyImm   Opcode = 0x2B
	UDSendOnly       Opcode = 0x64
	UDSendOnlyImm    Opcode = 0x65
	CNP              Opcode = 0x81
	XSendFirst       Opcode = 0xC0 // IRN data, 0xC0 to 0xCB as RC 0x00 to 0x0B
	XReadRequest     Opcode = 0xCC
	XReadRespFirst   Opcode = 0xCD
	XReadRespOnly    Opcode = 0xD0
	XAtomicAck       Opcode = 0xD2
	XCompareSwap     Opcode = 0xD3
	XFetchAdd        Opcode = 0xD4
	IRNNack          Opcode = 0xD8
	IRNReadAck       Opcode = 0xD9
	RACK             Opcode = 0xDA
	FSendFirst       Opcode = 0xE0 // FaSR and SRNIC-like data, 0xE0 to 0xEB as RC 0x00 to 0x0B
	FReadRequest     Opcode = 0xEC
	FReadRespFirst   Opcode = 0xED
	FReadRespOnly    Opcode = 0xF0
	FaSRSack         Opcode = 0xF8
	FaSRReadAck      Opcode = 0xF9
	FaSRSackOverflow Opcode = 0xFA
	FNACK            Opcode = 0xFB
)

// UDP and TCP stand for IP packets that are not RoCEv2: those of another RDMA transport, iWARP, which cross the same
// links and are recorded in the same traces.
const (
	UDP Opcode = 0x100
	TCP Opcode = 0x101
)

// opcodeCount is the number of opcodes, known and unknown.
const opcodeCount = 0x102

// OverIP reports UDP and TCP, whose packets have no transport header that this package reads: Packet.Payload is
// everything after the IP header, including the UDP or TCP header.
func (o Opcode) OverIP() bool { return o >= UDP }
