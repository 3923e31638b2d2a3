/* floor answers every line it reads with the same canned result and parses
 * nothing: the least a server over stdio can cost. One write(2) for all lines
 * of one read(2), as any fast server does. */
#include <string.h>
#include <unistd.h>

static const char answer[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
	"\"{\\\"lines\\\":[{\\\"name\\\":\\\"GPIO17\\\",\\\"level\\\":0}]}\"}],"
	"\"structuredContent\":{\"lines\":[{\"name\":\"GPIO17\",\"level\":0}]}}}\n";

static char in[65536], out[1 << 20];

static int flush(size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(1, out + done, len - done);
		if (n < 0)
			return -1;
		done += n;
	}
	return 0;
}

int main(void)
{
	const size_t size = sizeof answer - 1;
	ssize_t n;

	while ((n = read(0, in, sizeof in)) > 0) {
		size_t used = 0;
		const char *end = in + n;
		for (const char *p = in; (p = memchr(p, '\n', end - p)); p++) {
			if (used + size > sizeof out) {
				if (flush(used) < 0)
					return 1;
				used = 0;
			}
			memcpy(out + used, answer, size);
			used += size;
		}
		if (used > 0 && flush(used) < 0)
			return 1;
	}
	return n < 0;
}
