// Linked into images/example-c with -Wl,--wrap=send, this sends a malformed frame before every fortieth data packet.
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

ssize_t __real_send(int fd, const void *frame, size_t n, int flags);

enum { ETHER = 14, UDP = ETHER + 20, BTH = UDP + 8, ICRC = 4, SHORT = 50, EVERY = 40, LONGEST = 9216 };

// reseal makes the ICRC right.
static void reseal(uint8_t *f, size_t n)
{
	uint8_t b[LONGEST];
	size_t len = n - ETHER - ICRC + 8;
	memset(b, 0xFF, 8);
	memcpy(b + 8, f + ETHER, len - 8);
	static const int masked[] = {1, 8, 10, 11, 26, 27, 32};
	for (size_t i = 0; i < sizeof masked / sizeof *masked; i++)
		b[8 + masked[i]] = 0xFF;
	uint32_t crc = ~0u;
	for (size_t i = 0; i < len; i++) {
		crc ^= b[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (0xEDB88320 & -(crc & 1));
	}
	crc = ~crc;
	for (int i = 0; i < ICRC; i++)
		f[n - ICRC + (size_t)i] = (uint8_t)(crc >> 8 * i);
}

ssize_t __wrap_send(int fd, const void *frame, size_t n, int flags)
{
	static unsigned sent;
	uint8_t f[LONGEST];
	if (n > 200 && n + 4 <= sizeof f && ++sent % EVERY == 0) {
		size_t len = n;
		memcpy(f, frame, n);
		switch (sent / EVERY % 9) {
		case 0: f[n - 1] ^= 0xFF; break;                    // a wrong ICRC
		case 1: len = SHORT; break;                         // cut off
		case 2: f[12] = 0x88, f[13] = 0xB5; break;          // another protocol than IP
		case 3: f[ETHER + 2] ^= 0x10; break;                // a wrong IP length
		case 4: f[BTH + 6] ^= 0x5A, reseal(f, n); break;    // a QP that nobody has
		case 5: f[UDP + 3] ^= 1, reseal(f, n); break;       // another UDP port
		case 6: memset(f + 12, 0, n - 12); break;           // no protocol at all
		case 7: len = ETHER + 1; break;                     // hardly anything
		case 8:                                             // a VLAN that nobody asked for
			memcpy(f + 16, (const uint8_t *)frame + 12, n - 12);
			memcpy(f + 12, "\x81\x00\x00\x05", 4);
			len = n + 4;
			break;
		}
		__real_send(fd, f, len, flags);
	}
	return __real_send(fd, frame, n, flags);
}
