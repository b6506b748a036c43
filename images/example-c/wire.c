// Frames: Ethernet, IPv4, UDP, BTH with RETH or AETH, payload, ICRC.
#include "example.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// LINE is what a frame takes of the line besides its bytes: preamble, FCS and gap.
enum { LINE = 24, ETH = 14, IP = 20, UDP = 8, BTH = 12, RETH = 16, AETH = 4, ICRC = 4, HEADERS = ETH + IP + UDP + BTH, ROCE_PORT = 4791 };

int wire_fd;
long bad_icrc, malformed, unknown_qp;

static uint32_t table[256];

static void put(uint8_t *at, int bytes, uint64_t v)
{
	while (bytes-- > 0) {
		at[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t v = 0;
	while (bytes-- > 0)
		v = v << 8 | *at++;
	return v;
}

// wire_open opens a packet socket on the device and fills the table of CRC-32, reflected polynomial 0xEDB88320.
void wire_open(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
		table[i] = c;
	}
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex(host.device)};
	int room = 8 << 20;
	wire_fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
	if (wire_fd < 0 || bind(wire_fd, (struct sockaddr *)&at, sizeof at))
		broken("example-c: packet socket");
	if (setsockopt(wire_fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room))
		setsockopt(wire_fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	struct timespec none;
	ioctl(wire_fd, SIOCGSTAMPNS, &none); // fails, and turns the stamps on: the first frame may be the one that waits
}

// icrc is the CRC over the fields that no router changes: eight bytes of ones in place of the InfiniBand header, then
// the packet from the IP header on, with ones for TOS, TTL, both checksums and the reserved byte of the BTH (annex
// A17.3.3).
static uint32_t icrc(const uint8_t *frame, int end)
{
	uint8_t head[8 + IP + UDP + BTH];
	memset(head, 0xFF, 8);
	memcpy(head + 8, frame + ETH, IP + UDP + BTH);
	head[8 + 1] = head[8 + 8] = head[8 + 10] = head[8 + 11] = 0xFF;
	head[8 + IP + 6] = head[8 + IP + 7] = head[8 + IP + UDP + 4] = 0xFF;
	uint32_t c = ~0u;
	for (size_t i = 0; i < sizeof head; i++)
		c = c >> 8 ^ table[(uint8_t)c ^ head[i]];
	for (int i = HEADERS; i < end; i++)
		c = c >> 8 ^ table[(uint8_t)c ^ frame[i]];
	return ~c;
}

static bool has_reth(uint8_t op) { return op == WRITE_FIRST || op == WRITE_ONLY; }

// headers writes the headers up to the BTH; body is the number of bytes after the BTH, ICRC included.
static void headers(uint8_t *f, const struct qp *q, const struct packet *p, int pad, int body)
{
	memcpy(f, host.peer_mac, 6);
	memcpy(f + 6, host.mac, 6);
	put(f + 12, 2, ETH_P_IP);
	uint8_t *ip = f + ETH;
	memset(ip, 0, IP);
	ip[0] = 0x45;
	put(ip + 2, 2, (uint64_t)(IP + UDP + BTH + body));
	put(ip + 6, 2, 0x4000); // DF
	ip[8] = 64;
	ip[9] = IPPROTO_UDP;
	memcpy(ip + 12, host.ip, 4);
	memcpy(ip + 16, host.peer_ip, 4);
	uint32_t sum = 0;
	for (int i = 0; i < IP; i += 2)
		sum += (uint32_t)get(ip + i, 2);
	sum = (sum & 0xFFFF) + (sum >> 16);
	put(ip + 10, 2, (uint16_t)~(sum + (sum >> 16)));
	uint8_t *udp = ip + IP;
	put(udp, 2, q->port);
	put(udp + 2, 2, ROCE_PORT);
	put(udp + 4, 2, (uint64_t)(UDP + BTH + body));
	put(udp + 6, 2, 0);
	uint8_t *bth = udp + UDP;
	bth[0] = p->opcode;
	bth[1] = (uint8_t)(p->solicited << 7 | pad << 4);
	put(bth + 2, 2, q->pkey);
	put(bth + 4, 4, q->peer_qpn);
	put(bth + 8, 4, (uint64_t)p->ackreq << 31 | p->psn);
}

// wire_send encodes and sends a packet. It returns the bytes that the frame takes of the line, -1 if the device has no room
// now.
int wire_send(const struct qp *q, const struct packet *p)
{
	uint8_t f[MAX_FRAME];
	int pad = -p->len & 3, extra = has_reth(p->opcode) ? RETH : p->opcode == ACKNOWLEDGE ? AETH : 0;
	headers(f, q, p, pad, extra + p->len + pad + ICRC);
	uint8_t *at = f + HEADERS;
	if (extra == RETH) {
		put(at, 8, p->va);
		put(at + 8, 4, p->rkey);
		put(at + 12, 4, p->dmalen);
	} else if (extra == AETH) {
		put(at, 4, (uint64_t)p->syndrome << 24 | p->msn);
	}
	at += extra;
	if (p->len)
		memcpy(at, p->payload, (size_t)p->len);
	memset(at + p->len, 0, (size_t)pad);
	at += p->len + pad;
	uint32_t crc = icrc(f, (int)(at - f));
	for (int i = 0; i < ICRC; i++)
		*at++ = (uint8_t)(crc >> 8 * i); // the only little-endian field
	if (send(wire_fd, f, (size_t)(at - f), 0) < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return -1;
	return (int)(at - f) + LINE;
}

// decode decodes a frame. If it returns false the frame is dropped in silence, and a wrong ICRC or a malformed frame is
// counted (IBTA 9.6).
static bool decode(const uint8_t *f, int n, struct packet *p)
{
	if (n < HEADERS + ICRC || f[ETH] != 0x45 || f[ETH + 9] != IPPROTO_UDP || get(f + ETH + IP + 2, 2) != ROCE_PORT)
		return false;
	int end = ETH + (int)get(f + ETH + 2, 2);
	const uint8_t *bth = f + ETH + IP + UDP;
	int pad = bth[1] >> 4 & 3;
	p->opcode = bth[0];
	int extra = has_reth(p->opcode) ? RETH : p->opcode == ACKNOWLEDGE ? AETH : 0;
	p->len = end - ICRC - pad - HEADERS - extra;
	if (end > n || p->len < 0 || (p->len + pad) % 4 || (int)get(f + ETH + IP + 4, 2) != end - ETH - IP || (bth[1] & 0xF) || memcmp(f + ETH + 12, host.peer_ip, 4)) {
		malformed++;
		return false;
	}
	const uint8_t *tail = f + end - ICRC;
	if (((uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24) != icrc(f, end - ICRC)) {
		bad_icrc++;
		return false;
	}
	p->pkey = (uint16_t)get(bth + 2, 2);
	p->qpn = (uint32_t)get(bth + 5, 3);
	p->ackreq = bth[8] >> 7;
	p->psn = (uint32_t)get(bth + 9, 3);
	const uint8_t *at = bth + BTH;
	if (extra == RETH) {
		p->va = get(at, 8);
		p->rkey = (uint32_t)get(at + 8, 4);
		p->dmalen = (uint32_t)get(at + 12, 4);
	} else if (extra == AETH) {
		p->syndrome = at[0];
		p->msn = (uint32_t)get(at + 1, 3);
	}
	p->payload = at + extra;
	return true;
}

// waited records the time from the kernel's stamp of the frame just received until now.
static void waited(void)
{
	struct timespec in, now;
	if (ioctl(wire_fd, SIOCGSTAMPNS, &in))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	note_late((now.tv_sec - in.tv_sec) * 1000000000LL + now.tv_nsec - in.tv_nsec);
}

// wire_receive returns 0 if no frame waits, 1 for a packet of a QP, -1 for a frame that was dropped. The payload is
// valid until the next call.
int wire_receive(struct packet *p, struct qp **q)
{
	static uint8_t f[1 << 16];
	ssize_t n = recv(wire_fd, f, sizeof f, 0);
	if (n < 0)
		return 0;
	waited();
	if (!decode(f, (int)n, p))
		return -1;
	for (*q = qps; *q < qps + nqps; (*q)++)
		if ((*q)->qpn == p->qpn && ((*q)->pkey & 0x7FFF) == (p->pkey & 0x7FFF))
			return 1;
	unknown_qp++;
	return -1;
}

// wire_dropped returns the number of frames that the kernel dropped because the program was too slow.
unsigned wire_dropped(void)
{
	struct tpacket_stats s = {0};
	socklen_t n = sizeof s;
	return getsockopt(wire_fd, SOL_PACKET, PACKET_STATISTICS, &s, &n) ? 0 : s.tp_drops;
}
