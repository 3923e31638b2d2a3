// Package codec makes messages small for a slow line: both ends keep the text of
// the messages so far and code each byte of the next by how well it was foretold.
// It takes text as it is, so what goes in comes out, byte for byte; it is made for
// JSON-RPC, whose messages differ from earlier ones in an id and an argument.
//
// What follows is coding 1, complete for another implementation. Unsigned numbers are
// of 32 bits and wrap around; the names are those of this package's code, and >> of a
// negative number rounds down.
//
// # Text
//
// The text is all messages so far, each with a line end (10) behind it. A ring keeps the
// last window bytes of it, zeros at first. Places count from 1; 0 is no place. Before the
// first message the models learn the lines of dictionary.txt, as if each had been a
// message. An encoder or decoder that is reset begins there again.
//
// A place p is held while it is not 0 and pos-p-1 < window-56, pos being the place of the
// next byte. Tables keep the low 16 bits of a place: a slot that is not 0 stands for the
// newest place before pos with these bits, if that is held.
//
// # Coded messages
//
// A coded message whose first byte is 255 has the message behind it as it is, and the
// models learn that. Otherwise it is one number of a binary range coder, whole bytes,
// highest first. The encoder begins with low 0 and size 255<<24. A bit that is 1 with
// probability p/4096 takes the lower part, size>>12*p, of the interval, one that is 0 the
// rest. While size is below 1<<24 both are shifted by 8 bits and the byte that leaves
// low is written; what low carries over is added to what is written. At the end the
// encoder writes the number of the interval with the most zero bits at its end, in 4
// bytes, and leaves away up to 8 zero bytes at the end, but not the first byte of all;
// the decoder reads zeros for them, and takes a message for corrupt that asks for more
// than 8, or leaves bytes over. A message that would grow is sent as it is.
//
// The bytes of a message are coded one after the other, then a line end. After each
// line end a bit says whether it was the message's end (1), with the probability of
// the guess end, which learns from it.
//
// # Guesses and mixing
//
// A guess is a probability p of 12 bits and a count of 4 bits, 2048 and 0 at first. From
// a bit it learns p += (bit*4095-p)*rate>>16, where rate is 655360/(10*count+16), rounded
// down, and the count rises to 13 at most. The probability of end is p, at least 1.
//
// Every other bit is coded with three guesses a, b, d and a mixer of three weights in
// 65536ths. With stretch the inverse of squash (mix.go has the 33 points that squash is
// straight between), the probability is
//
//	squash((stretch(a)*(w0>>2) + stretch(b)*(w1>>2) + stretch(d)*(w2>>2)) >> 14)
//
// and then each weight learns w += (stretch(its guess)*(bit<<12 - probability) + 512) >> 10,
// and each guess the bit. Weights begin at 26000, those of letters at 24000.
//
// # A byte
//
// Four hashes of the text follow it, each h = h*factor + byte + 1: five (factor
// 0x85A62380, backslashes left out), many (0x785A6238) and shape (0xF0B4C470, digits
// taken for '0'); last is the last byte. The slot of x in a table of 1<<b is
// x*0x9E3779B1 >> (32-b).
//
// The thread is a place where the text is thought to be repeated; right counts the bytes
// it foretold, wrong those in a row it did not. At a message's begin it is the begin of
// the message before, with right 32. For each byte:
//
//  1. Slot five of table places (12 bits) gives a place and takes pos. It counts if the
//     last byte before it is the last, and the one before that too or one of both is a
//     backslash.
//  2. A thread that is not held ends, with right 0. If there is none, and at least 4
//     bytes before the place are as the last (32 are compared), it becomes the thread
//     with that many right.
//  3. Slot many of table longer (12 bits), while right is below 16: if at least 12 bytes,
//     and more than right, before its place are as the last, that is the thread. It takes
//     pos.
//  4. Up to four bytes are tried in order: the thread's; the digit after it, if it is one
//     of kind 1 or 2; the place's (one behind it, if that is a backslash and the thread's
//     is not); the digit after that. One that is as an earlier of these four is left out.
//     For each a bit says whether it is wrong (1). After 9 comes 0. The kind of a digit is 1 for the
//     last of its number, 2 for one with only 9s behind it or with nothing but its
//     number's last digit, 3 otherwise (a number of more than 9 digits is looked at no
//     further), and 0 for no digit.
//  5. A byte that none of them is, is coded bit by bit, the highest first.
//
// The contexts of these bits, and their numbers, are the functions byte, isWrong and
// letter of byte.go and its neighbours; what the thread does after the byte is follow. They are part of
// this text: each is short, and integer arithmetic only.
//
// # Sizes
//
// With a window of 16 KiB an end keeps 46 KiB, with 8 KiB 38 KiB. A session of MCP
// 2026-07-28 in its steady state codes a call of 230 to 310 bytes into 3 and its answer
// of 190 to 350 into 4 to 15, of which most is what was measured; the first tools/list, of 7.6 KB, into
// 1.3 KB. Random bytes grow by one.
//
// # A new coding
//
// The dictionary and all numbers are frozen for [ID], which the tests hold by a sum of
// what a whole session is coded to. To make a new one, edit dictionary.txt (a line a
// message, the likeliest last, of what a session says first and of tools/list as it is),
// raise ID, and take the sum that the test then names.
package codec
