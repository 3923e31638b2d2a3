// Package codec makes messages small for a slow line: both ends keep the text of
// the messages so far, begun with a dictionary of the protocol's words, and code
// what of the next message the text does not foretell. A call that differs from an
// earlier one in an id and an argument takes two or three bytes. Any bytes come back
// as they were.
//
// What follows is the coding of ID 1, so that another implementation can be written
// from it. All arithmetic is on integers; u32 is unsigned and modulo 2^32, and >> of
// a negative number rounds down. Division of positive numbers rounds down. "x : bits"
// is (x * 9E3779B1h mod 2^32) >> (32-bits), a slot of a table of 2^bits entries.
//
// # A coded message
//
// It has at least a byte. The first tells what it is:
//
//	FF  the message itself follows, and both ends learn it as if it had been coded
//	FE  the message itself follows, and both ends store it: see Stored messages
//	    less: the bytes of the arithmetic coder
//
// Coded messages must be decoded in the order and with the boundaries in which they
// were encoded. At the beginning and after a reset both ends prime: all state gets
// its first values and the lines of dictionary.txt, cut at their line feeds, are
// learnt as messages: everything below is done but for reading and writing bits.
//
// # The arithmetic coder
//
// It codes bits, each with the probability p/4096 that it is 1, p from 1 to 4095.
// The encoder has low, of any length, whose first byte is the first of the output,
// and size, a u32; at first low = 0 and size = FE000000h. For a bit:
//
//	part = (size >> 12) * p
//	1: size = part
//	0: low += part, size -= part
//	while size < 2^24: low and size are shifted left by 8 bits
//
// At the end it takes a number from low to low+size-1, the one with the most zero
// bits at its end, and of these the least; it has the bytes shifted out and four
// more. It writes it without the zero bytes at its end, of which it drops at most 8,
// and never the first byte. The decoder reads zero bytes behind the end; a message
// for which it needs more than 8 of these, or that leaves bytes over, is corrupt. It
// keeps code, at first the first four bytes, the first of them highest:
//
//	code < part: the bit is 1, size = part
//	else:        it is 0, code -= part, size -= part
//	while size < 2^24: size is shifted by 8 bits, and code, taking in the next byte
//
// # Guesses and mixers
//
// A guess is a probability p of 12 bits that a bit is 1, and a count n; at first
// p = 2048 and n = 0. It learns a bit b, 0 or 1, by
//
//	p += ((4095*b - p) * (655360 / (10*n + 16))) >> 16
//	n  = min(n+1, 13)
//
// A bit coded plainly by a guess takes its p, but at least 1, and teaches it.
//
// A mixer has three weights, signed and of 32 bits. A bit mixed from three guesses
// takes p = squash((x0*(w0>>2) + x1*(w1>>2) + x2*(w2>>2)) >> 14), where xi is
// stretch of the i-th guess's p and sums are modulo 2^32, signed. Then each weight
// wi += (xi*(4096*b - p) + 512) >> 10, and all three guesses learn b.
//
// squash(x) takes x, brought to -2047..2047, y = x+2048, i = y>>7 and f = y mod 128,
// and is (L[i]*(128-f) + L[i+1]*f + 64) >> 7, with L the numbers
//
//	1 2 4 6 10 17 27 45 74 120 194 311 488 747 1102 1546 2048 2550 2994 3349 3608
//	3785 3902 3976 4022 4051 4069 4079 4086 4090 4092 4094 4095
//
// stretch(p) is the least x of -2047..2047 with squash(x) >= p, or 2047.
//
// # The text
//
// The text is what has been coded: every message with a line feed behind it. Its
// bytes have places, counted from 1 in u32; pos is that of the next byte, start that
// where the message before this one began and then that of this one. A ring keeps
// the last so many bytes as the window that both ends agreed on; at() reads the ring,
// at first all zeros, at a place modulo the window. A place p is held if it is not 0
// and pos-p-1 < window-56.
//
// With each byte c taken into the text, four u32 change, all 0 at first:
//
//	last  = c
//	many  = many*785A6238h + c + 1
//	five  = five*85A62380h + c + 1, but not for a backslash
//	shape = shape*F0B4C470h + d + 1, d being c, or '0' for any digit
//
// Two tables of 4096 places modulo 2^16, all 0 at first, tell where bytes like the
// last ones were: places has pos in the slot five:12 and longer in many:12. A slot's
// value v stands for the place pos - ((pos-v) mod 2^16), but for none if v is 0 or
// the place is not held.
//
// # The thread
//
// The thread is a place whose bytes are thought to come again, or 0. right counts
// the bytes it was right for; wrong how often in a row it was wrong (or, with no
// thread, the bytes coded alone, up to 15); broken is the place where it was wrong
// first, or 0. A message begins with thread = start, right = 32, wrong = 0,
// broken = 0 and then start = pos. It is coded as steps until its end: a run if
// there is one to code, else a byte. The byte behind the message's last is a line
// feed. With every line feed coded as a byte there is one more bit, plainly, by a
// guess of its own: 1 if the message ends with it.
//
// # Runs
//
// There is no run if the thread is known to be wrong about the next byte (missed,
// see below), if right < 8, or if the thread is not held. Else the run has the bytes
// at the thread up to, and without, the first
//
//   - line feed,
//   - byte before which there is a spot (below) of the key 64*shape whose guess has
//     p > 1024, shape being that of the text and the run so far,
//
// and at most min(pos-thread, 255). If it has fewer than 2 there is none. One bit,
// mixed, tells whether the run fails, that is, whether the message differs from it or
// ends in it. l is the number of binary digits of the run's length; the guesses are
//
//	passes, 256, the slot shape:8
//	lengths, 18, the entry l, and 9 more if right >= 32
//	pairs, 1024, the slot (2^20 | last<<4 | l):10; | is bitwise or
//
// and the mixer is passing. If it fails, then for each byte of the run but the last
// one bit, plainly, tells whether it is the first wrong one, up to the 1; after all
// zeros it is the last. The guess is of stops, 6 of them: 1 for a digit, 2 for a
// letter of A to Z or a to z, 0 for any other byte, and 3 more if the byte before it
// in the text is a digit or such a letter.
//
// Each byte before the wrong one is taken into the text, pos being entered into
// places and longer before it; the thread and right grow with it. If there was one,
// wrong = broken = 0. If the run failed, the next step is a byte with missed true.
//
// # Bytes
//
// First the place of the slot five:12 of places is taken; then pos is entered there.
// It is no place unless the byte before it is the last byte and the one before that
// the last but one, or either of these two is a backslash. If the thread is not held,
// thread = right = 0. If thread is then 0, there is a place, and it has at least 4
// bytes in common (the bytes before it that are as the last ones, counted up to 32),
// thread is the place and right that number. If right < 8 and longer's slot many:12
// stands for a place with at least 12 bytes in common, that and its number become
// thread and right. Then pos is entered there too.
//
// Up to four guesses at the byte are made:
//
//	0  the byte at the thread
//	1  the digit after it, 0 after 9, if its kind is 1 or 2
//	2  the byte at the place; the one behind it if it is a backslash and 0 is none
//	3  the digit after 2, if the kind of the byte at the place is 1 or 2
//
// The kind of a byte that is no digit is 0. For a digit let i be 1, 2 ... and look at
// the byte i behind: if that is no digit the kind is min(i, 2); if it is not 9, or
// i > 8, it is 3. kinds is 4 times the kind at the thread and the kind at the place;
// agree is 0 without a place, else 2 if guess 2 is as 0, else 3 if it is as 1, else 1.
//
// The guesses there are are tried from 0 on, without those that are as an earlier
// one, tried being the number of those tried before (0 counts even if missed, when no
// bit is coded, only the spot marked with the key 64*shape, and missed becomes
// false). One bit, mixed, is 1 if the guess is wrong:
//
//	     key                                           way                          set
//	0    64*shape                                      4*agree                      4*rank + agree
//	1-3  64*shape + way + kinds*01234567h              16*i + 4*agree + min(tried, 2)
//	1                                                                               59 + kind at the thread
//	2                                                                               44 + 8*min(tried, 1) + min(wrong, 7)
//	3                                                                               61 + kind at the place
//
// rank is right below 8, 8 below 16, 9 below 32, else 10. The guesses mixed are the
// one of the key's spot, or if there is none a fresh one that is then forgotten; the
// entry 2*set of general, 128, and 1 more if there is a spot; and of pairs the slot
// (way<<16 | guessed byte<<8 | last):10. The mixer is the one of guessing, 64, of
// the set. If the bit is 1 and there was no spot, one is marked.
//
// A spot is a slot of 1024 that has a tag, 0 at first, and a guess. With
// h = key*9E3779B1h, a key's slot is i = h>>22 and its tag (h>>8 mod 256) | 1. Its
// spot is slot i, or else slot i xor 1, if that has the tag. To mark it, take the
// slot i xor 1 if that has the tag, or if i has not and its guess's n is above that
// of i xor 1; else i. The slot gets the tag and a new guess that then learns a 1; n
// of the guess in the other slot of the two falls by 1, if it is above 0.
//
// If no guess was right the byte is spelt, its highest bit first. node is 1, and
// after each bit 2*node + bit. With n = node*9E3779B1h each bit is mixed from three
// guesses of letters, 4096: in the slots n:12, (n + (last+1000h)*3D4D51CBh):12 and
// (n + (g + 1 + 512*kind)*01234567h):12, where g is the byte at the thread, 256
// without one, and kind its kind. The mixer is of spelling, 8: min(wrong, 3), and 4
// more without a thread.
//
// Then the text and the thread take the byte c:
//
//  1. Without a thread, wrong = min(wrong+1, 15). If c is the byte at the thread,
//     thread and right grow by 1 and wrong = broken = 0. Else wrong grows by 1; if
//     broken is 0 or right is above 0, broken = thread; thread grows by 1, right = 0;
//     and if wrong > 4, thread = broken = 0.
//  2. If broken is not 0, right is 0 and c is neither a digit nor a letter, it is
//     looked for at broken and the 23 places behind it; behind the first that has it
//     the thread goes on, with right = 1 and wrong = 0.
//  3. c is taken into the text.
//
// # First values
//
// All guesses are fresh, the weights of guessing and passing 26000, those of spelling
// 24000; text, tables and tags are 0, pos = start = 1.
//
// # Stored messages
//
// start = pos; then of the message the last bytes, as many as the window at most,
// and a line feed are taken into the text, pos being entered into both tables before
// each. Nothing else changes.
//
// # Example
//
// After priming, messages are coded so, one after the other, with any window (see
// ExampleEncoder):
//
//	78 bc                    {"method":"tools/list","jsonrpc":"2.0","id":1}
//	eb 0d e2 16 2e c2 5c 51  {"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO22","level":1}},"jsonrpc":"2.0","id":2}
//	fb f1 3b ef 27 e8        the same with "level":0 and "id":3
//	ff                       no bytes at all
//	fd                       a line feed
//	ff 00 ff 80              the bytes 00 ff 80
//	fe 7b 7d                 {} stored
//	80                       {} coded
//
// # The dictionary
//
// dictionary.txt is kept by hand. Each line stands for a kind of message, with short
// values: the less usual kinds first, then a session in its usual order, and the
// calls and answers most seen last, as what is near is foretold best. The list of
// tools has the names, types and words of boardhand's tools and leaves out what the
// first list costs little to say. It is to fit a window of 8 KiB whole. With the
// coding it is frozen for an ID: ends that announce the same ID must have the same
// bytes.
//
// To make it anew for another ID: write sessions of the new program into testdata
// (see the test's session), change the lines, and run
//
//	go test ./frame/link/codec -v -run 'Sessions|EachLine' -lines
//
// which says what the sessions cost, and what they would without each line: one that
// saves less than its place is worth goes. Then raise ID, and set the sum that
// TestCodingIsThatOfItsID tells.
//
// # Cost
//
// With a window of 8, 16 or 32 KiB an end keeps 40, 48 or 64 KiB. A byte of a run
// takes some 80 instructions of ARMv6, a byte alone from 500 to 2000, a stored one at
// most 50: a call of 390 bytes in a session under way 65,000, its answer 85,000, the
// first list of tools 1,600 for each byte. A Pi Zero thus codes some 200 to 300 KB/s of
// text it has not seen before, which is slower than a line of two million baud: there large
// messages are better stored.
package codec
